// SPDX-License-Identifier: BSD-2-Clause
#include "plan.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "loader/card/find.hpp"
#include "loader/host/addresses.hpp"
#include "loader/host/netfilter.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/route.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Nothing given: the default or, with replace, the running queue's.
template <class T, class Given> void take(T &into, const std::optional<Given> &given) {
    if (given)
        into = static_cast<T>(*given);
}

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
    config.upstream = address_of(running.upstream_family, running.upstream_addr_be);
    config.upstream_port = ntohs(running.upstream_port_be);
    config.source = address_of(running.upstream_family, running.source_addr_be);
    config.bridge = running.flags & OLAF_CONFIG_BRIDGE;
    config.skb_mode = running.flags & OLAF_CONFIG_SKB_MODE;
    config.allow_list = running.flags & OLAF_CONFIG_ALLOW_LIST;
    config.strict = running.flags & OLAF_CONFIG_STRICT;
    config.max_workers = running.max_workers;
    config.member_timeout_ns = running.member_timeout_ns;
    config.round_slots = running.round_slots;
    config.round_lines = running.round_lines;
    config.verify = running.flags & OLAF_CONFIG_VERIFY;
    config.output_program = !(running.flags & OLAF_CONFIG_NO_OUTPUT_PROGRAM);
    config.meter = !(running.flags & OLAF_CONFIG_NO_METER);
    config.token_secret = running.token_secret;
    return config;
}

struct Bridging {
    bool bridge = false; ///< frames to other hosts' MAC addresses are taken
    std::string because; ///< what it was decided by
};

/// As asked for. If nothing was asked for, a queue bridges where its device is the port of a
/// bridge, or has neither addresses nor a master: such a device can only serve as a bridge.
Result<Bridging> decide_bridging(const Device &device, const AttachOptions &options) {
    if (options.bridge)
        return Bridging{*options.bridge, *options.bridge ? "--bridge" : "--no-bridge"};
    if (device.master != 0) {
        const auto master = OLAF_TRY(find_device(device.master));
        return Bridging{master.kind == "bridge",
                        fmt::format("{} is a port of {}", device.name, master.name)};
    }
    const auto addressed = OLAF_TRY(has_address(device.ifindex));
    return Bridging{!addressed,
                    fmt::format("{} has {} address", device.name, addressed ? "an" : "no")};
}

/// What the queue forwards as, in a sentence. Fails if as nothing.
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

/// --replace keeps whether it bridges, unless --forward or --bridge is given anew.
Result<void> plan_bridging(Plan &plan, const AttachOptions &options) {
    if (plan.asked.deliver != OLAF_DELIVER_FORWARD) {
        if (!options.bridge)
            return {};
        return fail("bridge from", plan.device.name, 0, "give --forward DEV2, or no --bridge",
                    "only updates that are forwarded are bridged");
    }
    if (!options.bridge && options.forward.empty())
        return {};
    const auto bridging = OLAF_TRY(decide_bridging(plan.device, options));
    plan.notes.push_back(OLAF_TRY(forwarding_note(plan.target, bridging)));
    const auto chains = OLAF_TRY(chains_passed_by(plan.device.name, plan.target, bridging.bridge));
    if (auto note = netfilter_note(chains); !note.empty())
        plan.notes.push_back(std::move(note));
    plan.asked.bridge = bridging.bridge;
    return {};
}

/// Departures leave by the device, which the plan then has.
void plan_output(Plan &plan, olaf_deliver deliver, Device device) {
    plan.asked.deliver = deliver;
    plan.asked.egress_ifindex = device.ifindex;
    plan.egress = std::move(device);
}

Result<void> plan_forward(Plan &plan, const std::string &name) {
    const auto device = OLAF_TRY(find_device(name));
    if (!device.ethernet)
        return fail("forward to", name, 0, "name an Ethernet device", "it has no MAC address");
    plan.target = name;
    plan_output(plan, OLAF_DELIVER_FORWARD, device);
    return {};
}

Result<void> plan_upstream(Plan &plan, const Endpoint &endpoint) {
    const auto &address = endpoint.address;
    plan.target = endpoint_text(endpoint);
    const auto route = OLAF_TRY(route_to(address));
    if (route.local)
        return fail("send upstream to", plan.target, 0, "use --local",
                    "the address is this host's own");
    const auto device = OLAF_TRY(find_device(route.ifindex));
    if (!device.ethernet)
        return fail("send upstream by", device.name, 0, "route it by an Ethernet device",
                    "it has no MAC address");
    if (!routes_by(device.name, address.family))
        return fail("send upstream by", device.name, 0, routing_remedy(device.name, address.family),
                    "forwarding is off on it, so the kernel answers programs no route");
    plan.asked.upstream = address;
    plan.asked.upstream_port = endpoint.port;
    plan.asked.source = route.source;
    plan_output(plan, OLAF_DELIVER_UPSTREAM, device);
    return {};
}

