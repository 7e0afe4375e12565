// SPDX-License-Identifier: BSD-2-Clause
#include "plan.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

#include "addresses.hpp"
#include "loader/host/device.hpp"
#include "loader/host/route.hpp"
#include "olaf/try.hpp"

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

namespace {

constexpr std::uint32_t ipv4_bytes = 20, ipv6_bytes = 40;

/// Lanes of the largest update that can leave, by whatever IP version workers send.
std::uint32_t lanes_out(const Plan &plan) {
    const bool outer6 =
        plan.config.deliver == OLAF_DELIVER_UPSTREAM && plan.config.upstream.family == 6;
    return lanes_within(plan.egress->mtu, outer6 ? ipv6_bytes : ipv4_bytes);
}

/// Room for the largest update that can both come in and leave.
Result<void> plan_lanes(Plan &plan, const AttachOptions &options, const Device &device,
                        const Record *running) {
    auto &config = plan.config;
    const bool by_mtu = options.max_lanes ? !*options.max_lanes : running == nullptr;
    const std::uint32_t asked = options.max_lanes ? options.max_lanes->value_or(0) : 0;
    if (by_mtu)
        config.max_lanes = lanes_of_mtu(device.mtu);
    else if (asked != 0)
        config.max_lanes = asked;
    config.egress_mtu = plan.egress ? plan.egress->mtu : 0;
    if (!plan.egress)
        return {};
    const auto &out = *plan.egress;
    const auto most = lanes_out(plan);
    if (most == 0)
        return fail("send updates out of", out.name, 0, "give it a larger one",
                    fmt::format("its MTU, {}, carries none", out.mtu));
    if (by_mtu)
        config.max_lanes = std::min(config.max_lanes, most);
    if (asked > most)
        plan.notes.push_back(fmt::format("updates of at most {} lanes fit out ({} has MTU {}): "
                                         "larger ones are refused, whatever --max-lanes says",
                                         most, out.name, out.mtu));
    else if (asked == 0 && most < lanes_within(device.mtu))
        plan.notes.push_back(fmt::format("updates of at most {} lanes fit out ({} has MTU {})",
                                         most, out.name, out.mtu));
    return {};
}

} // namespace

Result<void> plan_sizes(Plan &plan, const AttachOptions &options, const Device &device,
                        const Record *running) {
    auto &config = plan.config;
    take(config.max_clusters, options.max_clusters);
    take(config.max_segments, options.max_segments);
    take(config.round_slots, options.round_slots);
    if (running == nullptr)
        config.round_lines = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    if (options.max_workers)
        config.max_workers = options.max_workers;
    if (const auto usual = usual_workers(config.max_clusters);
        !config.max_workers && usual < OLAF_DEFAULT_MAX_WORKERS)
        plan.notes.push_back(fmt::format("ACKs are copied to {} workers of a cluster at most; "
                                         "--max-workers takes more memory for more",
                                         usual));
    config.fifo = options.fifo || (running != nullptr && running->config.fifo_places != 0);
    if (options.queue)
        config.queue_capacity = *options.queue;
    return plan_lanes(plan, options, device, running);
}

namespace {

/// IPv4, UDP and Olaf's headers.
constexpr std::uint32_t header_bytes = 20 + 8 + sizeof(olaf_header);

/// "in is down: nothing comes in until ip link set in up"; "" if it is up.
std::string down_note(const Device &device, const char *means) {
    if (!device.up)
        return fmt::format("{0} is down: {1} until ip link set {0} up", device.name, means);
    if (!device.carrier)
        return fmt::format("{} has no carrier: {} until its other end is up", device.name, means);
    return "";
}

void add(std::vector<std::string> &notes, std::string note) {
    if (!note.empty())
        notes.push_back(std::move(note));
}

std::string size_note(const Plan &plan, const AttachOptions &options, const Device &device) {
    const auto fit = lanes_within(device.mtu);
    const auto asked = options.max_lanes ? options.max_lanes->value_or(0) : 0;
    if (asked > fit)
        return fmt::format("updates of {} lanes take an MTU of {} (with IPv6 of {}); {} has {}, "
                           "which carries {} lanes",
                           asked, header_bytes + 8 * asked, header_bytes + 20 + 8 * asked,
                           device.name, device.mtu, fit);
    if (asked == 0 && (!plan.egress || plan.egress->mtu >= device.mtu))
        return fmt::format("updates of at most {} lanes come in ({} has MTU {}); larger models "
                           "take a larger MTU, or segments",
                           fit, device.name, device.mtu);
    return "";
}

} // namespace

void note_consequences(Plan &plan, const AttachOptions &options, const Device &device) {
    auto &notes = plan.consequences;
    const auto &config = plan.config;
    add(notes, size_note(plan, options, device));
    if (config.rate_bps == 0 && config.window.most == 0)
        notes.emplace_back("nothing will ever wait, so nothing will fold: updates leave as they "
                           "come without --rate and --window");
    if (config.strict)
        notes.push_back(fmt::format("every update is refused until a worker is registered "
                                    "(--strict): olaf cluster set {} ID --worker ID=ADDR",
                                    device.name));
    if (config.round_slots != 0)
        notes.push_back(fmt::format("room for {} chunks of jobs: olaf job set {} ID sets one",
                                    config.round_slots, device.name));
    add(notes, down_note(device, "nothing comes in"));
    if (plan.egress && plan.egress->ifindex != device.ifindex)
        add(notes, down_note(*plan.egress, "nothing leaves"));
}

std::string native_obstacle(const Device &device, const Plan &plan) {
    if (const auto features = xdp_features(device.ifindex); features && !features->basic)
        return fmt::format("the driver of {} has no native XDP", device.name);
    if (!plan.egress)
        return {};
    if (const auto features = xdp_features(plan.egress->ifindex); features && !features->target)
        return fmt::format("{} takes no redirected frames{}", plan.egress->name,
                           plan.egress->kind == "veth"
                               ? " (its peer needs an XDP program, or GRO: ethtool -K PEER gro on)"
                               : "");
    return {};
}

} // namespace olaf
