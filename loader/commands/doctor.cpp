// SPDX-License-Identifier: BSD-2-Clause
// `olaf doctor`: what it looks at; each a finding and, where something is missing, its remedy. It
// attaches nothing.
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "commands.hpp"
#include "loader/attachment/addresses.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/card.hpp"
#include "loader/attachment/hooks.hpp"
#include "loader/attachment/plan.hpp"
#include "loader/attachment/tracepoints.hpp"
#include "loader/card/card.hpp"
#include "loader/card/find.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "loader/host/host.hpp"
#include "loader/host/merging.hpp"
#include "loader/host/xdp.hpp"
#include "loader/observe/verdict.hpp"
#include "loader/text/units.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

Check check_kernel() {
    const auto release = kernel_release();
    if (is_preempt_rt())
        return {"kernel", Verdict::bad, "Linux " + release + " is a PREEMPT_RT kernel",
                "boot one without: on it softirqs preempt each other"};
    if (running_kernel() >= oldest_kernel)
        return {"kernel", Verdict::good, "Linux " + release, ""};
    return {"kernel", Verdict::bad, "Linux " + release + " is too old",
            fmt::format("boot Linux {}.{} or later", oldest_kernel.major, oldest_kernel.minor)};
}

Check check_privileges() {
    if (require_privileges("", "") && !require_privileges_to_change("", ""))
        return {"privileges", Verdict::bad, "no CAP_SYS_ADMIN",
                "run as root: attach and detach take CAP_SYS_ADMIN and CAP_NET_ADMIN"};
    if (require_privileges("", ""))
        return {"privileges", Verdict::good, "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN", ""};
    return {"privileges", Verdict::bad, "not root",
            "run as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)"};
}

Check check_types() {
    std::string missing;
    const auto need = [&](int has, std::string_view what) {
        if (has != 1)
            missing += fmt::format("{}{}", missing.empty() ? "" : ", ", what);
    };
    need(libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_XDP, nullptr), "XDP programs");
    need(libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SCHED_CLS, nullptr), "TC programs");
    need(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_PERCPU_ARRAY, nullptr), "per-CPU arrays");
    need(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_LPM_TRIE, nullptr), "LPM tries");
    const std::pair<bpf_func_id, const char *> helpers[] = {
        {BPF_FUNC_xdp_load_bytes, "bpf_xdp_load_bytes"},
        {BPF_FUNC_xdp_store_bytes, "bpf_xdp_store_bytes"},
        {BPF_FUNC_xdp_adjust_tail, "bpf_xdp_adjust_tail"},
        {BPF_FUNC_redirect, "bpf_redirect"},
        {BPF_FUNC_fib_lookup, "bpf_fib_lookup"}};
    for (const auto &[helper, name] : helpers)
        need(libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, helper, nullptr), name);
    if (missing.empty())
        return {"BPF features", Verdict::good, "every program type, map type and helper in use",
                ""};
    return {"BPF features", Verdict::bad, "missing: " + missing,
            "a kernel with CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF, CONFIG_NET_CLS_ACT"};
}

Check check_programs() {
    const auto config = make_config({.queue_capacity = 8, .max_clusters = 4});
    const auto loaded =
        config ? Datapath::load(*config) : Result<Datapath>(std::unexpected(config.error()));
    if (loaded)
        return {"verifier", Verdict::good, "takes every program of the queue", ""};
    return {"verifier", Verdict::bad, loaded.error().message(),
            "olaf doctor -v shows the verifier's words"};
}

Check check_btf() {
    if (std::ifstream("/sys/kernel/btf/vmlinux"))
        return {"BTF", Verdict::good, "losses behind the queue can be counted", ""};
    return {"BTF", Verdict::hint, "none: losses behind the queue won't be counted",
            "a kernel with CONFIG_DEBUG_INFO_BTF"};
}

Check check_jit() {
    std::ifstream file("/proc/sys/net/core/bpf_jit_enable");
    int enabled = 1;
    if (!(file >> enabled) || enabled != 0)
        return {"JIT", Verdict::good, "on", ""};
    return {"JIT", Verdict::hint, "off: many times slower", "sysctl net.core.bpf_jit_enable=1"};
}

