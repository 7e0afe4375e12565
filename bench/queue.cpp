// SPDX-License-Identifier: BSD-2-Clause
#include "queue.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <olaf/members.h>

namespace olaf::bench {

namespace {

/// Never: further away than any clock here gets, with room for what is added to it.
constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max() / 4;

std::uint32_t ring_places(const Queue::Options &options) {
    return std::bit_ceil(2 * options.capacity);
}

/// As the loader has it by default.
std::uint32_t max_workers(const Queue::Options &options) {
    return std::min<std::uint32_t>(OLAF_DEFAULT_MAX_WORKERS, OLAF_USUAL_MEMBERS / options.clusters);
}

olaf_config config_of(const Queue::Options &options) {
    olaf_config config{};
    config.layout = OLAF_LAYOUT;
    config.flags = OLAF_CONFIG_BRIDGE | (options.meter ? 0 : OLAF_CONFIG_NO_METER) |
                   (options.verify ? OLAF_CONFIG_VERIFY : 0);
    config.deliver = OLAF_DELIVER_FORWARD;
    config.ifindex = options.egress_ifindex == 0 ? 1 : 0;
    config.egress_ifindex = options.egress_ifindex == 0 ? 1 : options.egress_ifindex;
    config.port_be = htons(OLAF_DEFAULT_PORT);
    config.max_clusters = options.clusters;
    config.max_segments = 1;
    config.max_lanes = options.max_lanes;
    config.queue_capacity = options.capacity;
    config.ring_places = ring_places(options);
    config.default_policy = OLAF_POLICY_OLAF;
    config.rate_bps = options.rate_bps;
    if (options.rate_bps > 0)
        config.ns_per_byte_q24 = (8'000'000'000ull << 24) / options.rate_bps;
    config.drain_interval_ns = 100'000;
    config.activity_window_ns = 1'000'000'000;
    config.max_workers = max_workers(options);
    config.member_timeout_ns = 60'000'000'000;
    return config;
}

/// Sizes that depend on the configuration.
void size_maps(const ingress &s, const Queue::Options &options) {
    const std::uint32_t places = ring_places(options);
    bpf_map__set_max_entries(s.maps.olaf_rules, options.clusters);
    bpf_map__set_max_entries(s.maps.olaf_active_epochs, options.clusters);
    bpf_map__set_max_entries(s.maps.olaf_slots, options.clusters);
    bpf_map__set_max_entries(s.maps.olaf_aom, options.clusters);
    bpf_map__set_max_entries(s.maps.olaf_members, options.clusters * max_workers(options));
    bpf_map__set_max_entries(s.maps.olaf_rosters, options.clusters);
    bpf_map__set_max_entries(s.maps.olaf_entries, 2 * options.clusters); // none for fifo
    bpf_map__set_value_size(s.maps.olaf_entries, OLAF_ENTRY_BYTES(options.max_lanes));
    bpf_map__set_value_size(s.maps.olaf_scratch, OLAF_ENTRY_BYTES(options.max_lanes));
    bpf_map__set_value_size(s.maps.olaf_places, places * sizeof(olaf_place));
}

template <class T> T read(const bpf_map *map, std::uint32_t key) {
    T value{};
    bpf_map_lookup_elem(bpf_map__fd(map), &key, &value);
    return value;
}

} // namespace

Result<Queue> Queue::load_with(const Options &options, const Queue *state) {
    auto skeleton = open<ingress>("ingress");
    if (!skeleton)
        return std::unexpected(skeleton.error());
    auto &s = *skeleton;
    const auto config = config_of(options);
    std::memcpy(&s->rodata->olaf_cfg, &config, sizeof(config));
    size_maps(*s, options);
    if (state) {
        bpf_map *map = nullptr;
        bpf_object__for_each_map(map, s->obj) {
            if (bpf_map__is_internal(map))
                continue;
            const int fd =
                bpf_object__find_map_fd_by_name(state->skeleton_->obj, bpf_map__name(map));
            if (const int error = bpf_map__reuse_fd(map, fd); error != 0)
                return fail("share map", bpf_map__name(map), -error);
        }
    }
    if (auto loaded = load(s, "ingress"); !loaded)
        return std::unexpected(loaded.error());
    return Queue(std::move(s), options);
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
    const olaf_rule rule{.policy = OLAF_POLICY_OLAF,
                         .max_count = std::numeric_limits<std::uint32_t>::max(),
                         .reward_threshold = -1};
    for (std::uint32_t cluster = 0; cluster < options_.clusters; ++cluster) {
        if (auto stored = store(bpf_map__fd(skeleton_->maps.olaf_rules), cluster, &rule); !stored)
            return stored;
    }
    olaf_ring ring{};
    ring.drain_deadline_ns = never; // there is no drain: launch no token
    if (options_.link_busy)
        ring.next_departure_ns = never;
    return store(bpf_map__fd(skeleton_->maps.olaf_ring), 0, &ring);
}

Queue::Totals Queue::totals() const {
    Totals totals;
    std::vector<olaf_counters> copies(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const std::uint32_t zero = 0;
    bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.olaf_counters), &zero, copies.data());
    for (const auto &copy : copies)
        totals.in += copy.updates_in;
    for (std::uint32_t i = 0; i < options_.clusters; ++i) {
        const auto slot = read<olaf_slot>(skeleton_->maps.olaf_slots, i);
        totals.departed += slot.counters.updates_departed + slot.counters.updates_passed;
        totals.dropped += slot.counters.updates_dropped;
        totals.superseded += slot.counters.updates_superseded;
        totals.aggregated += slot.counters.aggregated;
    }
    return totals;
}

const olaf_entry *Queue::read_entry(std::uint32_t index,
                                    std::vector<std::uint64_t> &storage) const {
    storage.assign((OLAF_ENTRY_BYTES(options_.max_lanes) + 7) / 8, 0);
    bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.olaf_entries), &index, storage.data());
    return reinterpret_cast<const olaf_entry *>(storage.data());
}

Queue::Waiting Queue::waiting(std::uint32_t cluster) const {
    const auto slot = read<olaf_slot>(skeleton_->maps.olaf_slots, cluster);
    const bool second = slot.buffers[0] != OLAF_BUFFER_OPEN;
    if (slot.buffers[second] != OLAF_BUFFER_OPEN)
        return {};
    std::vector<std::uint64_t> storage;
    const auto *entry = read_entry(second * options_.clusters + cluster, storage);
    return {.count = entry->pending.count,
            .lanes = {entry->lanes, entry->lanes + entry->pending.lanes}};
}

std::uint64_t Queue::updates_waiting() const {
    const auto ring = read<olaf_ring>(skeleton_->maps.olaf_ring, 0);
    std::vector<olaf_place> places(ring_places(options_));
    const std::uint32_t zero = 0;
    bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.olaf_places), &zero, places.data());
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
