// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "checks.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/beside.hpp"
#include "loader/host/ethtool.hpp"
#include "loader/host/host.hpp"
#include "loader/host/xdp.hpp"
#include "loader/host/xdp_features.hpp"
#include "loader/text/units.hpp"

namespace olaf {
namespace {

// A page less XDP headroom, skb_shared_info and Ethernet header: what one buffer holds.
constexpr std::uint32_t one_buffer_mtu = 3498;

/// Drivers with native XDP, for kernels that don't tell: Linux 6.1.
constexpr std::array native_drivers{
    "atlantic",  "bnxt_en",   "cpsw",    "dpaa2-eth",  "ena",          "fsl_dpa",
    "fsl_enetc", "hv_netvsc", "i40e",    "iavf",       "ice",          "igb",
    "igc",       "ixgbe",     "ixgbevf", "mlx4_en",    "mlx5_core",    "mtk_soc_eth",
    "mvneta",    "mvpp2",     "nfp",     "qede",       "sfc",          "stmmac",
    "tsnep",     "tun",       "veth",    "virtio_net", "xen_netfront", "gve"};

Check check_native(const Device &device, const Driver &driver,
                   const std::optional<XdpFeatures> &features) {
    const auto fallback = fmt::format("olaf attach {} --mode skb works, slower", device.name);
    if (features && features->basic)
        return {"native XDP", Verdict::good, "the driver has it", ""};
    if (features)
        return {"native XDP", Verdict::bad, "the driver has none", fallback};
    if (std::ranges::find(native_drivers, driver.name) != native_drivers.end())
        return {"native XDP", Verdict::good,
                "the driver is known for it (this kernel doesn't tell)", ""};
    return {"native XDP", Verdict::bad, "not known of this driver, and this kernel doesn't tell",
            fmt::format("try olaf attach {} --mode native; {}", device.name, fallback)};
}

Check check_mtu(const Device &device, const std::optional<XdpFeatures> &features) {
    const auto mtu = fmt::format("{}", device.mtu);
    if (device.mtu <= one_buffer_mtu)
        return {"MTU", Verdict::good, mtu + ": one buffer a frame", ""};
    if (features && features->frags)
        return {"MTU", Verdict::good, mtu + ": the driver takes frames of several buffers", ""};
    const auto remedy =
        fmt::format("ip link set {} mtu {}, or --mode skb", device.name, one_buffer_mtu);
    if (features)
        return {"MTU", Verdict::bad, mtu + ": the driver's XDP takes one buffer only", remedy};
    return {"MTU", Verdict::hint, mtu + ": more than one buffer, which not every driver takes",
            remedy};
}

Check check_target(const Device &device, const std::optional<XdpFeatures> &features,
                   const std::string &subject) {
    if (!features)
        return {subject, Verdict::hint, "this kernel doesn't tell", ""};
    if (features->target)
        return {subject, Verdict::good,
                features->target_frags ? "takes redirected frames, large ones too"
                                       : "takes redirected frames of one buffer",
                ""};
    return {subject, Verdict::hint,
            "takes no redirected frames: not fit for --forward or --upstream by it, natively",
            device.kind == "veth" ? "give its peer an XDP program or GRO: ethtool -K PEER gro on"
                                  : "--mode skb does without"};
}

Check check_occupied(const Device &device) {
    const auto other = foreign_xdp(device.ifindex);
    if (other.empty())
        return {"XDP hook", Verdict::good, "free", ""};
    if (const auto ours = find_attachment(device.name); ours && ours->alive)
        return {"XDP hook", Verdict::good, "a queue of olaf's is attached", ""};
    return {"XDP hook", Verdict::bad, "taken: " + other,
            fmt::format("ip link set {} xdp off", device.name)};
}

/// Generic XDP learns of tags from the skb, native XDP from the driver.
Check check_tags(const Device &device, const std::optional<XdpFeatures> &features,
                 const Offloads &offloads) {
    if (features && features->vlan_tag)
        return {"VLAN tags", Verdict::good, "the driver tells those that it takes off", ""};
    if (!offloads.rx_vlan)
        return {"VLAN tags", Verdict::good, "stay in the frame", ""};
    return {"VLAN tags", Verdict::hint,
            "the driver takes them off and native XDP isn't told: tagged updates leave untagged",
            fmt::format("with VLANs: {}, or --mode skb", untagging_remedy(device))};
}

Check check_speed(const Device &device, const std::string &subject) {
    if (const auto speed = link_speed(device.name))
        return {subject, Verdict::good, rate_text(*speed), ""};
    return {subject, Verdict::hint, device.up ? "not known to the driver" : "link is down",
            "give --rate; --rate line can't work"};
}

} // namespace

std::vector<Check> check_device(const Device &device, const std::optional<Device> &output) {
    const auto driver = driver_of(device.name);
    const auto features = xdp_features(device.ifindex);
    const auto queues = receive_queues(device.name);
    const auto offloads = offloads_of(device.name);
    std::vector<Check> checks{
        {"driver", Verdict::good, driver.name.empty() ? "unnamed" : driver.name, ""}};
    if (!device.ethernet)
        return {{"device", Verdict::bad, device.name + " is no Ethernet device",
                 "name one that has a MAC address"}};
    if (!device.up)
        checks.push_back(
            {"state", Verdict::hint, "down", fmt::format("ip link set {} up", device.name)});
    checks.push_back(check_native(device, driver, features));
    checks.push_back(check_occupied(device));
    check_queue(device, checks);
    checks.push_back(check_mtu(device, features));
    if (!output || output->ifindex == device.ifindex)
        checks.push_back(check_target(device, features, "redirect target"));
    checks.push_back({"receive queues", Verdict::good,
                      queues != 0 ? fmt::format("{}", queues) : "not told by the driver", ""});
    checks.push_back(check_speed(device, "link speed"));
    if (offloads.lro)
        checks.push_back({"LRO", Verdict::bad, "on: it glues updates together",
                          fmt::format("ethtool -K {} lro off", device.name)});
    checks.push_back(check_tags(device, features, offloads));
    if (device.master != 0)
        checks.push_back({"master", Verdict::hint, "it is a port of a bridge or bond",
                          "frames that the queue takes don't reach that"});
    return checks;
}

std::vector<Check> check_output(const Device &output) {
    const auto carries = fmt::format("{}, MTU {}", output.name, output.mtu);
    std::vector<Check> checks;
    if (!output.ethernet)
        return {{"output", Verdict::bad, output.name + " is no Ethernet device",
                 "name one that has a MAC address"}};
    if (!output.up)
        checks.push_back({"output", Verdict::hint, carries + ", down",
                          fmt::format("ip link set {} up", output.name)});
    else if (!output.carrier)
        checks.push_back({"output", Verdict::hint, carries + ", no carrier",
                          fmt::format("look at the cable of {}, and at its other end",
                                      output.name)});
    else
        checks.push_back({"output", Verdict::good, carries + ", up", ""});
    checks.push_back(check_target(output, xdp_features(output.ifindex), "output's XDP"));
    checks.push_back(check_speed(output, "output's speed"));
    return checks;
}

} // namespace olaf