Check check_bpffs() {
    if (bpffs_is_hidden())
        return {"bpffs", Verdict::bad, "not in this process's own mounts",
                "use olaf --netns NAME in place of ip netns exec NAME olaf"};
    if (!bpffs_mounted())
        return {"bpffs", Verdict::hint, "not mounted at /sys/fs/bpf",
                "attach mounts it, if it may; or: mount -t bpf bpf /sys/fs/bpf"};
    const auto places = pinned_places();
    if (!places)
        return {"bpffs", Verdict::hint,
                fmt::format("mounted; how many queues are pinned can't be told: {}",
                            std::strerror(places.error().code)),
                places.error().hint};
    return {
        "bpffs", Verdict::good,
        fmt::format("mounted, {} queue{} pinned", places->size(), places->size() == 1 ? "" : "s"),
        ""};
}

Check check_forwarding() {
    std::ifstream file("/proc/sys/net/ipv4/ip_forward");
    int on = 0;
    if (file >> on && on == 1)
        return {"ip_forward", Verdict::good, "on", ""};
    return {"ip_forward", Verdict::hint,
            "off: no matter for --local, nor for --forward as a bridge",
            "for --upstream, and --forward as a router: sysctl net.ipv4.ip_forward=1"};
}

std::vector<Check> check_host() {
    std::vector<Check> checks{check_kernel(), check_privileges()};
    if (checks.back().verdict == Verdict::good) {
        checks.push_back(check_types());
        checks.push_back(check_programs());
    }
    checks.push_back(check_btf());
    checks.push_back(check_jit());
    checks.push_back(check_bpffs());
    checks.push_back(check_forwarding());
    return checks;
}

// A page less XDP headroom, skb_shared_info and Ethernet header: what one buffer holds.
constexpr std::uint32_t one_buffer_mtu = 3498;

/// Drivers with native XDP, for kernels that don't tell: those of Linux 6.1.192 that have ndo_bpf, by the
/// names that ethtool -i shows.
constexpr std::array native_drivers{
    "atlantic", "bnxt_en",    "bonding",     "cpsw",      "cpsw-switch", "ena",       "fsl_dpa",
    "fsl_dpaa2_eth", "fsl_enetc", "hv_netvsc", "i40e",    "ice",         "igb",       "igc",
    "ixgbe",    "ixgbevf",    "mana",        "mlx4_en",   "mlx5_core",   "mtk_soc_eth", "mvneta",
    "mvpp2",    "nfp",        "qede",        "rvu_nicpf", "sfc",         "st_gmac",   "tun",
    "veth",     "vif",        "virtio_net"};

Check check_native(const Device &device, const Driver &driver,
                   const std::optional<XdpFeatures> &features) {
    const auto fallback = fmt::format("olaf attach {} takes skb mode, which is slower", device.name);
    if (const auto ours = find_attachment(device.name); ours && ours->alive && !ours->on_card())
        return {"native XDP", Verdict::good,
                fmt::format("the queue is in {} mode", mode_name(ours->record)), ""};
    if (features && features->basic)
        return {"native XDP", Verdict::good, "the driver has it", ""};
    if (features)
        return {"native XDP", Verdict::hint, "the driver has none", fallback};
    if (std::ranges::find(native_drivers, driver.name) != native_drivers.end())
        return {"native XDP", Verdict::good,
                "the driver is known for it (this kernel doesn't tell)", ""};
    return {"native XDP", Verdict::hint, "not known of this driver, and this kernel doesn't tell",
            fmt::format("olaf attach {} tries; else it takes skb mode, which is slower", device.name)};
}

void check_restart(const Driver &driver, std::vector<Check> &checks) {
    if (restarts_for_xdp(driver))
        checks.push_back({"restart", Verdict::hint,
                          "the driver restarts its rings as a program comes and goes: frames are lost "
                          "meanwhile, and the link may go down for seconds",
                          "attach and detach when that may be"});
}

/// For native XDP most drivers want a send queue for each CPU.
void check_channels(const Device &device, std::vector<Check> &checks) {
    const auto most = most_send_queues(device.name);
    const auto cpus = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    if (most != 0 && most < cpus)
        checks.push_back({"send queues", Verdict::hint,
                          fmt::format("{} at most, and there are {} CPUs: in native mode CPUs share them, or "
                                      "the driver refuses what some redirect",
                                      most, cpus),
                          ""});
}

