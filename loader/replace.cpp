// SPDX-License-Identifier: BSD-2-Clause
#include "replace.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "attachment.hpp"
#include "install.hpp"
#include "own_addresses.hpp"
#include "plan.hpp"
#include "tc.hpp"
#include "turnround.hpp"
#include "undo.hpp"
#include "xdp.hpp"

namespace olaf {
namespace {

Result<Fd> open_pin(const PinPlace &place, const char *name) {
    Fd fd(bpf_obj_get(place.path(name).c_str()));
    if (!fd)
        return fail("open", place.path(name), errno);
    return fd;
}

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
             Size{"--queue", running.queue_capacity, wanted.queue_capacity,
                  running.ring_places == wanted.ring_places},
         })
        if (!size.same)
            return fail("replace the queue on", device, 0, "olaf detach first",
                        fmt::format("{} is {} and can't become {} while attached", size.option,
                                    size.from, size.to));
    return {};
}

/// Clusters that follow the default follow it to the new policy.
Result<void> move_default(int rules_fd, const olaf_config &from, const olaf_config &to) {
    if (from.default_policy == to.default_policy)
        return {};
    const auto old_rule = default_rule(static_cast<olaf_policy>(from.default_policy));
    const auto new_rule = default_rule(static_cast<olaf_policy>(to.default_policy));
    for (std::uint32_t id = 0; id < from.max_clusters; id++) {
        olaf_rule rule{};
        if (bpf_map_lookup_elem(rules_fd, &id, &rule) != 0)
            return fail("read", "olaf_rules", errno);
        if (std::memcmp(&rule, &old_rule, sizeof rule) == 0)
            if (auto done = write_rules(rules_fd, id, id, new_rule); !done)
                return done;
    }
    return {};
}

/// From the end of the path to its start, so that a frame never meets a program that hands on
/// what the next one doesn't know. Each step is taken back if a later one fails.
Result<void> swap_programs(const PinPlace &place, const Record &running, const Device &device,
                           const Datapath &queue, Undo &undo) {
    const auto lane = running.lane(device.ifindex);
    struct Old {
        Fd drain, kick, caught, egress, ingress, link;
    };
    const auto old = std::make_shared<Old>();
    const std::pair<const char *, Fd *> pins[] = {{pin::lane_drain, &old->drain},
                                                  {pin::lane_kick, &old->kick},
                                                  {pin::token_catch, &old->caught},
                                                  {pin::egress, &old->egress},
                                                  {pin::ingress, &old->ingress},
                                                  {pin::link, &old->link}};
    for (const auto &[name, into] : pins) {
        auto fd = open_pin(place, name);
        if (!fd)
            return std::unexpected(fd.error());
        *into = std::move(*fd);
    }
    constexpr std::uint32_t lane_priority = 1; // the lane is ours alone
    struct Filter {
        std::string device;
        std::uint32_t ifindex;
        TcHook where;
        std::uint32_t priority;
        int from, to;
    };
    for (const auto &filter :
         {Filter{lane.b, lane.ifindex_b, TcHook::ingress, lane_priority, old->drain.get(),
                 queue.lane_drain_fd()},
          Filter{lane.a, lane.ifindex_a, TcHook::ingress, lane_priority, old->kick.get(),
                 queue.lane_kick_fd()},
          Filter{device.name, device.ifindex, TcHook::ingress, running.filter_priority,
                 old->caught.get(), queue.token_catch_fd()},
          Filter{device.name, device.ifindex, TcHook::egress, running.egress_priority,
                 old->egress.get(), queue.egress_fd()}}) {
        undo.add([filter, old] {
            (void)replace_filter(filter.device, filter.ifindex, filter.where, filter.priority,
                                 filter.from);
        });
        if (auto done = replace_filter(filter.device, filter.ifindex, filter.where,
                                       filter.priority, filter.to);
            !done)
            return done;
    }
    undo.add([=] { (void)update_xdp(old->link.get(), device.name, old->ingress.get()); });
    return update_xdp(old->link.get(), device.name, queue.ingress_fd());
}

} // namespace

Result<Record> replace(const AttachOptions &options, const Device &device, const PinPlace &place) {
    const auto lock = PinLock::existing(place);
    if (!lock && lock.error().code == ENOENT)
        return fail("replace the queue on", device.name, 0,
                    "olaf attach without --replace puts one there", "none is attached");
    if (!lock)
        return std::unexpected(lock.error());
    if (const auto live = live_attachment(device.name); !live)
        return std::unexpected(live.error());
    const auto map = RecordMap::open(place);
    if (!map)
        return std::unexpected(map.error());
    const auto running = map->read();
    if (!running)
        return std::unexpected(running.error());
    if (running->layout != OLAF_LAYOUT || running->config.layout != OLAF_LAYOUT)
        return fail("replace the queue on", device.name, 0, "olaf detach, then attach",
                    fmt::format("its state has layout {}, this olaf's has {}", running->layout,
                                OLAF_LAYOUT));
    if (auto good = check_mode(options, *running, device.name); !good)
        return std::unexpected(good.error());

    const auto plan = make_plan(options, device, &*running);
    if (!plan)
        return std::unexpected(plan.error());
    const auto config = make_config(plan->config);
    if (!config)
        return std::unexpected(config.error());
    if (auto good = check_sizes(running->config, *config, device.name); !good)
        return std::unexpected(good.error());
    const auto queue = Datapath::load(*config, {.pinned_maps = place.path()});
    if (!queue)
        return std::unexpected(queue.error());
    for (const auto &note : plan->notes)
        fmt::print(stderr, "{}: {}\n", device.name, note);

    // What the host has now is right for the old programs too, so nothing of it is taken back.
    if (auto done = refresh_addresses(queue->map_fd("olaf_own"), queue->map_fd("olaf_own_macs"),
                                      device.ifindex);
        !done)
        return std::unexpected(done.error());

    Record record = *running;
    record.config = *config;
    std::snprintf(record.target, sizeof record.target, "%s", plan->target.c_str());
    const auto lane = record.lane(device.ifindex);
    Undo undo;
    if (auto done = swap_return(place, *map, *running, record, *queue, undo); !done)
        return std::unexpected(done.error());
    if (auto done = swap_programs(place, *running, device, *queue, undo); !done)
        return std::unexpected(done.error());
    undo.add([=] { (void)shape_lane(lane, running->config.drain_interval_ns); });
    if (auto done = shape_lane(lane, config->drain_interval_ns); !done)
        return std::unexpected(done.error());
    if (!options.allow.empty())
        if (auto done = write_allow_list(queue->map_fd("olaf_allow"), options.allow); !done)
            return std::unexpected(done.error());
    if (auto done = move_default(queue->map_fd("olaf_rules"), running->config, *config); !done)
        return std::unexpected(done.error());
    undo.dismiss(); // from here on the new ones are right
    watch_losses_or_say(*queue, place, device);
    if (auto done = pin_programs(*queue, place, true); !done)
        return std::unexpected(done.error());
    if (auto done = map->write(record); !done)
        return std::unexpected(done.error());
    if (auto done = leave_return(place, *map, record); !done)
        return std::unexpected(done.error());
    return record;
}

} // namespace olaf
