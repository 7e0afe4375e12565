// SPDX-License-Identifier: BSD-2-Clause
#include "replace_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "native.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

Result<void> check_mode(const AttachOptions &options, const Record &running,
                        const std::string &device) {
    const bool wants_skb = options.mode == XdpMode::skb;
    if (options.mode == XdpMode::automatic || wants_skb == (running.skb_mode != 0))
        return {};
    return fail("replace the queue on", device, 0, "olaf detach first",
                fmt::format("its mode is {} and can't change while attached",
                            running.skb_mode ? "skb" : "native"));
}

/// Pinned maps keep their sizes.
Result<void> check_sizes(const olaf_config &running, const olaf_config &wanted,
                         const std::string &device) {
    struct Size {
        const char *option;
        std::uint32_t from, to;
        bool same;
    };
    for (const auto &size : {
             Size{"--max-clusters", running.max_clusters, wanted.max_clusters,
                  running.max_clusters == wanted.max_clusters},
             Size{"--max-segments", running.max_segments, wanted.max_segments,
                  running.max_segments == wanted.max_segments},
             Size{"--max-lanes", running.max_lanes, wanted.max_lanes,
                  running.max_lanes == wanted.max_lanes},
             Size{"--max-workers", running.max_workers, wanted.max_workers,
                  running.max_workers == wanted.max_workers},
             Size{"--round-slots", running.round_slots, wanted.round_slots,
                  running.round_slots == wanted.round_slots},
             Size{"--queue", running.queue_capacity, wanted.queue_capacity,
                  running.ring_places == wanted.ring_places},
         })
        if (!size.same)
            return fail("replace the queue on", device, 0, "olaf detach first",
                        fmt::format("{} is {} and can't become {} while attached", size.option,
                                    size.from, size.to));
    if (running.fifo_places != wanted.fifo_places)
        return fail("replace the queue on", device, 0,
                    "olaf detach, then attach with --policy fifo or --fifo",
                    "it was attached without room for policy fifo");
    return {};
}

/// Native programs can't send by an output that takes no redirected frames.
Result<void> check_output(const Record &running, const Plan &plan, const Device &device) {
    const auto obstacle = running.skb_mode ? "" : native_obstacle(device, plan);
    if (obstacle.empty())
        return {};
    return fail("replace the queue on", device.name, 0, "olaf detach, then attach --mode skb",
                obstacle);
}

} // namespace

Result<void> check_layout(const Record &running, const Device &device) {
    if (running.layout == OLAF_LAYOUT && running.config.layout == OLAF_LAYOUT)
        return {};
    return fail("replace the queue on", device.name, 0, "olaf detach, then attach",
                fmt::format("its state has layout {}, this olaf's has {}", running.layout,
                            OLAF_LAYOUT));
}

Result<void> check_replacement(const AttachOptions &options, const Record &running,
                               const Plan &plan, const olaf_config &wanted, const Device &device) {
    OLAF_TRY(check_mode(options, running, device.name));
    OLAF_TRY(check_output(running, plan, device));
    return check_sizes(running.config, wanted, device.name);
}

bool goes_another_way(const olaf_config &running, const olaf_config &wanted) {
    return running.deliver != wanted.deliver || running.egress_ifindex != wanted.egress_ifindex ||
           running.upstream_port_be != wanted.upstream_port_be ||
           !std::ranges::equal(running.upstream_addr_be, wanted.upstream_addr_be) ||
           !std::ranges::equal(running.source_addr_be, wanted.source_addr_be);
}

} // namespace olaf