Check check_mtu(const Device &device, const std::optional<XdpFeatures> &features) {
    const auto mtu = fmt::format("{}", device.mtu);
    if (features && !features->basic)
        return {"MTU", Verdict::good, mtu + ": skb mode takes frames of any size", ""};
    if (device.mtu <= one_buffer_mtu)
        return {"MTU", Verdict::good, mtu + ": one buffer a frame", ""};
    if (features && features->frags)
        return {"MTU", Verdict::good, mtu + ": the driver takes frames of several buffers", ""};
    const auto remedy = fmt::format("ip link set {} mtu {}; else olaf attach takes skb mode, which is slower",
                                    device.name, one_buffer_mtu);
    if (features)
        return {"MTU", Verdict::hint, mtu + ": the driver's native XDP takes one buffer only", remedy};
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
    if (device.kind == "veth")
        return {subject, Verdict::hint,
                "takes no redirected frames: --forward and --upstream by it are in skb mode",
                "give its peer an XDP program or GRO: ethtool -K PEER gro on"};
    if (features->basic)
        return {subject, Verdict::good,
                "may take redirected frames once it has an XDP program: attach tries", ""};
    return {subject, Verdict::hint,
            "takes no redirected frames: with --forward and --upstream the drain sends what departs",
            ""};
}

Check check_occupied(const Device &device) {
    const auto other = foreign_xdp(device.ifindex);
    if (other.empty())
        return {"XDP hook", Verdict::good, "free", ""};
    if (const auto ours = find_attachment(device.name); ours && ours->alive)
        return {"XDP hook", Verdict::good, "a queue of olaf's is attached", ""};
    return {"XDP hook", Verdict::bad, "taken: " + other, xdp_removal(device)};
}

/// The kernel or the driver switches off what merges frames, once there is a program.
void check_merging(const Device &device, std::vector<Check> &checks) {
    const auto merging = merging_of(device.name);
    if (merging.on == 0)
        return;
    const auto text = merging_text(merging.on) + " on";
    if (const auto ours = find_attachment(device.name); ours && ours->alive)
        checks.push_back({"offloads", Verdict::bad, text + ": the card merges updates, and they pass the queue by",
                          fmt::format("ethtool -K {0} lro off; ethtool -K {0} rx-gro-hw off", device.name)});
    else if ((merging.on & merging.fixed) != 0)
        checks.push_back({"offloads", Verdict::hint,
                          text + ", and can't be switched off: in skb mode the kernel warns of that, and "
                                 "panics where kernel.panic_on_warn is set",
                          ""});
    else
        checks.push_back(
            {"offloads", Verdict::good, text + ": off while a queue is there, on again after olaf detach", ""});
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

Check check_of(const Finding &finding, const std::string &line) {
    const auto verdict = finding.health == Health::blocked    ? Verdict::bad
                         : finding.health == Health::impaired ? Verdict::hint
                                                              : Verdict::good;
    return {"queue", verdict, line, finding.remedy};
}

/// A running queue has every program of the table on its hook.
void check_programs(const Device &device, std::vector<Check> &checks) {
    const auto ours = find_attachment(device.name);
    if (!ours || !ours->alive || ours->on_card() || !require_privileges("", ""))
        return;
    const auto missing = missing_programs(*ours);
    if (missing.empty())
        checks.push_back({"programs", Verdict::good, "the queue's are all on their hooks", ""});
    else
        checks.push_back({"programs", Verdict::hint,
                          fmt::format("not on their hooks: {}", fmt::join(missing, ", ")),
                          fmt::format("olaf attach {} --replace", device.name)});
}

/// A running queue's programs know this host's addresses as they were when they were last told.
void check_own(const Device &device, std::vector<Check> &checks) {
    const auto ours = find_attachment(device.name);
    if (!ours || !ours->alive || ours->on_card())
        return;
    const auto difference = own_difference(*ours);
    if (!difference) {
        checks.push_back({"own addresses", Verdict::hint, difference.error().message(), ""});
        return;
    }
    const auto notes = own_notes(*difference, device.name);
    if (notes.empty())
        checks.push_back({"own addresses", Verdict::good, "the queue knows them all", ""});
    for (const auto &note : notes)
        checks.push_back({"own addresses", Verdict::hint, note.substr(0, note.find(": ")),
                          fmt::format("olaf attach {} --replace", device.name)});
}

/// A running queue refuses what its output's MTU didn't carry when it was attached.
void check_output_mtu(const Device &device, std::vector<Check> &checks) {
    const auto ours = find_attachment(device.name);
    if (!ours || !ours->alive || ours->record.config.egress_mtu == 0)
        return;
    const auto out = find_device(ours->record.config.egress_ifindex);
    const auto told = ours->record.config.egress_mtu;
    if (!out)
        checks.push_back({"output", Verdict::bad, "the device that departures leave by has gone",
                          fmt::format("bring it back, or olaf detach {} --force", device.name)});
    else if (out->mtu != told)
        checks.push_back({"output's MTU", Verdict::hint,
                          fmt::format("{} of {} is not the {} that the queue keeps to", out->mtu,
                                      out->name, told),
                          fmt::format("olaf attach {} --replace", device.name)});
}

/// A running queue keeps the room that it was made with.
void check_room(const Device &device, std::vector<Check> &checks) {
    const auto ours = find_attachment(device.name);
    if (!ours || !ours->alive)
        return;
    const auto &config = ours->record.config;
    const auto out = find_device(config.egress_ifindex);
    const auto note =
        outgrown_note(config, device, config.egress_mtu != 0 && out ? &*out : nullptr);
    if (const auto remedy = note.find(": "); remedy != std::string::npos)
        checks.push_back({"room", Verdict::hint, note.substr(0, remedy), note.substr(remedy + 2)});
}

/// Its programs, and what they were told of this host.
void check_queue(const Device &device, std::vector<Check> &checks) {
    check_programs(device, checks);
    check_own(device, checks);
    check_output_mtu(device, checks);
    check_room(device, checks);
}

/// With the device that departures are to leave by, if it is known.
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
    check_restart(driver, checks);
    checks.push_back(check_occupied(device));
    check_queue(device, checks);
    checks.push_back(check_mtu(device, features));
    if (!output || output->ifindex == device.ifindex)
        checks.push_back(check_target(device, features, "redirect target"));
    checks.push_back({"receive queues", Verdict::good,
                      queues != 0 ? fmt::format("{}", queues) : "not told by the driver", ""});
    check_channels(device, checks);
    checks.push_back(check_speed(device, "link speed"));
    check_merging(device, checks);
    checks.push_back(check_tags(device, features, offloads));
    if (device.master != 0)
        checks.push_back({"master", Verdict::hint, "it is a port of a bridge or bond",
                          "frames that the queue takes don't reach that"});
    return checks;
}

