// SPDX-License-Identifier: BSD-2-Clause
#include "contract.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>

#include "olaf/aom.h"
#include "olaf/events.h"
#include "olaf/members.h"
#include "olaf/own.h"
#include "olaf/spells.h"
#include "olaf/window.h"
#include "packet.hpp"

namespace olaf::interleave {
namespace {

constexpr std::size_t most_positions = 64;

bool everything(const void *) { return true; }
bool nothing(const void *) { return false; }
/// 10.0.1.0/24, mapped: the servers' network (tests/datapath/packet.cpp).
bool is_server(const void *key) {
    const auto *address = static_cast<const olaf_own_address *>(key);
    return ntohl(address->words_be[3]) >> 8 == 0x0a0001;
}

} // namespace

olaf_config usual_config() {
    olaf_config config{};
    config.layout = OLAF_LAYOUT;
    config.flags = OLAF_CONFIG_VERIFY;
    config.deliver = OLAF_DELIVER_LOCAL;
    config.ifindex = workers;
    config.egress_ifindex = servers;
    config.drain_ifindex = drain_near;
    config.kick_ifindex = drain_far;
    config.port_be = htons(OLAF_DEFAULT_PORT);
    config.max_clusters = 3;
    config.max_segments = 1;
    config.max_lanes = 16;
    config.queue_capacity = 2;
    config.ring_places = 4;
    config.fifo_places = 2;
    config.ns_per_byte_q24 = 1 << 24;
    config.drain_interval_ns = 1'000'000;
    config.activity_window_ns = 1'000'000'000'000;
    config.member_timeout_ns = 1'000'000'000'000;
    config.token_secret = 0x5ec4e7;
    return config;
}

Contract::Contract(const olaf_config &config) : config_(config) {}

std::vector<MapShape> Contract::maps() const {
    const std::size_t entry = OLAF_ENTRY_BYTES(config_.max_lanes);
    const bool local = config_.deliver == OLAF_DELIVER_LOCAL;
    return {
        {"olaf_slots", sizeof(olaf_slot), slots()},
        {"olaf_entries", entry, entries()},
        {"olaf_ring", sizeof(olaf_ring)},
        {"olaf_places", sizeof(olaf_place) * config_.ring_places},
        {"olaf_rules", sizeof(olaf_rule), config_.max_clusters},
        {"olaf_active", sizeof(olaf_active)},
        {"olaf_active_epochs", sizeof(std::uint64_t), config_.max_clusters},
        {"olaf_control", sizeof(olaf_control)},
        {"olaf_window", sizeof(olaf_window)},
        {"olaf_flights", sizeof(olaf_flight) * OLAF_FLIGHTS},
        {"olaf_aom", sizeof(struct olaf_aom), slots()},
        {"olaf_listen", sizeof(olaf_listen)},
        {"olaf_hops", sizeof(olaf_hop), OLAF_HOPS},
        {"olaf_gate", sizeof(olaf_gate)},
        {"olaf_members", sizeof(olaf_member), std::max(1u, config_.max_clusters * config_.max_workers)},
        {"olaf_rosters", sizeof(olaf_roster), config_.max_clusters},
        {"olaf_own", 8, 1, MapShape::set, local ? is_server : nothing},
        {"olaf_own_macs", 8, 1, MapShape::set, everything},
        {"olaf_counters", sizeof(olaf_counters), 1, MapShape::per_cpu},
        {"olaf_spells", sizeof(olaf_spell), OLAF_TROUBLES, MapShape::per_cpu},
        {"olaf_ack_counters", 256, 1, MapShape::per_cpu},
        {"olaf_arrivals", 512, 1, MapShape::per_cpu},
        {"olaf_acks", 1024, 1, MapShape::per_cpu},
        {"olaf_scratch", entry, 1, MapShape::per_cpu},
        {"olaf_xdp_gate", sizeof(olaf_xdp_gate), 1, MapShape::per_cpu},
        {"olaf_vain_waits", 8, 1, MapShape::per_cpu},
        {"olaf_sent", 1024, 1, MapShape::per_cpu},
        // Not the kernel's, but shared all the same:
        {"cable", sizeof(Cable)},
        {"clock", sizeof(std::uint64_t)},
        {"wire", sizeof(std::uint32_t), slots()},
        {"silent", sizeof(std::uint32_t), 256},
    };
}

olaf_place *Contract::place(std::uint64_t position) const {
    return Machine::the().memory.at<olaf_place>("olaf_places") +
           (position & (config_.ring_places - 1));
}

olaf_slot *Contract::slot(std::uint32_t index) const {
    return Machine::the().memory.at<olaf_slot>("olaf_slots", index);
}

/// The words of [from, from + bytes) are written under this lock, or atomically.
void Contract::guard(std::vector<WordRule> &rules, const void *from, std::size_t bytes,
                     const std::uint32_t *lock) const {
    const Memory &memory = Machine::the().memory;
    const std::uint32_t first = memory.word_of(from), by = memory.word_of(lock);
    rules[by].is_lock = true;
    for (std::uint32_t word = first; word < first + bytes / 4; word++)
        if (word != by)
            rules[word].lock = by;
}

/// Where an entry's way out is looked for its headers are read without a lock. Whoever folds
/// rewrites them, but never with another way out.
void Contract::except_way_out(std::vector<WordRule> &rules, const olaf_entry *entry) const {
    const Memory &memory = Machine::the().memory;
    const auto free = [&](const void *from, const void *to) {
        for (std::uint32_t word = memory.word_of(from); word < memory.word_of(to); word++)
            rules[word].no_conflict = false;
    };
    free(&entry->pending.header_bytes, &entry->pending.generated_ns);
    free(entry->headers, &entry->message);
}

std::vector<WordRule> Contract::rules() const {
    Memory &memory = Machine::the().memory;
    std::vector<WordRule> rules(memory.words());
    const auto *active = memory.at<olaf_active>("olaf_active");
    guard(rules, active, sizeof(*active), &active->lock);
    for (std::uint32_t i = 0; i < slots(); i++) {
        guard(rules, slot(i), sizeof(olaf_slot), &slot(i)->lock);
        rules[memory.word_of(memory.at<std::uint32_t>("wire", i))].no_conflict = true;
    }
    for (std::uint32_t i = 0; i < config_.max_clusters; i++)
        guard(rules, memory.at<std::uint64_t>("olaf_active_epochs", i), sizeof(std::uint64_t),
              &active->lock);
    guard(rules, ring(), sizeof(olaf_ring), &ring()->lock);
    for (std::uint32_t i = 0; i < config_.ring_places; i++) {
        guard(rules, place(i), sizeof(olaf_place), &ring()->lock);
        // Under the lock of the waiting entry's slot as well as, at first, the ring's.
        rules[memory.word_of(&place(i)->bytes)].lock = WordRule::none;
    }
    guard(rules, memory.at<olaf_window>("olaf_window"), sizeof(olaf_window), &ring()->lock);
    guard(rules, memory.at<olaf_flight>("olaf_flights"), sizeof(olaf_flight) * OLAF_FLIGHTS,
          &ring()->lock);
    for (std::uint32_t i = 0; i < OLAF_HOPS; i++) {
        auto *hop = memory.at<olaf_hop>("olaf_hops", i);
        guard(rules, hop, sizeof(*hop), &hop->lock);
        guard(rules, &hop->issued, sizeof(hop->issued), &ring()->lock);
        guard(rules, &hop->served, sizeof(hop->served), &ring()->lock);
    }
    for (const char *name : {"olaf_counters", "olaf_spells", "olaf_ack_counters", "olaf_arrivals",
                             "olaf_acks", "olaf_scratch", "olaf_sent"})
        for (std::uint32_t word = memory.word_of(memory.at<char>(name)),
                           end = memory.word_of(memory.at<char>(name, 0, most_cpus));
             word < end; word++)
            rules[word].is_private = true;
    const std::uint32_t first = memory.word_of(memory.at<char>("olaf_entries"));
    const std::uint32_t end = memory.word_of(memory.at<char>("olaf_ring"));
    for (std::uint32_t word = first; word < end; word++)
        rules[word].no_conflict = true;
    if (config_.deliver != OLAF_DELIVER_LOCAL)
        for (std::uint32_t i = 0; i < entries(); i++)
            except_way_out(rules, memory.at<olaf_entry>("olaf_entries", i));
    return rules;
}

void Contract::begins() {
    head_ = ring()->head;
    tail_ = ring()->tail;
    turns_.assign(most_positions, {});
    appended_ = 0;
    last_.clear();
    for (std::uint64_t p = head_; p < tail_; p++)
        turns_.at(p) = {place(p)->slot, place(p)->entry, place(p)->hop, ++appended_};
    popped_.fill(-1);
}

/// FREE -> WAITING -> LEAVING -> FREE, the last step by whoever popped the place.
void Contract::writes(unsigned cpu, std::uint32_t word, Access access) {
    const std::uint32_t first = Machine::the().memory.word_of(place(0));
    if (word < first || (word - first) % (sizeof(olaf_place) / 4) != 0)
        return;
    const std::uint32_t i = (word - first) / (sizeof(olaf_place) / 4);
    if (i < config_.ring_places) {
        const std::uint32_t before = place(i)->state;
        if (access.plain)
            Machine::the().require(before != OLAF_PLACE_LEAVING,
                                   "a place that is being copied out is taken again");
        else
            Machine::the().require(before == OLAF_PLACE_LEAVING && popped_[cpu] >= 0 &&
                                       place(static_cast<std::uint64_t>(popped_[cpu])) == place(i),
                                   "a place is freed that isn't this CPU's to free");
    }
}

void Contract::released(unsigned cpu, std::uint32_t lock) {
    Machine &machine = Machine::the();
    if (lock != machine.memory.word_of(&ring()->lock))
        return;
    const std::uint64_t head = ring()->head, tail = ring()->tail;
    machine.require(head == head_ || head == head_ + 1, "the head moved by more than one place");
    machine.require(tail == tail_ || tail == tail_ + 1, "the tail moved by more than one place");
    machine.require(tail - head <= config_.queue_capacity, "more than Qmax places are taken");
    moved(cpu, head, tail);
    head_ = head;
    tail_ = tail;
    check_states();
    if (config_.window != 0)
        check_window();
}

/// An entry was appended, or the head popped; or the head went behind the last.
void Contract::moved(unsigned cpu, std::uint64_t head, std::uint64_t tail) {
    Machine &machine = Machine::the();
    const bool rotated = head != head_ && tail != tail_;
    if (rotated)
        turns_.at(tail_) = turns_.at(head_);
    else if (tail != tail_)
        turns_.at(tail_) = {place(tail_)->slot, place(tail_)->entry, place(tail_)->hop, ++appended_};
    if (head == head_)
        return;
    const Turn &turn = turns_.at(head_);
    const olaf_place &now_there = *place(rotated ? tail_ : head_);
    machine.require(turn.slot == now_there.slot && turn.entry == now_there.entry,
                    "what was popped is not what was appended there");
    if (rotated)
        return;
    machine.require(turn.appended > last_[turn.hop], "an entry overtakes another of its next hop");
    last_[turn.hop] = turn.appended;
    popped_[cpu] = static_cast<std::int64_t>(head_);
}

void Contract::check_states() const {
    for (std::uint64_t p = tail_; p < tail_ + config_.ring_places; p++) {
        const bool within = p - config_.ring_places >= head_ && p >= config_.ring_places;
        const std::uint32_t state = place(p)->state;
        Machine::the().require(within ? state == OLAF_PLACE_WAITING : state != OLAF_PLACE_WAITING,
                               "a place waits that is not between head and tail, or the reverse");
    }
}

void Contract::check_window() const {
    const auto *window = Machine::the().memory.at<olaf_window>("olaf_window");
    const auto *flights = Machine::the().memory.at<olaf_flight>("olaf_flights");
    std::uint32_t open = 0;
    for (std::uint64_t p = window->oldest; p < window->next; p++)
        open += flights[p % OLAF_FLIGHTS].state == OLAF_FLIGHT_OPEN;
    Machine::the().require(open == window->in_flight, "in_flight is not the number of open flights");
    Machine::the().require(open <= config_.window, "more departures are in flight than the window");
    Machine::the().require(window->next == window->acked + window->released + window->forgiven + open,
                           "a flight ended twice, or never");
}

void Contract::copying(unsigned cpu, const void *from) {
    Machine &machine = Machine::the();
    const auto first = reinterpret_cast<std::uintptr_t>(machine.memory.at<char>("olaf_entries"));
    const auto end = reinterpret_cast<std::uintptr_t>(machine.memory.at<char>("olaf_ring"));
    const auto at = reinterpret_cast<std::uintptr_t>(from);
    if (!machine.running() || at < first || at >= end)
        return;
    const std::size_t stride = (OLAF_ENTRY_BYTES(config_.max_lanes) + 7) / 8 * 8;
    machine.require(popped_[cpu] >= 0, "an entry is copied out that this CPU didn't pop");
    const Turn &turn = turns_.at(static_cast<std::size_t>(popped_[cpu]));
    machine.require((at - first) / stride == turn.entry, "another entry is copied out than was popped");
    // Departures of one slot, one after the other.
    machine.access(machine.memory.at<std::uint32_t>("wire", turn.slot), 4, {false, true, true});
}

std::uint64_t Contract::waiting() const { return ring()->tail - ring()->head; }

std::uint32_t Contract::live_generation() const { return ring()->drain_generation; }

void Contract::order_to_empty(std::uint64_t until_ns) {
    auto *control = Machine::the().memory.at<olaf_control>("olaf_control");
    Machine::the().access(control, sizeof(*control), {false, true, false});
    control->emptying_until_ns = until_ns;
}

void Contract::set_rule(std::uint32_t cluster, std::uint32_t policy, std::uint32_t max_count) {
    *Machine::the().memory.at<olaf_rule>("olaf_rules", cluster) = {policy, max_count, -1};
}

void Contract::take_link(std::uint64_t until_ns) { ring()->next_departure_ns = until_ns; }

} // namespace olaf::interleave
