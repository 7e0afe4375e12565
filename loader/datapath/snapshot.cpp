// SPDX-License-Identifier: BSD-2-Clause
#include "snapshot.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bpf/order/window_pilot.bpf.h"
#include "bpf/order/window_rtt.bpf.h"
#include "config.hpp"
#include "loader/host/clock.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint32_t first_key = 0;
constexpr std::uint32_t batch = 256;

template <class T> Result<void> read_first(int fd, const char *name, T *into) {
    if (bpf_map_lookup_elem(fd, &first_key, into) != 0)
        return fail("read map", name, errno, errno == EBADF ? "it is not there" : "");
    return {};
}

Result<void> read_slots(int fd, const olaf_config &config, Snapshot &snapshot) {
    const std::uint32_t slots = config.max_clusters * config.max_segments;
    snapshot.clusters.resize(config.max_clusters);
    std::vector<std::uint32_t> keys(std::min(slots, batch));
    std::vector<olaf_slot> values(keys.size());
    std::uint32_t in = 0, out = 0;
    for (bool first = true, more = true; more; first = false, in = out) {
        auto count = static_cast<std::uint32_t>(keys.size());
        const int error = bpf_map_lookup_batch(fd, first ? nullptr : &in, &out, keys.data(),
                                               values.data(), &count, nullptr);
        more = error == 0;
        if (error != 0 && errno != ENOENT)
            return fail("read map", "olaf_slots", errno);
        for (std::uint32_t i = 0; i < count; i++)
            snapshot.clusters[keys[i] / config.max_segments] += values[i].counters;
    }
    for (const auto &cluster : snapshot.clusters)
        snapshot.slots += cluster;
    return {};
}

/// Every field is a 64-bit counter, so CPUs add up word by word.
template <class T> Result<T> read_per_cpu(int fd, const char *name) {
    static_assert(sizeof(T) % 8 == 0);
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    constexpr std::size_t words = sizeof(T) / 8;
    std::vector<std::uint64_t> values(words * static_cast<std::size_t>(cpus));
    OLAF_TRY(read_first(fd, name, values.data()));
    std::uint64_t total[words] = {};
    for (std::size_t i = 0; i < values.size(); i++)
        total[i % words] += values[i];
    T sum;
    std::memcpy(&sum, total, sizeof sum);
    return sum;
}

} // namespace

Result<olaf_counters> read_counters(int counters_fd) {
    return read_per_cpu<olaf_counters>(counters_fd, "olaf_counters");
}

namespace {

/// CPUs that the kernel may have but hasn't were never tried.
Result<XdpGate> read_xdp_gate(int fd) {
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    std::vector<olaf_xdp_gate> gates(static_cast<std::size_t>(cpus));
    OLAF_TRY(read_first(fd, "olaf_xdp_gate", gates.data()));
    XdpGate gate;
    for (const auto &of_cpu : gates)
        if (of_cpu.refused_ns != 0 && of_cpu.error != 0) {
            gate.shut++;
            gate.error = -of_cpu.error;
        }
    return gate;
}

Result<void> read_waiting(int places_fd, int entries_fd, const olaf_config &config,
                          Snapshot &snapshot) {
    snapshot.waiting.resize(config.max_clusters);
    std::vector<olaf_place> places(config.ring_places);
    OLAF_TRY(read_first(places_fd, "olaf_places", places.data()));
    std::vector<std::uint64_t> entry((entry_bytes(config.max_lanes) + 7) / 8);
    for (auto at = snapshot.ring.head; at != snapshot.ring.tail; at++) {
        const auto &place = places[at % places.size()];
        snapshot.levels.queue_length++;
        if (bpf_map_lookup_elem(entries_fd, &place.entry, entry.data()) != 0)
            return fail("read map", "olaf_entries", errno);
        olaf_pending pending;
        std::memcpy(&pending, entry.data(), sizeof pending);
        snapshot.levels.updates_waiting += pending.count;
        if (pending.cluster < snapshot.waiting.size())
            snapshot.waiting[pending.cluster]++;
        auto &oldest = snapshot.oldest_arrival_ns;
        if (oldest == 0 || pending.first_arrived_ns < oldest)
            oldest = pending.first_arrived_ns;
    }
    return {};
}

Result<std::vector<olaf_hop>> read_unready_hops(int fd) {
    std::vector<std::uint32_t> keys(OLAF_HOPS);
    std::vector<olaf_hop> hops(OLAF_HOPS);
    std::uint32_t out = 0, count = OLAF_HOPS;
    if (bpf_map_lookup_batch(fd, nullptr, &out, keys.data(), hops.data(), &count, nullptr) != 0 &&
        errno != ENOENT)
        return fail("read map", "olaf_hops", errno);
    std::erase_if(hops, [](const olaf_hop &hop) {
        return hop.issued == hop.served || hop.state == OLAF_HOP_RESOLVED;
    });
    return hops;
}

} // namespace