Result<void> plan_delivery(Plan &plan, const AttachOptions &options, const Record *running) {
    if (!options.forward.empty())
        return plan_forward(plan, options.forward);
    if (options.upstream)
        return plan_upstream(plan, *options.upstream);
    if (options.local || running == nullptr) {
        plan.asked.deliver = OLAF_DELIVER_LOCAL;
        plan.asked.egress_ifindex = 0;
        return {};
    }
    plan.target = running->target;
    if (plan.asked.egress_ifindex == 0)
        return {};
    if (auto device = find_device(plan.asked.egress_ifindex); device) {
        plan.egress = std::move(*device);
        return {};
    }
    // It was unplugged. Another one may have its name, or the route by now.
    const auto again = plan.asked.deliver == OLAF_DELIVER_FORWARD
                           ? plan_forward(plan, running->target)
                           : plan_upstream(plan, {plan.asked.upstream, plan.asked.upstream_port});
    if (!again)
        return fail("send departures by", "the device that they left by", 0,
                    fmt::format("bring it back, name another (--forward DEV, --upstream ADDR), or "
                                "olaf detach {} --force",
                                plan.device.name),
                    "it has gone");
    return {};
}

constexpr std::uint32_t ipv4_bytes = 20, ipv6_bytes = 40;
constexpr std::uint32_t lane_step = 16; ///< as make_config() rounds lanes up

/// Lanes of the largest update that can leave, by whatever IP version workers send.
std::uint32_t lanes_out(const Plan &plan) {
    const bool outer6 =
        plan.asked.deliver == OLAF_DELIVER_UPSTREAM && plan.asked.upstream.family == 6;
    return lanes_within(plan.egress->mtu, outer6 ? ipv6_bytes : ipv4_bytes);
}

/// Room for the largest update that can both come in and leave.
Result<void> plan_lanes(Plan &plan, const AttachOptions &options, const Record *running) {
    auto &asked = plan.asked;
    const bool by_mtu = options.max_lanes ? !*options.max_lanes : running == nullptr;
    const std::uint32_t lanes = options.max_lanes ? options.max_lanes->value_or(0) : 0;
    if (by_mtu)
        asked.max_lanes = lanes_of_mtu(plan.device.mtu);
    else if (lanes != 0)
        asked.max_lanes = lanes;
    if (running != nullptr && !options.max_lanes)
        if (auto note = outgrown_note(running->config, plan.device, plan.egress ? &*plan.egress : nullptr);
            !note.empty())
            plan.notes.push_back(std::move(note));
    asked.egress_mtu = plan.egress ? plan.egress->mtu : 0;
    if (!plan.egress)
        return {};
    const auto &out = *plan.egress;
    const auto most = lanes_out(plan);
    if (most == 0)
        return fail("send updates out of", out.name, 0, "give it a larger one",
                    fmt::format("its MTU, {}, carries none", out.mtu));
    if (by_mtu)
        asked.max_lanes = std::min(asked.max_lanes, most);
    if (lanes > most)
        plan.notes.push_back(fmt::format("updates of at most {} lanes fit out ({} has MTU {}): "
                                         "larger ones are refused, whatever --max-lanes says",
                                         most, out.name, out.mtu));
    else if (lanes == 0 && most < lanes_within(plan.device.mtu))
        plan.notes.push_back(fmt::format("updates of at most {} lanes fit out ({} has MTU {})",
                                         most, out.name, out.mtu));
    return {};
}

/// How large a planned queue is: its tables, and the updates that it takes. To be called once the
/// delivery is planned: updates that are too large to leave by it aren't taken.
Result<void> plan_sizes(Plan &plan, const AttachOptions &options, const Record *running) {
    auto &asked = plan.asked;
    take(asked.max_clusters, options.max_clusters);
    take(asked.max_segments, options.max_segments);
    take(asked.round_slots, options.round_slots);
    if (running == nullptr)
        asked.round_lines = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    if (options.max_workers)
        asked.max_workers = options.max_workers;
    if (const auto usual = usual_workers(asked.max_clusters);
        !asked.max_workers && usual < OLAF_DEFAULT_MAX_WORKERS)
        plan.notes.push_back(fmt::format("ACKs are copied to {} workers of a cluster at most; "
                                         "--max-workers takes more memory for more",
                                         usual));
    asked.fifo = options.fifo || (running != nullptr && running->config.fifo_places != 0);
    if (options.queue)
        asked.queue_capacity = *options.queue;
    return plan_lanes(plan, options, running);
}