/// That device.
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
        checks.push_back(
            {"output", Verdict::hint, carries + ", no carrier",
             fmt::format("look at the cable of {}, and at its other end", output.name)});
    else
        checks.push_back({"output", Verdict::good, carries + ", up", ""});
    if (is_blind_bond(output))
        checks.push_back({"output's ports", Verdict::hint,
                          fmt::format("{} doesn't watch their carrier: what leaves by one that fails is lost, "
                                      "and no counter has it",
                                      output.name),
                          fmt::format("ip link set {} type bond miimon 100", output.name)});
    checks.push_back(check_target(output, xdp_features(output.ifindex), "output's XDP"));
    checks.push_back(check_speed(output, "output's speed"));
    return checks;
}

/// What is forwarded passes netfilter by: of the queue that is there, or of one to that output.
void check_netfilter(const Device &device, const Device &output, std::vector<Check> &checks) {
    const auto ours = find_attachment(device.name);
    if (ours && ours->record.config.deliver != OLAF_DELIVER_FORWARD)
        return;
    const bool bridges = ours ? (ours->record.config.flags & OLAF_CONFIG_BRIDGE) != 0
                              : device.master != 0 && device.master == output.master;
    const auto chains = chains_passed_by(device.name, output.name, bridges);
    const auto note = chains ? netfilter_note(*chains) : chains.error().message();
    if (note.empty())
        checks.push_back({"netfilter", Verdict::good, "no rules for what this host forwards", ""});
    else
        checks.push_back({"netfilter", Verdict::hint, (ours ? "" : "with --forward: ") + note,
                          "where they are needed put the queue elsewhere: docs/networks.md; who may "
                          "send: --allow"});
}

/// A queue that is on a device: its verdict, as `olaf status` has it; none without a queue.
std::vector<Check> check_verdict(const std::string &device) {
    std::vector<Check> checks;
    const auto ours = find_attachment(device);
    if (!ours || !ours->record.complete)
        return checks;
    const auto found = status(device);
    if (!found)
        return {{"queue", Verdict::hint, found.error().message(), ""}};
    const auto verdict = found->verdict();
    checks.push_back(check_of(verdict.first, verdict_line(verdict.first)));
    for (const auto &finding : verdict.besides)
        checks.push_back(check_of(finding, also_line(finding)));
    return checks;
}