std::uint64_t blocked_ns(const olaf_gate &gate, std::uint64_t now_ns) {
    return gate.lost_ns != 0 && now_ns > gate.shut_ns ? now_ns - gate.shut_ns : 0;
}

olaf_slot_counters &operator+=(olaf_slot_counters &sum, const olaf_slot_counters &more) {
#define ADD(field, ...) sum.field += more.field;
    OLAF_SLOT_COUNTER_LIST(ADD)
#undef ADD
    return sum;
}

Result<Snapshot> read_snapshot(const olaf_config &config, const MapFinder &map_fd) {
    Snapshot snapshot;
    olaf_active active{};
    OLAF_TRY(read_first(map_fd("olaf_active"), "olaf_active", &active));
    olaf_control control{};
    OLAF_TRY(read_first(map_fd("olaf_control"), "olaf_control", &control));
    snapshot.emptying = monotonic_ns() < control.emptying_until_ns;
    snapshot.active_clusters =
        olaf_active_clusters(&active, monotonic_ns(), config.activity_window_ns);
    snapshot.counters = OLAF_TRY(read_counters(map_fd("olaf_counters")));
    snapshot.acks =
        OLAF_TRY(read_per_cpu<olaf_ack_counters>(map_fd("olaf_ack_counters"), "olaf_ack_counters"));
    OLAF_TRY(read_slots(map_fd("olaf_slots"), config, snapshot));
    snapshot.ring = OLAF_TRY(read_ring(map_fd("olaf_ring")));
    OLAF_TRY(read_first(map_fd("olaf_gate"), "olaf_gate", &snapshot.gate));
    snapshot.xdp_gate = OLAF_TRY(read_xdp_gate(map_fd("olaf_xdp_gate")));
    snapshot.unready_hops = OLAF_TRY(read_unready_hops(map_fd("olaf_hops")));
    if (config.window != 0) {
        const auto window = OLAF_TRY(read_window(map_fd("olaf_window")));
        snapshot.window = window;
        snapshot.levels.in_flight = window.in_flight;
    }
    OLAF_TRY(read_waiting(map_fd("olaf_places"), map_fd("olaf_entries"), config, snapshot));
    return snapshot;
}

std::uint64_t window_timeout_ns(const olaf_window &window) {
    return olaf_rtt_timeout(&window.rtt);
}

std::uint32_t window_size(const olaf_config &config, const olaf_window &window) {
    return window_of(config).automatic ? olaf_pilot_size(&window.pilot, config.window)
                                       : config.window;
}

Result<olaf_window> read_window(int fd) {
    olaf_window window{};
    OLAF_TRY(read_first(fd, "olaf_window", &window));
    return window;
}

Result<olaf_ring> read_ring(int fd) {
    olaf_ring ring{};
    // The kernel copies a value from its start, so head is read before tail. A busy queue may look
    // longer than it is, by what was appended in between. Its length is never negative.
    if (bpf_map_lookup_elem(fd, &first_key, &ring) != 0)
        return fail("read map", "olaf_ring", errno);
    return ring;
}

} // namespace olaf