/// If no rate is given: the output's link speed; for --local, or where ACKs pace departures,
/// unlimited. A running queue whose rate is its line's looks at the line again.
Result<void> plan_rate(Plan &plan, const AttachOptions &options,
                       const Record *running) {
    const bool again = !options.rate && running != nullptr;
    if (again && !paced_by_line(running->config))
        return {};
    const bool line = options.rate ? options.rate->line
                                   : again || (plan.egress.has_value() && plan.asked.window.most == 0);
    if (!again)
        plan.asked.rate_bps = options.rate ? options.rate->bps : 0;
    plan.asked.frame_overhead = line ? ethernet_overhead : 0;
    if (!line)
        return {};
    const auto &out = plan.egress ? *plan.egress : plan.device;
    const auto speed = link_speed(out.name);
    if (speed) {
        if (!again || *speed != running->config.rate_bps)
            plan.notes.push_back(
                fmt::format("rate: {}, the link speed of {}", rate_text(*speed), out.name));
        plan.asked.rate_bps = *speed;
        return {};
    }
    if (options.rate)
        return fail("take the rate of the line from", out.name, 0, "give --rate in bits a second",
                    "its driver doesn't know its link speed");
    if (plan.asked.rate_bps == 0)
        plan.notes.push_back(fmt::format("rate: unlimited, as {} doesn't know its link speed; once it "
                                         "does, olaf attach {} --replace takes it",
                                         out.name, plan.device.name));
    return {};
}

