// SPDX-License-Identifier: BSD-2-Clause
#include "attach_line.hpp"

#include <CLI/CLI.hpp>

#include "cli_options.hpp"
#include "loader/attachment/options.hpp"
#include "olaf/rounds.h"

namespace olaf {

namespace {

Result<XdpMode> parse_mode(const std::string &text) {
    if (text == "auto")
        return XdpMode::automatic;
    if (text == "native")
        return XdpMode::native;
    if (text == "skb")
        return XdpMode::skb;
    return fail("find mode", "'" + text + "'", 0, "it is one of auto, native, skb");
}

Result<Hardware> parse_hardware(const std::string &text) {
    if (text == "auto")
        return Hardware::automatic;
    if (text == "require")
        return Hardware::require;
    if (text == "off")
        return Hardware::off;
    return fail("find", "'" + text + "'", 0, "it is one of require, auto, off");
}

/// A card in place of the kernel.
void add_hardware(CLI::App &app, AttachOptions &options) {
    parsed(app, "--hw", options.hardware, parse_hardware,
           "put the queue into DEV's card: or fail, or where that can be, or don't look [auto]",
           "require|auto|off");
    app.add_option("--card", options.card,
                   "file of the card's registers [the BAR of DEV's PCI function]")
        ->type_name("FILE");
}

void add_delivery(CLI::App &app, AttachOptions &options) {
    auto &where = *app.add_option_group("Delivery", "Where a departing update goes is one of:");
    where.add_flag("--local", options.local,
                   "up this host's own stack, to a parameter server here");
    where.add_option("--forward", options.forward, "out of DEV2, addresses untouched")
        ->type_name("DEV2");
    parsed(
        where, "--upstream", options.upstream,
        [](const std::string &text) { return parse_endpoint(text); },
        "to this server, from this host's own address; port 6523 unless given", "ADDR[:PORT]");
    where.require_option(0, 1);
    app.add_flag_function(
        "--bridge,!--no-bridge", [&options](std::int64_t given) { options.bridge = given > 0; },
        "with --forward: take frames to other hosts' MAC addresses too "
        "[where DEV is a port of a bridge, or has no address and no master]");
    app.add_flag_function(
        "--output-program,!--no-output-program",
        [&options](std::int64_t given) { options.output_program = given > 0; },
        "put an XDP program that passes every frame on the device that departures leave by, where its "
        "driver takes redirected frames only then [on]");
}

/// How many wait, when they leave, and what folds.
void add_queueing(CLI::App &app, AttachOptions &options) {
    parsed(app, "--port", options.port, count_parser(1, 65535), "UDP port of updates [6523]",
           "PORT");
    parsed(app, "--queue", options.queue, count_or("auto", 1, OLAF_MAX_PLACES / 2),
           "Qmax: updates that may wait [auto: never lose one to a full queue]", "N|auto");
    parsed(
        app, "--rate", options.rate, [](const std::string &text) { return parse_rate(text); },
        "pace of departures, as 20gbit or 10kbit [line; with --local or --window unlimited]",
        "RATE|line|unlimited");
    parsed(
        app, "--window", options.window, [](const std::string &text) { return parse_window(text); },
        "departures that may be unacknowledged; auto finds the fewest that "
        "keep the server busy [off]",
        "N|auto|off");
    policy_option(app, options.policy, "what clusters do by default [olaf]");
    app.add_flag(
        "--fifo", options.fifo,
        "make room for clusters that are set to fifo later; with --policy fifo it is there");
}

/// How large it is, and how it runs.
void add_datapath(CLI::App &app, AttachOptions &options) {
    parsed(app, "--max-clusters", options.max_clusters, count_parser(1, OLAF_MAX_SLOTS),
           "cluster ids are 0 ... N-1 [1024]", "N");
    parsed(app, "--max-segments", options.max_segments, count_parser(1, 65535),
           "frames a model is cut into, at most [1]", "N");
    parsed(app, "--max-lanes", options.max_lanes, count_or("mtu", 1, OLAF_MAX_LANES),
           "8-byte lanes of an update, at most [mtu: what the devices' MTUs carry]", "N|mtu");
    parsed(app, "--round-slots", options.round_slots, count_parser(0, OLAF_MAX_ROUND_SLOTS),
           "slots for `olaf job set`: chunks that all jobs together may have under way [0]", "N");
    parsed(app, "--mode", options.mode, parse_mode,
           "native XDP, generic (skb), or the best that works [auto]", "auto|native|skb");
    parsed(
        app, "--drain-interval", options.drain_interval_ns,
        [](const std::string &text) { return parse_duration_between(text, 10'000, 1'000'000'000); },
        "period of the drain, which sends when nothing arrives [100us]", "TIME");
    parsed(
        app, "--activity-window", options.activity_window_ns,
        [](const std::string &text) {
            return parse_duration_between(text, 1'000'000, 3'600'000'000'000);
        },
        "a cluster counts as active this long after an update [1s]", "TIME");
}

/// Whose updates are taken.
void add_sources(CLI::App &app, AttachOptions &options) {
    app.add_option_function<std::vector<std::string>>(
           "--allow",
           [&options](const std::vector<std::string> &texts) {
               for (const auto &text : texts) {
                   const auto prefix = parse_prefix(text);
                   if (!prefix)
                       throw CLI::ValidationError("--allow", prefix.error().message());
                   options.allow.push_back(*prefix);
               }
           },
           "take updates only from these sources; repeatable [everybody]")
        ->type_name("CIDR")
        ->allow_extra_args(false);
    parsed(app, "--max-workers", options.max_workers, count_parser(1, 65536),
           "workers of a cluster that ACKs are copied to: ids are 0 ... N-1 [256]", "N");
    parsed(
        app, "--member-timeout", options.member_timeout_ns,
        [](const std::string &text) {
            return parse_duration_between(text, 100'000'000, 86'400'000'000'000);
        },
        "forget a worker after this long a silence [60s]", "TIME");
    app.add_flag_function(
        "--strict,!--no-strict", [&options](std::int64_t given) { options.strict = given > 0; },
        "take updates only from workers that `olaf cluster set --worker` registered");
    app.add_flag_function(
        "--verify,!--no-verify", [&options](std::int64_t given) { options.verify = given > 0; },
        "refuse updates with a wrong UDP checksum, and write a right one into what leaves [on]");
}

} // namespace

void add_attach(CLI::App &root, AttachOptions &options) {
    auto &app = *root.add_subcommand("attach", "Put the queue on a device; returns when it is live "
                                               "and needs no process afterwards");
    device_argument(app, options.device);
    add_delivery(app, options);
    add_queueing(app, options);
    add_datapath(app, options);
    add_hardware(app, options);
    add_sources(app, options);
    auto *dry_run = app.add_flag("--dry-run", options.dry_run,
                                 "say which programs, devices and qdiscs there would be and how "
                                 "much memory they take; change nothing");
    auto *replace = app.add_flag("--replace", options.replace,
                 "swap the programs of the running queue and keep its state; "
                 "what isn't given stays as it is");
    dry_run->excludes(replace);
    auto *or_replace = app.add_flag("--or-replace", options.or_replace,
                 "attach; where a queue is there already, do as --replace does with these options");
    or_replace->excludes(replace)->excludes(dry_run);
    auto *save = app.add_flag("--save", options.save,
                 "write what is attached to /etc/olaf/DEV.conf, for olaf@DEV.service to attach "
                 "after a reboot; alone: of the queue that is there");
    dry_run->excludes(save);
    app.callback([&options, &app] {
        if (saves_only(app))
            return;
        if (!options.replace && !options.local && options.forward.empty() && !options.upstream)
            throw CLI::ValidationError(
                "where updates go", "give one of --local, --forward DEV2, --upstream ADDR[:PORT]");
    });
}

} // namespace olaf
