// SPDX-License-Identifier: BSD-2-Clause
#include "plan.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "bridging.hpp"
#include "loader/host/ethtool.hpp"
#include "loader/host/route.hpp"
#include "olaf/try.hpp"
#include "own_addresses.hpp"
#include "plan_notes.hpp"
#include "plan_sizes.hpp"

namespace olaf {
namespace {

DatapathConfig config_of(const olaf_config &running) {
    DatapathConfig config;
    config.port = ntohs(running.port_be);
    config.queue_capacity = running.queue_capacity;
    config.rate_bps = running.rate_bps;
    config.window = window_of(running);
    config.frame_overhead = running.frame_overhead;
    config.policy = static_cast<olaf_policy>(running.default_policy);
    config.max_clusters = running.max_clusters;
    config.max_segments = running.max_segments;
    config.max_lanes = running.max_lanes;
    config.drain_interval_ns = running.drain_interval_ns;
    config.activity_window_ns = running.activity_window_ns;
    config.deliver = static_cast<olaf_deliver>(running.deliver);
    config.egress_ifindex = running.egress_ifindex;
    config.drain_ifindex = running.drain_ifindex;
    config.kick_ifindex = running.kick_ifindex;
    std::ranges::copy(running.drain_mac, config.drain_mac.begin());
    config.upstream.family = running.upstream_family;
    std::ranges::copy(running.upstream_addr_be, config.upstream.words_be.begin());
    config.upstream_port = ntohs(running.upstream_port_be);
    config.source.family = running.upstream_family;
    std::ranges::copy(running.source_addr_be, config.source.words_be.begin());
    config.bridge = running.flags & OLAF_CONFIG_BRIDGE;
    config.skb_mode = running.flags & OLAF_CONFIG_SKB_MODE;
    config.allow_list = running.flags & OLAF_CONFIG_ALLOW_LIST;
    config.strict = running.flags & OLAF_CONFIG_STRICT;
    config.max_workers = running.max_workers;
    config.member_timeout_ns = running.member_timeout_ns;
    config.round_slots = running.round_slots;
    config.round_lines = running.round_lines;
    config.verify = running.flags & OLAF_CONFIG_VERIFY;
    config.meter = !(running.flags & OLAF_CONFIG_NO_METER);
    config.token_secret = running.token_secret;
    return config;
}

/// --replace keeps whether it bridges, unless --forward or --bridge is given anew.
Result<void> plan_bridging(Plan &plan, const AttachOptions &options, const Device &device) {
    if (plan.config.deliver != OLAF_DELIVER_FORWARD) {
        if (!options.bridge)
            return {};
        return fail("bridge from", device.name, 0, "give --forward DEV2, or no --bridge",
                    "only updates that are forwarded are bridged");
    }
    if (!options.bridge && options.forward.empty())
        return {};
    const auto decided = OLAF_TRY(decide_bridging(device, options.bridge));
    auto note = OLAF_TRY(forwarding_note(plan.target, decided));
    plan.config.bridge = decided.bridge;
    plan.notes.push_back(std::move(note));
    return {};
}

Result<void> plan_forward(Plan &plan, const std::string &name) {
    auto egress = OLAF_TRY(find_device(name));
    if (!egress.ethernet)
        return fail("forward to", name, 0, "name an Ethernet device", "it has no MAC address");
    plan.config.deliver = OLAF_DELIVER_FORWARD;
    plan.config.egress_ifindex = egress.ifindex;
    plan.target = name;
    plan.egress = std::move(egress);
    return {};
}

Result<void> plan_upstream(Plan &plan, const Endpoint &server) {
    const auto route = OLAF_TRY(route_to(server.address));
    if (route.local)
        return fail("send upstream to", endpoint_text(server), 0, "use --local",
                    "the address is this host's own");
    auto egress = OLAF_TRY(find_device(route.ifindex));
    if (!egress.ethernet)
        return fail("send upstream by", egress.name, 0, "route it by an Ethernet device",
                    "it has no MAC address");
    if (!routes_by(egress.name, server.address.family))
        return fail("send upstream by", egress.name, 0,
                    routing_remedy(egress.name, server.address.family),
                    "forwarding is off on it, so the kernel answers programs no route");
    plan.config.deliver = OLAF_DELIVER_UPSTREAM;
    plan.config.egress_ifindex = egress.ifindex;
    plan.config.upstream = server.address;
    plan.config.upstream_port = server.port;
    plan.config.source = route.source;
    plan.target = endpoint_text(server);
    plan.egress = std::move(egress);
    return {};
}

Result<void> plan_delivery(Plan &plan, const AttachOptions &options, const Record *running) {
    if (!options.forward.empty())
        return plan_forward(plan, options.forward);
    if (options.upstream)
        return plan_upstream(plan, *options.upstream);
    if (options.local || running == nullptr) {
        plan.config.deliver = OLAF_DELIVER_LOCAL;
        plan.config.egress_ifindex = 0;
        return {};
    }
    plan.target = running->target;
    if (plan.config.egress_ifindex != 0) {
        auto egress = find_device(plan.config.egress_ifindex);
        if (!egress)
            return fail("send departures by", "the device that they left by", 0,
                        "bring it back, or olaf detach --force", "it has gone");
        plan.egress = std::move(*egress);
    }
    return {};
}

/// If no rate is given: the output's link speed; for --local, or where ACKs pace departures,
/// unlimited.
Result<void> plan_rate(Plan &plan, const AttachOptions &options, const Device &device,
                       const Record *running) {
    if (!options.rate && running != nullptr)
        return {};
    const bool line = options.rate ? options.rate->line
                                   : plan.egress.has_value() && plan.config.window.most == 0;
    plan.config.frame_overhead = 0;
    plan.config.rate_bps = options.rate ? options.rate->bps : 0;
    if (!line)
        return {};
    const auto &out = plan.egress ? *plan.egress : device;
    const auto speed = link_speed(out.name);
    if (speed) {
        plan.config.rate_bps = *speed;
        plan.config.frame_overhead = ethernet_overhead;
        plan.notes.push_back(
            fmt::format("rate: {}, the link speed of {}", rate_text(*speed), out.name));
        return {};
    }
    if (options.rate)
        return fail("take the rate of the line from", out.name, 0, "give --rate in bits a second",
                    "its driver doesn't know its link speed");
    plan.notes.push_back(
        fmt::format("rate: unlimited, as {} doesn't know its link speed", out.name));
    return {};
}

} // namespace

Result<Plan> make_plan(const AttachOptions &options, const Device &device, const Record *running) {
    if (!device.ethernet)
        return fail("attach to", device.name, 0, "name an Ethernet device",
                    "it has no MAC address");
    Plan plan;
    if (running != nullptr)
        plan.config = config_of(running->config);
    auto &config = plan.config;
    config.ifindex = device.ifindex;
    config.mac = device.mac;
    take(config.port, options.port);
    take(config.policy, options.policy);
    take(config.window, options.window);
    take(config.drain_interval_ns, options.drain_interval_ns);
    take(config.activity_window_ns, options.activity_window_ns);
    take(config.member_timeout_ns, options.member_timeout_ns);
    take(config.strict, options.strict);
    take(config.verify, options.verify);
    config.tags_hidden = offloads_of(device.name).rx_vlan;
    config.back_by_redirect = device.kind == "veth";
    if (!options.allow.empty())
        config.allow_list = true;
    OLAF_TRY(plan_delivery(plan, options, running));
    OLAF_TRY(plan_sizes(plan, options, device, running));
    OLAF_TRY(plan_bridging(plan, options, device));
    if (plan.egress) {
        const auto own = OLAF_TRY(device_addresses(plan.egress->ifindex));
        config.own4 = own.v4;
        config.own6 = own.v6;
    }
    config.output_sums = plan.egress && offloads_of(plan.egress->name).tx_checksum;
    OLAF_TRY(plan_rate(plan, options, device, running));
    if (running == nullptr)
        note_consequences(plan, options, device);
    return plan;
}

} // namespace olaf