bool kernel_has_btf() {
    return ::access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

/// What the drivers say of offloads and of native XDP.
void plan_drivers(Plan &plan) {
    plan.asked.tags_hidden = offloads_of(plan.device.name).rx_vlan;
    plan.asked.output_sums = plan.egress && offloads_of(plan.egress->name).tx_checksum;
    const auto features = xdp_features(plan.device.ifindex);
    // The question for a tag is a kernel function: libbpf finds it in the kernel's BTF, or loads nothing.
    plan.driver_tells_tags =
        plan.mode != XdpMode::skb && features && features->vlan_tag && kernel_has_btf();
    if (features && !features->basic) {
        plan.native_obstacle = fmt::format("the driver of {} has no native XDP", plan.device.name);
        return;
    }
    // Frames on a veth are skbs anyway: skb mode costs less there than a drain that sends everything.
    // Any other output is tried once the queue is there (output.hpp): drivers take redirected frames
    // on terms that this flag doesn't tell.
    if (!plan.egress || plan.egress->kind != "veth")
        return;
    if (const auto output = xdp_features(plan.egress->ifindex); output && !output->target)
        plan.native_obstacle = fmt::format("{} takes no redirected frames (its peer needs an XDP "
                                           "program, or GRO: ethtool -K PEER gro on)",
                                           plan.egress->name);
}

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

std::string size_note(const Plan &plan, const AttachOptions &options) {
    const auto &device = plan.device;
    const auto fit = lanes_within(device.mtu);
    const auto lanes = options.max_lanes ? options.max_lanes->value_or(0) : 0;
    if (lanes > fit)
        return fmt::format("updates of {} lanes take an MTU of {} (with IPv6 of {}); {} has {}, "
                           "which carries {} lanes",
                           lanes, header_bytes + 8 * lanes, header_bytes + 20 + 8 * lanes,
                           device.name, device.mtu, fit);
    if (lanes == 0 && (!plan.egress || plan.egress->mtu >= device.mtu))
        return fmt::format("updates of at most {} lanes come in ({} has MTU {}); larger models "
                           "take {}segments",
                           fit, device.name, device.mtu,
                           fit < OLAF_MAX_LANES ? "a larger MTU, or " : "");
    return "";
}

/// What follows for a new queue that a person may not expect.
void note_consequences(Plan &plan, const AttachOptions &options) {
    const auto &device = plan.device;
    auto &notes = plan.consequences;
    const auto &asked = plan.asked;
    add(notes, size_note(plan, options));
    if (asked.rate_bps == 0 && asked.window.most == 0)
        notes.emplace_back("nothing will ever wait, so nothing will fold: updates leave as they "
                           "come without --rate and --window");
    if (asked.strict)
        notes.push_back(fmt::format("every update is refused until a worker is registered "
                                    "(--strict): olaf cluster set {} ID --worker ID=ADDR",
                                    device.name));
    if (asked.round_slots != 0)
        notes.push_back(fmt::format("room for {} chunks of jobs: olaf job set {} ID sets one",
                                    asked.round_slots, device.name));
    add(notes, down_note(device, "nothing comes in"));
    if (plan.egress && plan.egress->ifindex != device.ifindex)
        add(notes, down_note(*plan.egress, "nothing leaves"));
}

constexpr std::uint64_t most_40_bits = (std::uint64_t{1} << 40) - 1;

/// "it has 8 places, and --queue asks for 9"; "" where it is enough.
std::string more_than(std::uint64_t asked, std::uint64_t has, const char *what, const char *option) {
    return asked <= has ? "" : fmt::format("it has {} {}, and {} asks for {}", has, what, option, asked);
}

std::string size_obstacle(DatapathConfig &asked, const Given &given, const CardCapabilities &can) {
    if (!given.clusters)
        asked.max_clusters = std::max(
            1U, std::min({asked.max_clusters, can.clusters, can.slots / asked.max_segments}));
    if (!given.queue || !asked.queue_capacity)
        asked.queue_capacity = std::min(2 * asked.max_clusters * asked.max_segments, can.places);
    if (!given.lanes)
        asked.max_lanes = std::min(asked.max_lanes, can.lanes / lane_step * lane_step);
    const auto lanes = (asked.max_lanes + lane_step - 1) / lane_step * lane_step;
    const auto slots = std::uint64_t{asked.max_clusters} * asked.max_segments;
    for (const auto &obstacle :
         {more_than(*asked.queue_capacity, can.places, "places", "--queue"),
          more_than(asked.max_clusters, can.clusters, "clusters", "--max-clusters"),
          more_than(slots, can.slots, "slots", "--max-clusters x --max-segments"),
          more_than(lanes, can.lanes, "lanes", "--max-lanes")})
        if (!obstacle.empty())
            return obstacle;
    return "";
}

/// Departures of a card leave towards this host, which must carry them on; "" if it does.
std::string carriage_obstacle(const Plan &plan) {
    const auto &device = plan.device;
    if (plan.config.deliver != OLAF_DELIVER_FORWARD)
        return "";
    const auto &out = *plan.egress;
    if ((device.master != 0 && device.master == out.master) || routes_by(device.name, 4))
        return "";
    return fmt::format("what leaves it comes in by {}, and this host carries nothing on to {} (make "
                       "them ports of one bridge, or let the host route)",
                       device.name, out.name);
}

std::vector<std::string> notes_on(const olaf_config &config, const CardCapabilities &can,
                                  const std::string &path) {
    std::vector<std::string> notes{
        fmt::format("its queue is in the card {}: {} of {} places, {} clusters, updates of at most "
                    "{} lanes",
                    path, config.queue_capacity, can.places, config.max_clusters,
                    config.max_lanes)};
    if (config.queue_capacity < 2 * config.max_clusters * config.max_segments)
        notes.push_back("a full queue drops updates: the card has no place for every cluster's two");
    if (!can.has(OLAF_CARD_FEATURE_IPV6))
        notes.push_back("updates over IPv6 pass it by");
    return notes;
}

/// Of a queue that runs, what isn't attach's own choice. In a card all of it stands: its slots are
/// in use.
Given given_in(const AttachOptions &options, const Record *running) {
    const bool stands = running != nullptr && running->on_card != 0;
    Given given{.queue = stands || (options.queue && *options.queue),
                .clusters = stands || options.max_clusters,
                .lanes = stands || (options.max_lanes && *options.max_lanes),
                .workers = options.max_workers.has_value()};
    if (running != nullptr) {
        const auto &config = running->config;
        const auto usual = 2 * config.max_clusters * config.max_segments;
        given.clusters |= config.max_clusters != DatapathConfig{}.max_clusters;
        given.queue |= config.queue_capacity != usual && !options.queue;
    }
    return given;
}

/// This host's IPv4 addresses for the card of a device: more than it compares is an error.
Result<CardOwn> own_for_card(std::uint32_t ifindex) {
    const auto own = OLAF_TRY(host_addresses(ifindex));
    CardOwn card_own{};
    std::size_t found = 0;
    for (const auto &[words_be] : own.addresses) {
        const bool ipv4 = words_be[0] == 0 && words_be[1] == 0 && words_be[2] == htonl(0xffff);
        if (!ipv4 || ntohl(words_be[3]) >> 24 == 127)
            continue;
        if (found < card_own.size())
            card_own[found] = words_be[3];
        found++;
    }
    if (found == 0 || found > card_own.size())
        return fail("tell the card", "this host's addresses", 0, "use the kernel's queue: --hw off",
                    fmt::format("this host has {} IPv4 addresses, and it compares 1 to {}", found,
                                card_own.size()));
    return card_own;
}

} // namespace

