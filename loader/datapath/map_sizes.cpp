// SPDX-License-Identifier: BSD-2-Clause
#include "map_sizes.hpp"

#include <bpf/bpf.h>

#include <cerrno>

#include "config.hpp"
#include "olaf/rounds.h"

namespace olaf {
namespace {

constexpr std::uint32_t allow_prefixes = 1024;
/// Bytes of the listener's buffer: some milliseconds of events at full speed.
constexpr std::uint32_t event_bytes = 2 << 20;

} // namespace

std::vector<MapSize> map_sizes(const olaf_config &config) {
    const std::uint32_t clusters = config.max_clusters;
    const std::uint32_t slots = clusters * config.max_segments;
    const std::uint32_t places = config.ring_places;
    const std::uint32_t entry = entry_bytes(config.max_lanes);
    return {
        {"olaf_rules", clusters, 0, "--max-clusters"},
        {"olaf_active"},
        {"olaf_active_epochs", clusters, 0, "--max-clusters"},
        {"olaf_slots", slots, 0, "--max-clusters, --max-segments"},
        {"olaf_entries", 2 * slots + config.fifo_places, entry,
         "--max-clusters, --max-segments, --max-lanes, --fifo"},
        {"olaf_ring"},
        {"olaf_places", 0, static_cast<std::uint32_t>(sizeof(olaf_place)) * places, "--queue"},
        {"olaf_counters"},
        {"olaf_spells"},
        {"olaf_scratch", 0, entry, "--max-lanes"},
        {"olaf_allow", allow_prefixes},
        {"olaf_own"},
        {"olaf_own_macs"},
        {"olaf_control"},
        {"olaf_gate"},
        {"olaf_vain_waits"},
        {"olaf_hops"},
        {"olaf_sent"},
        {"olaf_members", clusters * config.max_workers, 0, "--max-clusters, --max-workers"},
        {"olaf_rosters", clusters, 0, "--max-clusters"},
        {"olaf_acks"},
        {"olaf_reached", olaf_reached_places(config.max_workers), 0, "--max-workers"},
        {"olaf_ack_counters"},
        {"olaf_window"},
        {"olaf_flights"},
        {"olaf_aom", slots, 0, "--max-clusters, --max-segments"},
        {"olaf_events", event_bytes},
        {"olaf_listen"},
        {"olaf_telling"},
        {"olaf_beside"},
        {"olaf_arrivals"},
        {"olaf_rooms"},
        {"olaf_round_messages"},
        {"olaf_job_ids"},
        {"olaf_jobs"},
        {"olaf_children"},
        {"olaf_job_counters"},
        {"olaf_job_desk"},
        {"olaf_round_slots", config.round_slots, 0, "--round-slots"},
        {"olaf_round_lanes", OLAF_ROUND_BUFFERS * config.round_slots,
         static_cast<std::uint32_t>(OLAF_ROUND_LANES_BYTES(config.max_lanes)),
         "--round-slots, --max-lanes"},
        {"olaf_lines", OLAF_LINE_PLACES * config.round_slots * config.round_lines, 0, "--round-slots"},
    };
}

Result<void> check_size(const MapSize &want, int fd) {
    bpf_map_info info{};
    __u32 length = sizeof info;
    if (bpf_obj_get_info_by_fd(fd, &info, &length) != 0)
        return fail("inspect map", want.name, errno);
    const bool entries_differ = want.max_entries != 0 && info.max_entries != want.max_entries;
    // The kernel's size of a value is the one asked for; only its storage is rounded up.
    const bool values_differ = want.value_size != 0 && info.value_size != want.value_size;
    if (entries_differ || values_differ)
        return fail("keep the state in", want.name, 0,
                    std::string(want.decided_by ? want.decided_by : "its size") +
                        " can't change while attached: olaf detach first",
                    "the running queue has another size");
    return {};
}

} // namespace olaf
