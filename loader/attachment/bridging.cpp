// SPDX-License-Identifier: BSD-2-Clause
#include "bridging.hpp"

#include <fmt/format.h>

#include <fstream>

#include "olaf/try.hpp"
#include "own_addresses.hpp"

namespace olaf {

Result<Bridging> decide_bridging(const Device &device, std::optional<bool> asked) {
    if (asked)
        return Bridging{*asked, *asked ? "--bridge" : "--no-bridge"};
    if (device.master != 0) {
        const auto master = OLAF_TRY(find_device(device.master));
        return Bridging{master.kind == "bridge",
                        fmt::format("{} is a port of {}", device.name, master.name)};
    }
    const auto addressed = OLAF_TRY(has_address(device.ifindex));
    return Bridging{!addressed,
                    fmt::format("{} has {} address", device.name, addressed ? "an" : "no")};
}

bool routes_by(const std::string &device, std::uint32_t family) {
    std::ifstream file(fmt::format("/proc/sys/net/ipv{}/conf/{}/forwarding", family, device));
    int on = 0;
    return !(file >> on) || on != 0;
}

std::string routing_remedy(const std::string &device, std::uint32_t family) {
    return fmt::format("sysctl net.ipv{}.conf.{}.forwarding=1", family, device);
}

Result<std::string> forwarding_note(const std::string &out, const Bridging &bridging) {
    const bool routes4 = routes_by(out, 4), routes6 = routes_by(out, 6);
    const bool routes = routes4 || routes6;
    if (!routes && !bridging.bridge)
        return fail("forward to", out, 0,
                    fmt::format("{} makes it a router, --bridge a bridge", routing_remedy(out, 4)),
                    fmt::format("forwarding is off and frames to other hosts aren't taken ({})",
                                bridging.because));
    auto note = fmt::format("forwards as {} ({})",
                            !bridging.bridge ? "a router only"
                            : routes         ? "a bridge and a router"
                                             : "a bridge only",
                            bridging.because);
    if (!routes)
        return note + fmt::format(": updates to this host's MAC address can't leave until {}",
                                  routing_remedy(out, 4));
    if (!routes4 || !routes6)
        note += fmt::format("; IPv{0} isn't routed until {1}", routes4 ? 6 : 4,
                            routing_remedy(out, routes4 ? 6 : 4));
    return note;
}

} // namespace olaf
