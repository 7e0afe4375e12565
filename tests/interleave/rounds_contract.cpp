// SPDX-License-Identifier: BSD-2-Clause
#include "rounds_contract.hpp"

#include <arpa/inet.h>

#include <bit>
#include <cstddef>

#include "olaf/events.h"
#include "olaf/own.h"
#include "olaf/spells.h"
#include "packet.hpp"

namespace olaf::interleave {
namespace {

constexpr std::uint32_t lanes_of_job = 3;

bool everything(const void *) {
    return true;
}
/// 10.0.1.0/24, mapped: the servers' network (tests/datapath/packet.cpp).
bool is_server(const void *key) {
    const auto *address = static_cast<const olaf_own_address *>(key);
    return ntohl(address->words_be[3]) >> 8 == 0x0a0001;
}

} // namespace

olaf_job_setup setup_of(const JobShape &shape) {
    olaf_job_setup setup{};
    setup.id = the_job;
    setup.flags = shape.flags;
    setup.children = shape.children;
    setup.threshold = shape.threshold != 0 ? shape.threshold : shape.children;
    setup.max_count = 64;
    setup.slots = 1u << shape.pool;
    setup.pool = shape.pool;
    setup.lanes = lanes_of_job;
    setup.shape = OLAF_FLAG_CHECKSUM;
    if (shape.has_parent) {
        setup.parent_family = 4;
        setup.parent_addr_be[0] = htonl(0x0a000100 | parent_host);
        setup.parent_port_be = htons(OLAF_DEFAULT_PORT);
        setup.source_addr_be[0] = htonl(0x0a000102);
        setup.parent_ifindex = shape.two_armed ? std::uint32_t{servers} : 0;
    }
    if (shape.to_group) {
        setup.group_family = 4;
        setup.group_hops = 1;
        setup.group_addr_be[0] = htonl(the_group);
    }
    return setup;
}

RoundsContract::RoundsContract(const olaf_config &config, const JobShape &shape)
    : config_(config), shape_(shape) {}

std::vector<MapShape> RoundsContract::maps() const {
    const std::size_t entry = OLAF_ENTRY_BYTES(config_.max_lanes);
    return {
        {"olaf_round_slots", sizeof(olaf_round_slot), config_.round_slots},
        {"olaf_round_lanes", OLAF_ROUND_LANES_BYTES(config_.max_lanes),
         OLAF_ROUND_BUFFERS * config_.round_slots},
        {"olaf_lines", sizeof(std::uint32_t), OLAF_LINE_PLACES * config_.round_slots * config_.round_lines},
        {"olaf_jobs", sizeof(olaf_job)},
        {"olaf_children", sizeof(olaf_child), OLAF_RANKS},
        {"olaf_job_ids", 2 * sizeof(std::uint32_t), 4, MapShape::hash},
        {"olaf_job_desk", sizeof(olaf_job_desk)},
        {"olaf_own", 8, 1, MapShape::set, is_server},
        {"olaf_own_macs", 8, 1, MapShape::set, everything},
        {"olaf_job_counters", sizeof(olaf_job_counters), 1, MapShape::per_cpu},
        {"olaf_round_messages", 256, 1, MapShape::per_cpu},
        {"olaf_listen", sizeof(olaf_listen)},
        {"olaf_counters", sizeof(olaf_counters), 1, MapShape::per_cpu},
        {"olaf_spells", sizeof(olaf_spell), OLAF_TROUBLES, MapShape::per_cpu},
        {"olaf_arrivals", 512, 1, MapShape::per_cpu},
        {"olaf_scratch", entry, 1, MapShape::per_cpu},
        {"olaf_vain_waits", 8, 1, MapShape::per_cpu},
        {"olaf_sent", 1024, 1, MapShape::per_cpu},
        // Not the kernel's, but shared all the same:
        {"clock", sizeof(std::uint64_t)},
    };
}

olaf_round_slot *RoundsContract::slot(std::uint32_t index) const {
    return Machine::the().memory.at<olaf_round_slot>("olaf_round_slots", index);
}

const std::uint64_t *RoundsContract::lanes(std::uint32_t slot, unsigned buffer) const {
    return Machine::the().memory.at<std::uint64_t>("olaf_round_lanes",
                                                   buffer * config_.round_slots + slot);
}

/// The words of [from, from + bytes) are of this part, which this lock guards.
void RoundsContract::label(const void *from, std::size_t bytes, Part part,
                           const std::uint32_t *lock) {
    const Memory &memory = Machine::the().memory;
    for (std::uint32_t word = memory.word_of(from), end = word + bytes / 4; word < end; word++) {
        parts_[word] = part;
        locks_[word] = memory.word_of(lock);
    }
}

void RoundsContract::learn_parts() {
    Memory &memory = Machine::the().memory;
    parts_.assign(memory.words(), other);
    locks_.assign(memory.words(), WordRule::none);
    for (std::uint32_t i = 0; i < config_.round_slots; i++) {
        olaf_round_slot *slot = this->slot(i);
        label(slot->buffer, sizeof(slot->buffer), of_slot, &slot->lock);
        for (unsigned which = 0; which < OLAF_ROUND_BUFFERS; which++) {
            label(&slot->buffer[which].generation, 3 * sizeof(std::uint32_t), of_tag, &slot->lock);
            label(&slot->buffer[which].owed, sizeof(olaf_ranks), of_owed, &slot->lock);
            label(lanes(i, which), OLAF_ROUND_LANES_BYTES(config_.max_lanes), of_slot, &slot->lock);
        }
    }
    olaf_job *job = this->job();
    label(&job->setup, sizeof(job->setup), of_job, &job->lock);
    label(&job->state, offsetof(olaf_job, flushing) - offsetof(olaf_job, state), of_job,
          &job->lock);
    label(&job->stamp, sizeof(job->stamp), of_job, &job->lock);
    label(&job->asked, sizeof(job->asked), of_job, &job->lock);
    label(&job->session, sizeof(job->session), of_job, &job->lock);
    label(&job->membership, sizeof(job->membership), of_job, &job->lock);
    for (auto &line : job->line) {
        label(&line.head, sizeof(line.head), head, &line.lock);
        label(&line.tail, sizeof(line.tail), tail, &line.lock);
    }
}

std::vector<WordRule> RoundsContract::rules() const {
    Memory &memory = Machine::the().memory;
    std::vector<WordRule> rules(memory.words());
    const_cast<RoundsContract *>(this)->learn_parts();
    for (std::uint32_t word = 0; word < memory.words(); word++)
        if (parts_[word] == of_slot) // what is copied out or judged is never written meanwhile
            rules[word].no_conflict = true;
    for (std::uint32_t i = 0; i < config_.round_slots; i++)
        rules[memory.word_of(&slot(i)->lock)].is_lock = true;
    rules[memory.word_of(&job()->lock)].is_lock = true;
    const std::uint32_t places = OLAF_LINE_PLACES * config_.round_slots;
    for (auto &line : job()->line)
        rules[memory.word_of(&line.lock)].is_lock = true;
    for (std::uint32_t i = 0; i < places * config_.round_lines; i++)
        rules[memory.word_of(memory.at<char>("olaf_lines", i))].lock =
            memory.word_of(&job()->line[i / places].lock);
    for (std::uint32_t rank = 0; rank < OLAF_RANKS; rank++) {
        auto *child = memory.at<olaf_child>("olaf_children", rank);
        for (const void *field : {static_cast<const void *>(&child->stamp),
                                  static_cast<const void *>(&child->joined_ns),
                                  static_cast<const void *>(&child->waited_ns),
                                  static_cast<const void *>(&child->first_round)})
            rules[memory.word_of(field)].lock = memory.word_of(&job()->lock);
    }
    for (const char *name : {"olaf_job_counters", "olaf_round_messages", "olaf_counters",
                             "olaf_spells", "olaf_arrivals", "olaf_scratch", "olaf_sent"})
        for (std::uint32_t word = memory.word_of(memory.at<char>(name)),
                           end = memory.word_of(memory.at<char>(name, 0, most_cpus));
             word < end; word++)
            rules[word].is_private = true;
    return rules;
}

/// What a lock guards is written by its holder, atomically or not. But a frame that has seen that nobody is
/// owed the head's result moves the head without it, atomically.
void RoundsContract::writes(unsigned, std::uint32_t word, Access access) {
    const Part part = parts_[word];
    if (part == other || (part == head && access.reads))
        return;
    Machine &machine = Machine::the();
    if (!machine.holds(locks_[word]))
        machine.fail(machine.memory.name_of(word) + " is written without " +
                     machine.memory.name_of(locks_[word]));
}

void RoundsContract::copying(const void *from) const {
    Machine &machine = Machine::the();
    if (!machine.running() || !machine.memory.holds(from))
        return;
    const std::uint32_t word = machine.memory.word_of(from);
    machine.require(parts_[word] != of_slot || machine.holds(locks_[word]),
                    "lanes are copied into a frame without their slot's lock");
}

void RoundsContract::released(unsigned, std::uint32_t lock) {
    Machine &machine = Machine::the();
    for (std::uint32_t i = 0; i < config_.round_slots; i++)
        if (machine.memory.word_of(&slot(i)->lock) == lock)
            check(*slot(i), i);
    for (const auto &line : job()->line)
        machine.require(line.tail - line.head <= OLAF_LINE_PLACES * job()->setup.slots,
                        "the head of a line is beyond its tail");
}

void RoundsContract::check(const olaf_round_slot &slot, std::uint32_t index) const {
    for (unsigned which = 0; which < OLAF_ROUND_BUFFERS; which++)
        check_buffer(slot.buffer[which], lanes(index, which));
    Machine::the().require(slot.buffer[0].state == OLAF_ROUND_FREE ||
                               slot.buffer[1].state == OLAF_ROUND_FREE ||
                               slot.buffer[0].generation != slot.buffer[1].generation ||
                               slot.buffer[0].round != slot.buffer[1].round ||
                               slot.buffer[0].chunk != slot.buffer[1].chunk,
                           "a chunk has two buffers");
}

/// The lanes say what is in a buffer: its fields must agree.
void RoundsContract::check_buffer(const olaf_round_buffer &buffer,
                                  const std::uint64_t *lanes) const {
    Machine &machine = Machine::the();
    const bool is_done = buffer.state == OLAF_ROUND_DONE;
    machine.require(is_done || (buffer.owed.word[0] | buffer.owed.word[1]) == 0,
                    "a result is owed that isn't there");
    if (buffer.state == OLAF_ROUND_FREE)
        return;
    const std::uint64_t sum = lanes[0], children = sum & ((1ull << marks) - 1);
    const Chunk at{buffer.round - first_round, buffer.chunk, buffer.generation - first_generation};
    machine.require(lanes_agree(lanes), "a buffer's lanes aren't a sum of contributions");
    machine.require(std::popcount(sum) == static_cast<int>(buffer.count),
                    "a buffer's count isn't that of the contributions in its lanes");
    for (std::uint64_t left = children; left != 0; left &= left - 1)
        machine.require(chunk_of(static_cast<unsigned>(std::countr_zero(left))) == at,
                        "a buffer holds a contribution to another chunk, or of another generation");
    std::uint64_t in = 0;
    for (std::uint32_t rank = 0; rank < shape_.children; rank++)
        in |= children >> mark_of(rank, at) & 1 ? 1ull << rank : 0;
    machine.require(in == buffer.in.word[0] || (is_done && shape_.has_parent),
                    "who is in a buffer isn't who its lanes are of");
    machine.require(buffer.generated_ns == newest_of(sum),
                    "a buffer's newest contribution is another");
}

void RoundsContract::write_order(const olaf_job_order &order) const {
    auto *desk = Machine::the().memory.at<olaf_job_desk>("olaf_job_desk");
    Machine::the().memory.remember(desk, sizeof(*desk));
    desk->order = order;
}

int RoundsContract::answer() const {
    return Machine::the().memory.at<olaf_job_desk>("olaf_job_desk")->answer;
}

std::uint32_t RoundsContract::state() const {
    return job()->state;
}

std::uint64_t RoundsContract::run() const {
    return job()->tenancy.run.number;
}

std::uint32_t RoundsContract::life() const {
    return job()->generation - first_generation;
}

} // namespace olaf::interleave