bool routes_by(const std::string &device, std::uint32_t family) {
    std::ifstream file(fmt::format("/proc/sys/net/ipv{}/conf/{}/forwarding", family, device));
    int on = 0;
    return !(file >> on) || on != 0;
}

std::string routing_remedy(const std::string &device, std::uint32_t family) {
    if (device.contains('.')) // which sysctl takes for a folder
        return fmt::format("sysctl net/ipv{}/conf/{}/forwarding=1", family, device);
    return fmt::format("sysctl net.ipv{}.conf.{}.forwarding=1", family, device);
}

std::string outgrown_note(const olaf_config &running, const Device &device, const Device *output) {
    const bool outer6 = running.deliver == OLAF_DELIVER_UPSTREAM && running.upstream_family == 6;
    auto lanes = lanes_within(device.mtu);
    if (output != nullptr)
        lanes = std::min(lanes, lanes_within(output->mtu, outer6 ? ipv6_bytes : ipv4_bytes));
    if (lanes <= running.max_lanes)
        return "";
    return fmt::format("room for updates of {} lanes, as it was attached, and its MTU carries {} now: for "
                       "larger ones olaf detach {}, then attach it again",
                       running.max_lanes, lanes, device.name);
}

Result<std::vector<std::string>> chains_passed_by(const std::string &in, const std::string &out,
                                                  bool bridges) {
    const auto bridge_calls = [&](const char *tables) {
        std::ifstream file(fmt::format("/proc/sys/net/bridge/bridge-nf-call-{}", tables));
        int on = 0;
        return bridges && file >> on && on != 0;
    };
    return forwarding_chains({.in = in,
                              .out = out,
                              .ip = routes_by(out, 4) || bridge_calls("iptables"),
                              .ip6 = routes_by(out, 6) || bridge_calls("ip6tables"),
                              .bridged = bridges});
}

std::string netfilter_note(const std::vector<std::string> &chains) {
    if (chains.empty())
        return "";
    return fmt::format("netfilter has rules for what this host forwards ({}): updates leave without "
                       "their NAT, filters and marks",
                       fmt::join(chains, ", "));
}

