// SPDX-License-Identifier: BSD-2-Clause
#include "install.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdio>

#include "allow_list.hpp"
#include "beside.hpp"
#include "lane.hpp"
#include "losses.hpp"
#include "own_addresses.hpp"
#include "proof.hpp"
#include "steps.hpp"
#include "tc.hpp"
#include "turnround.hpp"
#include "xdp.hpp"

namespace olaf {
namespace {

/// A unicast address that nobody else has.
std::array<std::uint8_t, 6> random_mac() {
    std::array<std::uint8_t, 6> mac{};
    [[maybe_unused]] const auto got = ::getrandom(mac.data(), mac.size(), 0);
    mac[0] = static_cast<std::uint8_t>((mac[0] & 0xfc) | 0x02);
    return mac;
}

template <std::size_t N> void copy_text(char (&field)[N], const std::string &text) {
    std::snprintf(field, N, "%s", text.c_str());
}

Result<void> install_lane(const RecordMap &map, Record &record, const Device &device,
                          std::uint64_t interval) {
    const Lane names = lane_names(device.ifindex);
    for (const auto &name : {names.a, names.b})
        if (find_device(name))
            return fail("make the drain lane", name, EEXIST,
                        "another device has that name: ip link delete it");
    record.lane_ours = 1;
    if (auto done = map.write(record); !done)
        return done;
    const auto lane = make_lane(device.ifindex, device.mtu, interval);
    if (!lane)
        return std::unexpected(lane.error());
    record.lane_ifindex_a = lane->ifindex_a;
    record.lane_ifindex_b = lane->ifindex_b;
    return map.write(record);
}

Result<void> install_filters(const RecordMap &map, Record &record, const Datapath &queue,
                             const Device &device) {
    const auto lane = record.lane(device.ifindex);
    struct LaneEnd {
        const std::string &name;
        std::uint32_t ifindex;
        int program;
    };
    for (const auto &end : {LaneEnd{lane.b, lane.ifindex_b, queue.lane_drain_fd()},
                            LaneEnd{lane.a, lane.ifindex_a, queue.lane_kick_fd()}}) {
        if (auto done = ensure_clsact(end.name, end.ifindex); !done)
            return done;
        if (const auto priority = add_filter(end.name, end.ifindex, TcHook::ingress, end.program);
            !priority)
            return std::unexpected(priority.error());
    }

    const auto had_clsact = has_clsact(device.name, device.ifindex);
    if (!had_clsact)
        return std::unexpected(had_clsact.error());
    record.clsact_ours = !*had_clsact;
    if (auto done = map.write(record); !done)
        return done;
    if (auto done = ensure_clsact(device.name, device.ifindex); !done)
        return done;
    const auto priority =
        add_filter(device.name, device.ifindex, TcHook::ingress, queue.token_catch_fd());
    if (!priority)
        return std::unexpected(priority.error());
    record.filter_priority = *priority;
    const auto egress = add_filter(device.name, device.ifindex, TcHook::egress, queue.egress_fd());
    if (!egress)
        return std::unexpected(egress.error());
    record.egress_priority = *egress;
    return map.write(record);
}

Result<void> install_xdp(const PinPlace &place, const Datapath &queue, const Device &device,
                         bool skb_mode) {
    const auto link = attach_xdp(device, queue.ingress_fd(), skb_mode);
    if (!link)
        return std::unexpected(link.error());
    if (bpf_obj_pin(link->get(), place.path(pin::link).c_str()) != 0)
        return fail("pin", place.path(pin::link), errno);
    return {};
}

} // namespace

Result<Record> install(const PinPlace &place, const Device &device, const Plan &plan,
                       const std::vector<olaf_prefix> &allowed, bool skb_mode) {
    Record record;
    record.skb_mode = skb_mode;
    copy_text(record.device, device.name);
    copy_text(record.target, plan.target);
    const auto map = RecordMap::create(place, record);
    if (!map)
        return std::unexpected(map.error());
    if (auto done = install_lane(*map, record, device, plan.config.drain_interval_ns); !done)
        return std::unexpected(done.error());

    auto human = plan.config;
    human.lane_ifindex = record.lane_ifindex_a;
    human.kick_ifindex = record.lane_ifindex_b;
    human.skb_mode = skb_mode;
    human.lane_mac = random_mac();
    const auto config = make_config(human);
    if (!config)
        return std::unexpected(config.error());
    record.config = *config;
    const auto queue = Datapath::load(
        *config, {.pinned_maps = {}, .asks_driver = !skb_mode && driver_tells_tags(device)});
    if (!queue)
        return std::unexpected(queue.error());
    const auto finish = [&] {
        record.complete = 1;
        return map->write(record);
    };
    const auto done =
        in_order({[&] { return allow(queue->map_fd("olaf_allow"), allowed); },
                  [&] {
                      return refresh_addresses(queue->map_fd("olaf_own"),
                                               queue->map_fd("olaf_own_macs"), device.ifindex);
                  },
                  [&] { return queue->pin_maps(place.path()); },
                  [&] { return pin_programs(*queue, place, false); },
                  [&] { return install_filters(*map, record, *queue, device); },
                  [&] { return install_return(*map, record, *queue); },
                  [&] { return prove_lane(*queue, device); },
                  [&] {
                      watch_losses_or_say(*queue, place, device);
                      look_beside_or_say(*queue, place, device);
                      return install_xdp(place, *queue, device, skb_mode);
                  },
                  finish});
    if (!done)
        return std::unexpected(done.error());
    return record;
}

void watch_losses_or_say(const Datapath &queue, const PinPlace &place, const Device &device) {
    if (auto done = watch_losses(queue, place); !done)
        fmt::print(stderr, "{}: losses behind the queue won't be counted: {}\n", device.name,
                   done.error().message());
}

Result<void> pin_programs(const Datapath &queue, const PinPlace &place, bool replace) {
    const std::pair<const char *, int> programs[] = {{pin::ingress, queue.ingress_fd()},
                                                     {pin::token_catch, queue.token_catch_fd()},
                                                     {pin::lane_drain, queue.lane_drain_fd()},
                                                     {pin::lane_kick, queue.lane_kick_fd()},
                                                     {pin::egress, queue.egress_fd()},
                                                     {pin::enrol, queue.enrol_fd()},
                                                     {pin::ack_return, queue.ack_return_fd()}};
    for (const auto &[name, fd] : programs) {
        const auto path = place.path(name);
        // The new one is pinned beside and moved over the old one.
        const auto first = replace ? path + "_new" : path;
        if (replace)
            ::unlink(first.c_str());
        if (bpf_obj_pin(fd, first.c_str()) != 0)
            return fail("pin program", first, errno);
        if (replace && std::rename(first.c_str(), path.c_str()) != 0)
            return fail("pin program", path, errno);
    }
    return {};
}

} // namespace olaf