/// The device by which its departures leave; nothing: it has none.
std::optional<Device> output_of_queue(const std::string &device) {
    const auto ours = find_attachment(device);
    if (!ours || !ours->record.complete || ours->record.config.deliver == OLAF_DELIVER_LOCAL)
        return {};
    auto output = find_device(ours->record.config.egress_ifindex);
    return output ? std::optional(std::move(*output)) : std::nullopt;
}

/// The features that it has, in words of docs/registers.md.
std::string features_of(const CardCapabilities &can) {
    std::string text;
#define FEATURE(NAME, ...)                                                                         \
    if (can.has(OLAF_CARD_FEATURE_##NAME))                                                         \
        text += (text.empty() ? "" : ", ") + std::string(#NAME);
    OLAF_CARD_FEATURE_LIST(FEATURE)
#undef FEATURE
    return text.empty() ? "none" : text;
}

Check obstacle_of(const Error &error) {
    const auto reason = reason_of(error);
    return {"card", Verdict::hint,
            fmt::format("{}: {}", error.object, reason.empty() ? error.message() : reason),
            error.hint};
}

Check check_registers(const std::string &path) {
    const auto card = Card::open(path);
    if (!card)
        return obstacle_of(card.error());
    const auto &can = card->capabilities();
    return {"card", Verdict::good,
            fmt::format("{}: {} places, {} clusters, {} slots, {} lanes; {}", path, can.places,
                        can.clusters, can.slots, can.lanes, features_of(can)),
            ""};
}

/// XDP programs that the device itself would run (XDP_FLAGS_HW_MODE). The kernel lets such a program have
/// only maps of that device, which are arrays and hashes, and no tail calls; the queue's has
/// per-CPU maps, a table of programs, and helpers that only the host has.
Check check_offload(const std::string &driver) {
    constexpr auto why = "an offloaded program has only arrays and hashes of its device, and no tail "
                         "calls, bpf_loop, bpf_redirect or bpf_fib_lookup, and the queue needs them";
    if (driver == "nfp" || driver == "netdevsim")
        return {"XDP offload", Verdict::good,
                fmt::format("{} has it, and the queue can't go there: {}", driver, why), ""};
    return {"XDP offload", Verdict::good,
            "the driver has none (nfp and netdevsim do), nor could the queue use it", ""};
}

/// Whether the queue could be in a card that the device belongs to, and in the device itself as an
/// XDP program that is offloaded. `file`: of the card's registers; "": to be found.
std::vector<Check> check_card(const Device &device, const std::string &file) {
    std::vector<Check> checks;
    const auto path = find_card(device, file);
    if (path)
        checks.push_back(check_registers(*path));
    else if (path.error().code == ENXIO)
        checks.push_back({"card", Verdict::good,
                          fmt::format("none: {}; the kernel's queue needs none",
                                      path.error().reason),
                          ""});
    else
        checks.push_back(obstacle_of(path.error()));
    if (path && path->starts_with("/sys/") && is_locked_down())
        checks.push_back({"lockdown", Verdict::hint,
                          "the kernel is locked down: nobody may map a card's registers",
                          mapping_remedy(EPERM)});
    checks.push_back(check_offload(driver_of(device.name).name));
    return checks;
}

} // namespace

bool fit_to_attach(const std::vector<Check> &checks) {
    return std::ranges::none_of(checks,
                                [](const Check &check) { return check.verdict == Verdict::bad; });
}

Result<std::vector<Check>> doctor(const DoctorOptions &options) {
    if (options.device.empty())
        return check_host();
    const auto device = OLAF_TRY(find_device(options.device));
    auto output = output_of_queue(options.device);
    if (!options.output.empty()) {
        output = OLAF_TRY(find_device(options.output));
    }
    auto checks = check_verdict(options.device);
    std::ranges::move(check_host(), std::back_inserter(checks));
    std::ranges::move(check_device(device, output), std::back_inserter(checks));
    auto card = options.card;
    if (const auto attached = find_attachment(options.device); card.empty() && attached)
        card = attached->card.value_or("");
    std::ranges::move(check_card(device, card), std::back_inserter(checks));
    if (output)
        check_netfilter(device, *output, checks);
    if (output && output->ifindex != device.ifindex)
        std::ranges::move(check_output(*output), std::back_inserter(checks));
    return checks;
}

} // namespace olaf
