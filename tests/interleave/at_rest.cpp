// SPDX-License-Identifier: BSD-2-Clause
// What must hold when no program runs: the identities of docs/cli.md, and that nothing is half done.
#include "contract.hpp"
#include "olaf/window.h"

namespace olaf::interleave {

namespace {

/// Is there an update in the buffer that waits?
bool holds(const olaf_slot &slot, unsigned buffer) {
    return slot.buffers[buffer] == OLAF_BUFFER_OPEN || slot.buffers[buffer] == OLAF_BUFFER_SEALED;
}

void mix(std::uint64_t &outcome, std::initializer_list<std::uint64_t> sums) {
    for (const auto sum : sums)
        outcome = outcome * 31 + sum;
}

} // namespace

Books Contract::at_rest() const {
    Machine &machine = Machine::the();
    Memory &memory = machine.memory;
    machine.require(ring()->lock == 0, "at rest, the ring's lock is held");
    machine.require(ring()->holds == 0, "at rest, an arrival still holds the drain awake");
    for (std::uint64_t p = 0; p < config_.ring_places; p++)
        machine.require(place(p)->state != OLAF_PLACE_LEAVING, "at rest, a place is still leaving");

    Books books;
    std::uint64_t received = 0, judged = 0, appended = 0, departed = 0, buffers = 0;
    for (unsigned cpu = 0; cpu < most_cpus; cpu++) {
        const auto *counters = memory.at<olaf_counters>("olaf_counters", 0, cpu);
        received += counters->received;
        books.updates_in += counters->updates_in;
        judged += counters->dropped_contended;
        books.updates_dropped += counters->updates_contended;
        books.outcome = books.outcome * 31 + counters->tokens_launched;
    }
    for (std::uint32_t i = 0; i < slots(); i++) {
        const auto &slot = *this->slot(i);
        const auto &c = slot.counters;
        machine.require(slot.lock == 0, "at rest, a slot's lock is held");
        for (const auto state : slot.buffers)
            machine.require(state != OLAF_BUFFER_LEAVING,
                            "at rest, a departure of a slot is still being copied out");
        judged += c.passed_through + c.appended + c.aggregated + c.replaced + c.dropped_full +
                  c.dropped_reward + c.dropped_sealed + c.dropped_misfit;
        appended += c.appended;
        departed += c.departed_riding + c.departed_drain;
        books.updates_out += c.updates_departed + c.updates_passed;
        books.updates_superseded += c.updates_superseded;
        books.updates_dropped += c.updates_dropped;
        for (unsigned buffer = 0; buffer < OLAF_BUFFERS; buffer++)
            buffers += holds(slot, buffer);
        mix(books.outcome, {c.aggregated, c.appended, c.replaced, c.departed_riding,
                            c.departed_drain, c.passed_through, c.dropped_full, c.dropped_sealed});
    }
    const auto *window = memory.at<olaf_window>("olaf_window");
    mix(books.outcome, {window->acked, window->released, window->forgiven, window->late});
    std::uint64_t waiting_buffers = 0;
    for (std::uint64_t p = ring()->head; p < ring()->tail; p++) {
        const std::uint32_t entry = place(p)->entry;
        books.updates_waiting += memory.at<olaf_entry>("olaf_entries", entry)->pending.count;
        waiting_buffers += entry < 2 * slots();
    }
    machine.require(received == judged, "received is not the sum of what became of updates");
    machine.require(appended == departed + waiting(), "an entry was appended and neither left nor waits");
    machine.require(buffers == waiting_buffers, "a buffer is taken that doesn't wait");
    machine.require(books.updates_in == books.updates_out + books.updates_superseded +
                                            books.updates_dropped + books.updates_waiting,
                    "updates in are not updates out, superseded, dropped and waiting");
    return books;
}

} // namespace olaf::interleave
