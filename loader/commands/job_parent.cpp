// SPDX-License-Identifier: BSD-2-Clause
#include "job_parent.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loader/attachment/bridging.hpp"
#include "loader/attachment/parents.hpp"
#include "loader/host/device.hpp"
#include "loader/host/host.hpp"
#include "loader/host/route.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

Result<void> refuse(const JobOptions &options, std::string hint, std::string reason) {
    return fail("send sums to", endpoint_text(*options.parent), 0, std::move(hint),
                std::move(reason));
}

/// By the queue's own device the node sends as the kernel routes, which tells programs nothing where
/// forwarding is off.
Result<void> check_own_device(const JobOptions &options) {
    const auto family = options.parent->address.family;
    if (routes_by(options.device, family))
        return {};
    return refuse(options, routing_remedy(options.device, family),
                  fmt::format("forwarding is off on {}, so the kernel answers programs no route",
                              options.device));
}

/// Bytes of the IP packet that a sum is.
std::uint32_t packet_bytes(const JobOptions &options) {
    constexpr std::uint32_t ipv4 = 20, ipv6 = 40, udp = 8;
    return (options.parent->address.family == 4 ? ipv4 : ipv6) + udp + sizeof(olaf_header) +
           8 * options.lanes;
}

/// By another device the node's frames leave and come in by TC.
Result<void> check_other_device(const Device &device, const JobOptions &options) {
    if (!device.ethernet)
        return refuse(options, "give a parent that is reached by an Ethernet device",
                      fmt::format("it is behind {}, whose frames have no MAC addresses",
                                  device.name));
    if (const auto bytes = packet_bytes(options); bytes > device.mtu)
        return refuse(options,
                      fmt::format("give fewer --lanes, or ip link set {} mtu {} if the way to the "
                                  "parent allows it",
                                  device.name, bytes),
                      fmt::format("a sum of {} lanes is a packet of {} bytes, and the MTU of {} "
                                  "is {}",
                                  options.lanes, bytes, device.name, device.mtu));
    return {};
}

} // namespace

Result<std::uint32_t> mtu_of_job(const JobOptions &options) {
    const auto own = OLAF_TRY(find_device(options.device));
    if (!options.parent)
        return own.mtu;
    const auto route = OLAF_TRY(route_to(options.parent->address));
    const auto towards = OLAF_TRY(find_device(route.ifindex));
    return std::min(own.mtu, towards.mtu);
}

Result<void> find_parent(olaf_job_setup &setup, const PinPlace &place, const JobOptions &options) {
    if (!options.parent)
        return {};
    const auto route = OLAF_TRY(route_to(options.parent->address));
    if (route.local)
        return refuse(options, "name another host, or leave --parent out: then this node is the root",
                      "the address is this host's own");
    std::ranges::copy(route.source.words_be, setup.source_addr_be);
    wake_neighbour(*options.parent);
    if (route.ifindex == place.ifindex)
        return check_own_device(options);
    const auto device = OLAF_TRY(find_device(route.ifindex));
    OLAF_TRY(check_other_device(device, options));
    const auto ours = OLAF_TRY(clsact_would_be_ours(place, device.ifindex));
    setup.parent_ifindex = device.ifindex;
    setup.flags |= ours ? OLAF_JOB_OUR_CLSACT : 0;
    return {};
}

} // namespace olaf