std::string fit_to_card(DatapathConfig &asked, const Given &given, const CardCapabilities &can) {
    if (asked.deliver == OLAF_DELIVER_UPSTREAM && !can.has(OLAF_CARD_FEATURE_ROUTING))
        return "it sends nothing to an upstream server (--upstream)";
    if (asked.window.most != 0 && !can.has(OLAF_CARD_FEATURE_WINDOW))
        return "it has no window of unacknowledged departures (--window)";
    if (asked.allow_list && !can.has(OLAF_CARD_FEATURE_STRICT))
        return "it keeps no list of allowed sources (--allow)";
    if (asked.strict && !can.has(OLAF_CARD_FEATURE_STRICT))
        return "it binds no workers to their addresses (--strict)";
    if (asked.round_slots != 0 && !can.has(OLAF_CARD_FEATURE_JOBS))
        return "it has no jobs (--round-slots)";
    if (given.workers && !can.has(OLAF_CARD_FEATURE_ACK_COPIES))
        return "it copies no ACKs to workers (--max-workers)";
    if (asked.rate_bps != 0 && !can.has(OLAF_CARD_FEATURE_RATE))
        return "it paces nothing (--rate)";
    if (ns_per_byte_q24(asked.rate_bps) > most_40_bits)
        return "its pace has 40 bits, and --rate is too slow for them";
    if (asked.activity_window_ns > most_40_bits)
        return fmt::format("its activity window has 40 bits, {} s at most (--activity-window)",
                           most_40_bits / 1'000'000'000);
    return size_obstacle(asked, given, can);
}

std::string rule_obstacle(const olaf_rule &rule, const CardCapabilities &can) {
    if (rule.reward_threshold >= 0 && !can.has(OLAF_CARD_FEATURE_REWARD_FILTER))
        return "the card has no reward filter";
    return "";
}

std::string reason_of(const Error &error) {
    auto text = (error.code == ENXIO ? no_card : "") + error.reason;
    if (error.code != 0 && error.code != ENXIO && error.code != ENODEV)
        text += (text.empty() ? "" : ": ") + std::string(std::strerror(error.code));
    return text;
}

Result<Plan> make_plan(const AttachOptions &options, const Device &device, const Record *running) {
    if (!device.ethernet)
        return fail("attach to", device.name, 0, "name an Ethernet device",
                    "it has no MAC address");
    Plan plan;
    plan.device = device;
    plan.mode = options.mode;
    plan.allow = options.allow;
    if (running != nullptr) {
        plan.asked = config_of(running->config);
        plan.hardware = static_cast<Hardware>(running->hw_asked);
        plan.no_card = options.hardware ? "" : running->hw_reason;
    }
    take(plan.hardware, options.hardware);
    auto &asked = plan.asked;
    asked.ifindex = device.ifindex;
    asked.mac = device.mac;
    take(asked.port, options.port);
    take(asked.policy, options.policy);
    take(asked.window, options.window);
    take(asked.drain_interval_ns, options.drain_interval_ns);
    take(asked.activity_window_ns, options.activity_window_ns);
    take(asked.member_timeout_ns, options.member_timeout_ns);
    take(asked.strict, options.strict);
    take(asked.verify, options.verify);
    take(asked.output_program, options.output_program);
    asked.back_by_redirect = device.kind == "veth";
    if (!options.allow.empty())
        asked.allow_list = true;
    OLAF_TRY(plan_delivery(plan, options, running));
    OLAF_TRY(plan_sizes(plan, options, running));
    OLAF_TRY(plan_bridging(plan, options));
    if (plan.egress) {
        const auto own = OLAF_TRY(device_addresses(plan.egress->ifindex));
        asked.own4 = own.v4;
        asked.own6 = own.v6;
    }
    OLAF_TRY(plan_rate(plan, options, running));
    plan_drivers(plan);
    plan.config = OLAF_TRY(make_config(asked));
    if (running == nullptr)
        note_consequences(plan, options);
    return plan;
}

namespace {

/// Looks for the card and at what it can; writes none of its configuration. Fails with the reason why
/// not: ENXIO where there is no card at all. Sizes of a running queue stay as they are where they
/// aren't attach's own choice.
Result<void> plan_card(Plan &plan, const AttachOptions &options, const PinPlace &place,
                       const Record *running) {
    const auto path = OLAF_TRY(find_card(plan.device, options.card));
    OLAF_TRY(check_card_free(place, path));
    const auto card = OLAF_TRY(Card::open(path));
    auto asked = plan.asked;
    const auto can = card.capabilities();
    auto obstacle = fit_to_card(asked, given_in(options, running), can);
    if (obstacle.empty())
        obstacle = carriage_obstacle(plan);
    if (obstacle.empty())
        obstacle = rule_obstacle(default_rule(asked.policy), can);
    if (!obstacle.empty())
        return fail("use the card", path, 0, "leave that out, or use the kernel's queue: --hw off",
                    obstacle);
    const auto config = OLAF_TRY(make_config(asked));
    std::optional<CardOwn> own;
    if (asked.deliver == OLAF_DELIVER_LOCAL)
        own = OLAF_TRY(own_for_card(plan.device.ifindex));
    plan.config = config;
    plan.card = CardPlan{.path = path, .own = own};
    plan.notes = notes_on(config, can, path);
    plan.consequences.clear();
    return {};
}

} // namespace

Result<void> choose_card(Plan &plan, const AttachOptions &options, const PinPlace &place,
                         const Record *running) {
    if (plan.hardware == Hardware::off)
        return {};
    auto done = plan_card(plan, options, place, running);
    if (done)
        return {};
    auto &error = done.error();
    if (plan.hardware == Hardware::require) {
        if (error.code == ENXIO)
            error.code = 0; // the reason says it
        return done;
    }
    plan.no_card = reason_of(error);
    if (error.code != ENXIO)
        note(fmt::format("{}: its queue is in the kernel: {}", plan.device.name, error.message()));
    return {};
}

} // namespace olaf
