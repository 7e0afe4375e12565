// SPDX-License-Identifier: BSD-2-Clause
#include "harness.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "olaf/own.h"

namespace olaf::test {

namespace {

constexpr std::uint32_t first = 0; ///< the key of a map that has one value

void own_address(const Datapath &queue, const Frame &frame) {
    olaf_own_address address{};
    const std::size_t width = frame.family == 4 ? 4 : 16;
    const std::size_t at = frame.l3 + (frame.family == 4 ? 16 : 24);
    if (frame.family == 4)
        address.words_be[2] = htonl(0xffff);
    std::memcpy(reinterpret_cast<char *>(&address) + sizeof address - width, &frame.bytes[at], width);
    const std::uint32_t unused = 0;
    if (bpf_map_update_elem(queue.map_fd("olaf_own"), &address, &unused, BPF_ANY) != 0)
        throw std::system_error(errno, std::generic_category(), "write olaf_own");
}

Loan load(const DatapathConfig &human, bool floats) {
    auto config = make_config(human);
    if (!config)
        throw std::runtime_error(config.error().message());
    return borrow(*config, floats, [&](const Datapath &queue) {
        // What tests send is addressed to this host, unless it forwards.
        if (human.deliver == OLAF_DELIVER_FORWARD)
            return;
        for (int host = 0; host < 256; host++)
            for (const auto &path : {ipv4(), ipv6()})
                own_address(queue,
                            Path(path).target(static_cast<std::uint8_t>(host)).carrying(Update{}));
    });
}

} // namespace

void be_up_for(std::uint64_t ns) {
    while (monotonic_ns() <= ns + clock_slack_ns)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

std::uint64_t time_before_ns(std::uint64_t ns) {
    be_up_for(ns);
    return monotonic_ns() - clock_slack_ns - ns;
}

Harness::Harness(const DatapathConfig &config, bool floats) : loan_(load(config, floats)) {}

void Harness::own(const Frame &frame) {
    own_address(queue(), frame);
}

void Harness::copy_out(const char *map, std::uint32_t key, void *value) const {
    if (bpf_map_lookup_elem(queue().map_fd(map), &key, value) != 0)
        throw std::system_error(errno, std::generic_category(), std::string("read ") + map);
}

void Harness::copy_in(const char *map, const void *key, const void *value) const {
    if (bpf_map_update_elem(queue().map_fd(map), key, value, BPF_ANY) != 0)
        throw std::system_error(errno, std::generic_category(), std::string("write ") + map);
}

void Harness::set_link(std::uint64_t next_departure_ns, std::uint64_t drain_deadline_ns) {
    auto now = ring();
    now.next_departure_ns = next_departure_ns;
    now.drain_deadline_ns = drain_deadline_ns;
    write("olaf_ring", first, now);
}

void Harness::order(const olaf_control &control) { write("olaf_control", first, control); }

void Harness::set_rule(std::uint32_t cluster, const olaf_rule &rule) {
    write("olaf_rules", cluster, rule);
}

void Harness::reset() {
    olaf_ring empty{};
    empty.drain_deadline_ns = ring().drain_deadline_ns;
    write("olaf_ring", first, empty);
    set_places(std::vector<olaf_place>(config().ring_places));
    for (std::uint32_t i = 0; i < config().max_clusters * config().max_segments; i++) {
        write("olaf_slots", i, olaf_slot{});
        write("olaf_aom", i, olaf_aom{});
    }
    for (std::uint32_t i = 0; i < OLAF_HOPS; i++)
        write("olaf_hops", i, olaf_hop{});
    std::vector<olaf_counters> copies(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    copy_in("olaf_counters", &first, copies.data());
}

olaf_ring Harness::ring() const { return read<olaf_ring>("olaf_ring"); }
olaf_slot Harness::slot(std::uint32_t index) const { return read<olaf_slot>("olaf_slots", index); }
olaf_aom Harness::aom(std::uint32_t index) const { return read<olaf_aom>("olaf_aom", index); }
void Harness::set_aom(std::uint32_t index, const olaf_aom &aom) {
    write("olaf_aom", index, aom);
}

olaf_member Harness::member(std::uint32_t cluster, std::uint32_t worker) const {
    if (worker >= config().max_workers)
        return {};
    return read<olaf_member>("olaf_members",
                             olaf_member_index(cluster, worker, config().max_clusters));
}
void Harness::set_member(std::uint32_t cluster, std::uint32_t worker, const olaf_member &member) {
    write("olaf_members", olaf_member_index(cluster, worker, config().max_clusters), member);
}
void Harness::silence(std::uint32_t cluster, std::uint32_t worker, std::uint64_t ns) {
    auto known = member(cluster, worker);
    known.last_seen_ns = time_before_ns(ns);
    set_member(cluster, worker, known);
}

olaf_roster Harness::roster(std::uint32_t cluster) const {
    return read<olaf_roster>("olaf_rosters", cluster);
}

void Harness::set_roster(std::uint32_t cluster, const olaf_roster &roster) {
    write("olaf_rosters", cluster, roster);
}
void Harness::admit_more(std::uint32_t cluster) {
    auto now = roster(cluster);
    now.admitted = 0;
    set_roster(cluster, now);
}

olaf_window Harness::window() const { return read<olaf_window>("olaf_window"); }

void Harness::set_window(const olaf_window &window) { write("olaf_window", first, window); }

void Harness::age_flights(std::uint64_t ns) {
    std::vector<olaf_flight> flights(OLAF_FLIGHTS);
    copy_out("olaf_flights", first, flights.data());
    for (auto &flight : flights)
        flight.departed_ns -= ns;
    copy_in("olaf_flights", &first, flights.data());
    auto aged = window();
    aged.expires_ns -= ns;
    // 0 is never. A machine that has just booted may have been up for less than all agings together.
    aged.answered_ns = aged.answered_ns > ns ? aged.answered_ns - ns : std::min<std::uint64_t>(1, aged.answered_ns);
    set_window(aged);
}

std::uint32_t Harness::active_clusters(std::uint64_t now_ns) const {
    auto active = read<olaf_active>("olaf_active");
    return olaf_active_clusters(&active, now_ns, config().activity_window_ns);
}

void Harness::set_active(const olaf_active &active) { write("olaf_active", first, active); }

std::vector<olaf_place> Harness::places() const {
    std::vector<olaf_place> places(config().ring_places);
    copy_out("olaf_places", first, places.data());
    return places;
}

void Harness::set_places(const std::vector<olaf_place> &places) {
    copy_in("olaf_places", &first, places.data());
}

// The kernel copies values rounded up to 8 bytes.
std::vector<std::uint64_t> Harness::entry_of(std::uint32_t index) const {
    std::vector<std::uint64_t> storage(entry_bytes(config().max_lanes) / 8 + 1);
    copy_out("olaf_entries", index, storage.data());
    return storage;
}

olaf_pending Harness::pending(std::uint32_t entry) const {
    olaf_pending pending;
    std::memcpy(&pending, entry_of(entry).data(), sizeof pending);
    return pending;
}

void Harness::set_pending(std::uint32_t entry, const olaf_pending &pending) {
    auto storage = entry_of(entry);
    std::memcpy(storage.data(), &pending, sizeof pending);
    copy_in("olaf_entries", &entry, storage.data());
}

unsigned Harness::change_hops(const std::function<bool(olaf_hop &)> &change) {
    unsigned changed = 0;
    for (std::uint32_t index = 0; index < OLAF_HOPS; index++)
        if (auto hop = read<olaf_hop>("olaf_hops", index); change(hop)) {
            write("olaf_hops", index, hop);
            changed++;
        }
    return changed;
}

std::vector<Waiting> Harness::waiting() const {
    std::vector<Waiting> out;
    auto ring = this->ring();
    if (ring.head == ring.tail)
        return out;
    const auto places = this->places();
    for (auto position = ring.head; position != ring.tail; position++) {
        const auto &place = places[position % config().ring_places];
        const auto storage = entry_of(place.entry);
        const auto *entry = reinterpret_cast<const olaf_entry *>(storage.data());
        const auto &pending = entry->pending;
        Waiting waiting{.place = place, .pending = pending, .headers = {}, .lanes = {}};
        waiting.headers.assign(entry->headers + OLAF_MAX_HEADERS - pending.header_bytes,
                               entry->headers + OLAF_MAX_HEADERS);
        const auto *lanes = reinterpret_cast<const std::uint8_t *>(entry) +
                            offsetof(olaf_entry, lanes);
        for (std::size_t i = 0; i < pending.lanes; i++)
            waiting.lanes.push_back(get_le64({lanes, 8u * pending.lanes}, 8 * i));
        out.push_back(std::move(waiting));
    }
    return out;
}

std::uint64_t Harness::updates_waiting() const {
    std::uint64_t sum = 0;
    for (const auto &entry : waiting())
        sum += entry.pending.count;
    return sum;
}

template <class T> T Harness::sum_of_cpus(const char *map) const {
    constexpr std::size_t words = sizeof(T) / 8;
    std::vector<std::uint64_t> copies(words * static_cast<std::size_t>(libbpf_num_possible_cpus()));
    copy_out(map, first, copies.data());
    std::uint64_t sums[words] = {};
    for (std::size_t i = 0; i < copies.size(); i++)
        sums[i % words] += copies[i];
    T total{};
    std::memcpy(&total, sums, sizeof total);
    return total;
}

olaf_counters Harness::counters() const { return sum_of_cpus<olaf_counters>("olaf_counters"); }
olaf_ack_counters Harness::ack_counters() const {
    return sum_of_cpus<olaf_ack_counters>("olaf_ack_counters");
}

Totals Harness::totals() const {
    Totals t;
    auto shared = counters();
    t.received = shared.received;
    t.updates_in = shared.updates_in;
    for (auto reason : shared.bypassed)
        t.bypassed += reason;
    for (auto reason : shared.malformed)
        t.malformed += reason;
    for (auto reason : shared.not_allowed)
        t.not_allowed += reason;
    for (std::uint32_t i = 0; i < config().max_clusters * config().max_segments; i++) {
        const auto c = slot(i).counters;
        t.passed_through += c.passed_through;
        t.appended += c.appended;
        t.aggregated += c.aggregated;
        t.replaced += c.replaced;
        t.departed_riding += c.departed_riding;
        t.departed_drain += c.departed_drain;
        t.dropped_full += c.dropped_full;
        t.dropped_reward += c.dropped_reward;
        t.dropped_sealed += c.dropped_sealed;
        t.dropped_misfit += c.dropped_misfit;
        t.updates_out += c.updates_passed + c.updates_departed;
        t.updates_superseded += c.updates_superseded;
        t.updates_dropped += c.updates_dropped;
    }
    return t;
}

std::string Harness::broken_identity() const {
    auto t = totals();
    auto entries = waiting();
    std::uint64_t updates = 0;
    for (const auto &entry : entries) {
        updates += entry.pending.count;
        if (entry.place.state != OLAF_PLACE_WAITING)
            return "a place in the ring is leaving at rest";
    }
    if (entries.size() > config().queue_capacity)
        return "more waits than Qmax";
    if (t.received != t.passed_through + t.appended + t.aggregated + t.replaced + t.dropped_full +
                          t.dropped_reward + t.dropped_sealed + t.dropped_misfit)
        return "received is not the sum of what became of it";
    if (t.appended != t.departed_riding + t.departed_drain + entries.size())
        return "appended is not departed and waiting";
    if (t.updates_in != t.updates_out + t.updates_superseded + t.updates_dropped + updates)
        return "updates_in is not out, superseded, dropped and waiting";
    std::uint64_t metered = 0;
    for (std::uint32_t i = 0; i < config().max_clusters * config().max_segments; i++) {
        const auto meter = aom(i);
        metered += meter.ended;
        if (meter.ended != meter.begun)
            return "a departure is being metered at rest";
    }
    const auto unfit = counters().departures_unfit;
    if ((config().flags & OLAF_CONFIG_NO_METER) == 0 &&
        metered + unfit != t.passed_through + t.departed_riding + t.departed_drain)
        return "not each departure was metered once";
    if (counters().dropped_contended != 0)
        return "a lock was held for longer than can be";
    if (const auto w = window();
        w.next != w.acked + w.released + w.forgiven + w.in_flight)
        return "a flight ended twice, or never";
    if (ring().holds != 0)
        return "a hold was not released";
    for (std::uint32_t i = 0; i < config().max_clusters * config().max_segments; i++)
        for (const auto state : slot(i).buffers)
            if (state == OLAF_BUFFER_LEAVING)
                return "a departure of a slot is still being copied out";
    return {};
}

std::ostream &operator<<(std::ostream &out, const Totals &t) {
    return out << "received " << t.received << " passed_through " << t.passed_through
               << " appended " << t.appended << " aggregated " << t.aggregated << " replaced "
               << t.replaced << " departed_riding " << t.departed_riding << " departed_drain "
               << t.departed_drain << " dropped_full " << t.dropped_full << " dropped_reward "
               << t.dropped_reward << " dropped_sealed " << t.dropped_sealed
               << " dropped_misfit " << t.dropped_misfit << " malformed "
               << t.malformed << " not_allowed " << t.not_allowed << " bypassed " << t.bypassed
               << " updates in " << t.updates_in << " out " << t.updates_out << " superseded "
               << t.updates_superseded << " dropped " << t.updates_dropped;
}

} // namespace olaf::test
