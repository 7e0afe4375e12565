// SPDX-License-Identifier: BSD-2-Clause
#include "queue.hpp"

#include <limits>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "loader/datapath/config.hpp"

namespace olaf::bench {

namespace {

/// Never: further away than any clock here gets, with room for what is added to it.
constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max() / 4;

/// Departures go back out where no other device is named.
Result<olaf_config> config_of(const Queue::Options &options) {
    return make_config({.queue_capacity = options.capacity,
                        .rate_bps = options.rate_bps,
                        .max_clusters = options.clusters,
                        .max_lanes = options.max_lanes,
                        .deliver = OLAF_DELIVER_FORWARD,
                        .ifindex = options.egress_ifindex == 0 ? 1u : 0u,
                        .egress_ifindex = options.egress_ifindex == 0 ? 1 : options.egress_ifindex,
                        .fifo = options.fifo,
                        .verify = options.verify,
                        .meter = options.meter});
}

template <class T> T read(int map, std::uint32_t key) {
    T value{};
    bpf_map_lookup_elem(map, &key, &value);
    return value;
}

} // namespace

Result<Queue> Queue::load_with(const Options &options, const Queue *state) {
    const auto config = config_of(options);
    if (!config)
        return std::unexpected(config.error());
    auto object = Object::open("ingress");
    if (!object)
        return std::unexpected(object.error());
    if (auto set = object->set("olaf_cfg", *config); !set)
        return std::unexpected(set.error());
    if (auto sized = object->size_maps(*config); !sized)
        return std::unexpected(sized.error());
    if (state)
        if (auto shared =
                object->share_maps(*config, [&](const char *name) { return state->map_fd(name); });
            !shared)
            return std::unexpected(shared.error());
    if (auto loaded = object->load(); !loaded)
        return std::unexpected(loaded.error());
    return Queue(std::move(*object), *config, options);
}

Result<Queue> Queue::make(const Options &options) {
    auto queue = load_with(options, nullptr);
    if (!queue)
        return queue;
    if (auto seeded = queue->seed(); !seeded)
        return std::unexpected(seeded.error());
    return queue;
}

Result<Queue> Queue::with_rate(std::uint64_t rate_bps) const {
    Options options = options_;
    options.rate_bps = rate_bps;
    return load_with(options, this);
}

Result<void> Queue::seed() const {
    // No limit to `count`: a benchmark folds millions into one entry.
    const auto policy = options_.fifo ? OLAF_POLICY_FIFO : OLAF_POLICY_OLAF;
    const olaf_rule rule{.policy = policy,
                         .max_count = std::numeric_limits<std::uint32_t>::max(),
                         .reward_threshold = -1};
    for (std::uint32_t cluster = 0; cluster < options_.clusters; ++cluster) {
        if (auto stored = store(map_fd("olaf_rules"), cluster, &rule); !stored)
            return stored;
    }
    olaf_ring ring{};
    ring.drain_deadline_ns = never; // there is no drain: launch no token
    if (options_.link_busy)
        ring.next_departure_ns = never;
    return store(map_fd("olaf_ring"), 0, &ring);
}

Queue::Totals Queue::totals() const {
    Totals totals;
    std::vector<olaf_counters> copies(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const std::uint32_t zero = 0;
    bpf_map_lookup_elem(map_fd("olaf_counters"), &zero, copies.data());
    for (const auto &copy : copies)
        totals.in += copy.updates_in;
    for (std::uint32_t i = 0; i < options_.clusters; ++i) {
        const auto slot = read<olaf_slot>(map_fd("olaf_slots"), i);
        totals.departed += slot.counters.updates_departed + slot.counters.updates_passed;
        totals.dropped += slot.counters.updates_dropped;
        totals.superseded += slot.counters.updates_superseded;
        totals.aggregated += slot.counters.aggregated;
    }
    return totals;
}

const olaf_entry *Queue::read_entry(std::uint32_t index,
                                    std::vector<std::uint64_t> &storage) const {
    storage.assign((entry_bytes(config_.max_lanes) + 7) / 8, 0);
    bpf_map_lookup_elem(map_fd("olaf_entries"), &index, storage.data());
    return reinterpret_cast<const olaf_entry *>(storage.data());
}

Queue::Waiting Queue::waiting(std::uint32_t cluster) const {
    const auto slot = read<olaf_slot>(map_fd("olaf_slots"), cluster);
    const bool second = slot.buffers[0] != OLAF_BUFFER_OPEN;
    if (slot.buffers[second] != OLAF_BUFFER_OPEN)
        return {};
    std::vector<std::uint64_t> storage;
    const auto *entry = read_entry(second * options_.clusters + cluster, storage);
    return {.count = entry->pending.count,
            .lanes = {entry->lanes, entry->lanes + entry->pending.lanes}};
}

std::uint64_t Queue::updates_waiting() const {
    const auto ring = read<olaf_ring>(map_fd("olaf_ring"), 0);
    std::vector<olaf_place> places(config_.ring_places);
    const std::uint32_t zero = 0;
    bpf_map_lookup_elem(map_fd("olaf_places"), &zero, places.data());
    std::vector<std::uint64_t> storage;
    std::uint64_t updates = 0;
    for (auto position = ring.head; position < ring.tail; ++position) {
        const auto &place = places[position % places.size()];
        if (place.state == OLAF_PLACE_WAITING)
            updates += read_entry(place.entry, storage)->pending.count;
    }
    return updates;
}

} // namespace olaf::bench
