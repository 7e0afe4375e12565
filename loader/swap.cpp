// SPDX-License-Identifier: BSD-2-Clause
#include "swap.hpp"

#include <bpf/bpf.h>

#include <array>
#include <cerrno>
#include <memory>

#include "tc.hpp"
#include "xdp.hpp"

namespace olaf {
namespace {

/// The TC programs that run, by their pins, for as long as they may have to come back.
struct Old {
    Fd drain, kick, caught, egress;
};

Result<Fd> open_pin(const PinPlace &place, const char *name) {
    Fd fd(bpf_obj_get(place.path(name).c_str()));
    if (!fd)
        return fail("open", place.path(name), errno);
    return fd;
}

Result<std::shared_ptr<Old>> open_old(const PinPlace &place) {
    auto old = std::make_shared<Old>();
    const std::pair<const char *, Fd *> pins[] = {{pin::lane_drain, &old->drain},
                                                  {pin::lane_kick, &old->kick},
                                                  {pin::token_catch, &old->caught},
                                                  {pin::egress, &old->egress}};
    for (const auto &[name, into] : pins) {
        auto opened = open_pin(place, name);
        if (!opened)
            return std::unexpected(opened.error());
        *into = std::move(*opened);
    }
    return old;
}

struct Filter {
    std::string device;
    std::uint32_t ifindex;
    TcHook where;
    std::uint32_t priority;
    int from, to;
};

std::array<Filter, 4> filters_of(const Record &running, const Device &device, const Datapath &queue,
                                 const Old &old) {
    const auto lane = running.lane(device.ifindex);
    constexpr std::uint32_t lane_priority = 1; // the lane is ours alone
    return {Filter{lane.b, lane.ifindex_b, TcHook::ingress, lane_priority, old.drain.get(),
                   queue.lane_drain_fd()},
            Filter{lane.a, lane.ifindex_a, TcHook::ingress, lane_priority, old.kick.get(),
                   queue.lane_kick_fd()},
            Filter{device.name, device.ifindex, TcHook::ingress, running.filter_priority,
                   old.caught.get(), queue.token_catch_fd()},
            Filter{device.name, device.ifindex, TcHook::egress, running.egress_priority,
                   old.egress.get(), queue.egress_fd()}};
}

} // namespace

Result<void> swap_filters(const PinPlace &place, const Record &running, const Device &device,
                          const Datapath &queue, Undo &undo) {
    const auto opened = open_old(place);
    if (!opened)
        return std::unexpected(opened.error());
    const auto old = *opened;
    for (const auto &filter : filters_of(running, device, queue, *old)) {
        undo.add([filter, old] {
            (void)replace_filter(filter.device, filter.ifindex, filter.where, filter.priority,
                                 filter.from);
        });
        if (auto done = replace_filter(filter.device, filter.ifindex, filter.where, filter.priority,
                                       filter.to);
            !done)
            return done;
    }
    return {};
}

Result<void> swap_entrance(const PinPlace &place, const Device &device, const Datapath &queue,
                           Undo &undo) {
    auto link = open_pin(place, pin::link);
    auto ingress = open_pin(place, pin::ingress);
    if (!link || !ingress)
        return std::unexpected(link ? ingress.error() : link.error());
    const auto kept = std::make_shared<std::pair<Fd, Fd>>(std::move(*link), std::move(*ingress));
    undo.add([=] { (void)update_xdp(kept->first.get(), device.name, kept->second.get()); });
    return update_xdp(kept->first.get(), device.name, queue.ingress_fd());
}

} // namespace olaf
