// SPDX-License-Identifier: BSD-2-Clause
// What must hold of jobs when no program runs: the identities of olaf/rounds.h, and that nothing is
// half done.
#include <algorithm>
#include <bit>

#include "rounds_contract.hpp"

namespace olaf::interleave {

bool RoundsContract::is_in_line(std::uint32_t buffer) const {
    const std::uint32_t places = OLAF_LINE_PLACES * config_.round_slots;
    for (std::uint32_t number = 0; number < config_.round_lines; number++) {
        const olaf_line &line = job()->line[number];
        for (std::uint32_t p = line.head; p != line.tail; p++) {
            const auto entry = *Machine::the().memory.at<std::uint32_t>(
                "olaf_lines", number * places + p % (OLAF_LINE_PLACES * job()->setup.slots));
            if ((entry & ~OLAF_LINE_GROUP) == buffer)
                return true;
        }
    }
    return false;
}

/// Results that members haven't got and that wait for them. Each of the job's generation is in line.
std::uint64_t RoundsContract::owed() const {
    Machine &machine = Machine::the();
    std::uint64_t owed = 0;
    for (std::uint32_t i = 0; i < config_.round_slots; i++)
        for (unsigned which = 0; which < OLAF_ROUND_BUFFERS; which++) {
            const auto &buffer = slot(i)->buffer[which];
            const auto members = static_cast<unsigned>(std::popcount(buffer.owed.word[0]));
            owed += members;
            machine.require(members == 0 || is_in_line(OLAF_ROUND_BUFFERS * i + which),
                            "at rest, a result is owed and isn't in line");
        }
    return owed;
}

JobBooks RoundsContract::at_rest(bool owed_is_known) const {
    Machine &machine = Machine::the();
    machine.require(job()->lock == 0, "at rest, the job's lock is held");
    for (const auto &line : job()->line)
        machine.require(line.lock == 0, "at rest, a line's lock is held");
    for (std::uint32_t i = 0; i < config_.round_slots; i++) {
        machine.require(slot(i)->lock == 0, "at rest, a slot's lock is held");
        check(*slot(i), i);
    }
    JobBooks books;
    std::uint64_t received = 0, judged = 0, undelivered = 0;
    for (unsigned cpu = 0; cpu < most_cpus; cpu++) {
        const auto &c = *machine.memory.at<olaf_job_counters>("olaf_job_counters", 0, cpu);
        received += c.received;
        judged += c.added + c.duplicate + c.late + c.stale + c.ahead + c.halted;
        books.completed += c.completed;
        books.riding += c.riding;
        books.copied += c.copied;
        books.repeated += c.repeated;
        undelivered += c.undelivered;
        books.multicast += c.multicast;
        for (const auto number : {c.added, c.duplicate, c.late, c.stale, c.ahead, c.completed,
                                  c.riding, c.copied, c.multicast, c.repeated, c.undelivered, c.up_sent,
                                  c.up_again})
            books.outcome = books.outcome * 31 + number;
    }
    books.outcome = (books.outcome * 31 + owed()) * 31 + job()->generation * 4 + job()->state;
    machine.require(received == judged, "received is not the sum of what became of contributions");
    machine.require(!owed_is_known ||
                        shape_.children * books.completed ==
                        books.riding + books.copied + shape_.children * books.multicast + undelivered +
                            owed(),
                    "results that members were owed are not those that left, that gave way and that wait");
    return books;
}

void RoundsContract::leave_two_to_open() const {
    auto &unsettled = job()->membership.unsettled;
    unsettled = std::min<std::uint32_t>(unsettled, 2);
}

void RoundsContract::nothing_waits() const {
    Machine::the().require(owed() == 0, "what is owed is never delivered");
    for (const auto &line : job()->line)
        Machine::the().require(line.head == line.tail, "a line never becomes empty");
}

std::optional<Chunk> RoundsContract::unfinished(std::uint32_t state) const {
    for (std::uint32_t i = 0; i < config_.round_slots; i++)
        for (const auto &buffer : slot(i)->buffer)
            if (buffer.state == state && buffer.generation == job()->generation)
                return Chunk{buffer.round - first_round, buffer.chunk, life()};
    return std::nullopt;
}

} // namespace olaf::interleave
