// SPDX-License-Identifier: BSD-2-Clause
#include "cli.hpp"

#include <CLI/CLI.hpp>

#include <map>
#include <sstream>

#include "cli_options.hpp"
#include "loader/datapath/config.hpp"
#include "observers.hpp"
#include "traffic.hpp"

namespace olaf {
namespace {

constexpr auto usage_error = 2;

Result<olaf_policy> parse_policy(const std::string &text) {
    if (const auto policy = policy_by_name(text))
        return *policy;
    return fail("find policy", "'" + text + "'", 0, "it is one of olaf, fifo, aggregate, newest");
}

void add_attach(CLI::App &root, AttachOptions &options) {
    auto &app = *root.add_subcommand("attach", "Put the queue on a device; returns when it is live "
                                               "and needs no process afterwards");
    device_argument(app, options.device);
    auto &where = *app.add_option_group("Delivery", "Where a departing update goes, one of:");
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
        "with --forward: take frames to other hosts' MAC addresses too\n"
        "[where DEV is a port of a bridge, or has no address and no master]");
    parsed(app, "--port", options.port, count_parser(1, 65535), "UDP port of updates [6523]",
           "PORT");
    parsed(app, "--queue", options.queue, count_or("auto", 1, OLAF_MAX_PLACES / 2),
           "Qmax: updates that may wait [auto: never lose one to a full queue]", "N|auto");
    parsed(
        app, "--rate", options.rate, [](const std::string &text) { return parse_rate(text); },
        "pace of departures [line; with --local unlimited]", "20gbit|line|unlimited");
    parsed(
        app, "--window", options.window, [](const std::string &text) { return parse_window(text); },
        "departures that may be unacknowledged; auto finds the fewest that\n"
        "keep the server busy [off]. Without --rate, that is then unlimited",
        "N|auto|off");
    parsed(app, "--policy", options.policy, parse_policy, "what clusters do by default [olaf]",
           "olaf|fifo|aggregate|newest");
    app.add_flag("--fifo", options.fifo,
                 "make room for clusters that are set to fifo later; with --policy fifo it is there");
    parsed(app, "--max-clusters", options.max_clusters, count_parser(1, OLAF_MAX_SLOTS),
           "cluster ids are 0 ... N-1 [1024]", "N");
    parsed(app, "--max-segments", options.max_segments, count_parser(1, 65535),
           "frames a model is cut into, at most [1]", "N");
    parsed(app, "--max-lanes", options.max_lanes, count_or("mtu", 1, OLAF_MAX_LANES),
           "8-byte lanes of an update, at most [mtu: what the devices' MTUs carry]", "N|mtu");
    app.add_option("--mode", options.mode,
                   "native XDP, generic (skb), or the best that works "
                   "[auto]")
        ->transform(CLI::Transformer(std::map<std::string, XdpMode>{{"auto", XdpMode::automatic},
                                                                    {"native", XdpMode::native},
                                                                    {"skb", XdpMode::skb}})
                        .description(""))
        ->type_name("auto|native|skb");
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
        "--strict,!--no-strict",
        [&options](std::int64_t given) { options.strict = given > 0; },
        "take updates only from workers that `olaf cluster set --worker` registered");
    app.add_flag_function(
        "--verify,!--no-verify",
        [&options](std::int64_t given) { options.verify = given > 0; },
        "refuse every update with a wrong UDP checksum, not only those that have\n"
        "no checksum lane");
    app.add_flag("--replace", options.replace,
                 "swap the programs of the running queue and keep its state;\n"
                 "what isn't given stays as it is");
    app.add_flag("--save", options.save,
                 "write what is attached to /etc/olaf/DEV.conf, for olaf@DEV.service to attach\n"
                 "after a reboot; alone: of the queue that is there");
    app.callback([&options, &app] {
        if (saves_only(app))
            return;
        if (!options.replace && !options.local && options.forward.empty() && !options.upstream)
            throw CLI::RequiredError("one of --local, --forward DEV2, --upstream ADDR");
    });
}

void add_detach(CLI::App &root, DetachOptions &options) {
    auto &app = *root.add_subcommand("detach", "Send what still waits, then remove every trace");
    device_argument(app, options.device);
    app.add_flag("--force", options.force,
                 "detach even if updates wait that can't leave: they are lost");
}

void add_status(CLI::App &root, StatusOptions &options) {
    auto &app = *root.add_subcommand("status", "What is attached, how, and its counters");
    device_argument(app, options.device, false);
    app.add_flag("--clusters", options.clusters, "counters of each cluster as well");
}

void range_argument(CLI::App &app, ClusterOptions &options, bool required) {
    parsed(
        app, "clusters", options.clusters,
        [](const std::string &text) { return parse_range(text); }, "cluster, or a range of them",
        "ID|FIRST-LAST")
        ->required(required);
}

void add_cluster(CLI::App &root, ClusterOptions &options) {
    auto &app = *root.add_subcommand("cluster", "Rules and workers by cluster");
    app.require_subcommand(1);
    auto &set = *app.add_subcommand("set", "Change what is given, keep the rest");
    device_argument(set, options.device);
    range_argument(set, options, true);
    auto &rules = *set.add_option_group("Rules");
    parsed(rules, "--policy", options.policy, parse_policy, "how updates are merged",
           "olaf|fifo|aggregate|newest");
    parsed(
        rules, "--reward-threshold", options.reward_threshold,
        [](const std::string &text) { return parse_reward(text); },
        "merge only rewards that differ by this at most", "X|off");
    parsed(rules, "--max-count", options.max_count, count_parser(1, OLAF_LIMIT_MAX_COUNT),
           "never fold more updates than this into one", "N");
    rules
        .add_option_function<std::vector<std::string>>(
            "--worker",
            [&options](const std::vector<std::string> &texts) {
                for (const auto &text : texts) {
                    const auto worker = parse_worker(text);
                    if (!worker)
                        throw CLI::ValidationError("--worker", worker.error().message());
                    options.workers.push_back(*worker);
                }
            },
            "register a worker and bind it to its address; repeatable")
        ->type_name("ID=ADDR[:PORT]")
        ->allow_extra_args(false);
    rules.require_option(1, 0);
    auto &remove = *app.add_subcommand("remove", "Back to the defaults; forgets the workers");
    device_argument(remove, options.device);
    range_argument(remove, options, true);
    auto &list = *app.add_subcommand("list", "Show rules and workers; all but clusters that have neither");
    device_argument(list, options.device);
    range_argument(list, options, false);
    set.callback([&options] { options.action = ClusterOptions::Action::set; });
    remove.callback([&options] { options.action = ClusterOptions::Action::remove; });
    list.callback([&options] { options.action = ClusterOptions::Action::list; });
}

void add_doctor(CLI::App &root, DoctorOptions &options) {
    auto &app = *root.add_subcommand("doctor", "What this kernel and NIC can do, and the remedy "
                                               "for what they can't");
    device_argument(app, options.device, false);
}

void add_meter(CLI::App &root, MeterOptions &options) {
    auto &app = *root.add_subcommand("meter", "Age-of-Model of passing updates, whatever queue "
                                              "they came through; changes nothing");
    const auto duration = [](const std::string &text) {
        return parse_duration_between(text, 1'000'000, 86'400'000'000'000);
    };
    device_argument(app, options.device);
    app.add_flag("--sent", options.sent, "updates that the device sends [that it receives]");
    parsed(app, "--for", options.for_ns, duration,
           "measure so long, then print once [until interrupted]", "TIME");
    parsed(app, "--interval", options.interval_ns, duration, "print this often without --for [1s]",
           "TIME");
    parsed(app, "--port", options.port, count_parser(1, 65535), "UDP port of updates [6523]",
           "PORT");
    parsed(app, "--max-clusters", options.max_clusters, count_parser(1, OLAF_MAX_SLOTS),
           "measure clusters 0 ... N-1 [1024]", "N");
    parsed(app, "--max-segments", options.max_segments, count_parser(1, 65535),
           "frames a model is cut into, at most [1]", "N");
}

} // namespace

void define_command_line(CLI::App &app, CommandOptions &into) {
    app.name("olaf");
    app.description("Folds model updates of asynchronous distributed RL in the kernel, at a NIC.");
    app.add_option("--netns", into.global.netns, "work in this network namespace of ip netns")
        ->type_name("NAME");
    app.add_flag("--json", into.global.json, "results as JSON");
    app.add_flag("-v,--verbose", into.global.verbose, "progress, and the log of libbpf");
    app.set_version_flag("--version", "olaf " OLAF_PROJECT_VERSION);
    app.require_subcommand(1);
    app.fallthrough();
    app.get_formatter()->column_width(34);
    app.footer("\nolaf COMMAND --help tells more. A first one:\n"
               "  olaf doctor eth0\n"
               "  olaf attach eth0 --local --rate 1gbit\n"
               "  olaf status eth0");
    add_attach(app, into.attach);
    add_detach(app, into.detach);
    add_status(app, into.status);
    add_cluster(app, into.cluster);
    add_observers(app, into);
    add_doctor(app, into.doctor);
    add_meter(app, into.meter);
    add_traffic(app, into);
}

std::variant<CommandLine, Farewell> parse_command_line(int argc, const char *const *argv) {
    CLI::App app;
    CommandOptions options;
    define_command_line(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        std::ostringstream out, err;
        if (app.exit(error, out, err) == 0)
            return Farewell{0, out.str()};
        // CLI11 says only that a command is missing when it doesn't know the one given.
        const auto unknown =
            app.get_subcommands().empty() ? app.remaining() : std::vector<std::string>{};
        if (!unknown.empty())
            return Farewell{
                usage_error,
                "There is no " +
                    std::string(unknown.front().starts_with('-') ? "option '" : "command '") +
                    unknown.front() + "'\nRun with --help for more information.\n"};
        return Farewell{usage_error, err.str()};
    }
    CommandLine line{.global = std::move(options.global), .command = {}};
    if (app.got_subcommand("attach"))
        line.command = std::move(options.attach);
    else if (app.got_subcommand("detach"))
        line.command = std::move(options.detach);
    else if (app.got_subcommand("status"))
        line.command = std::move(options.status);
    else if (app.got_subcommand("cluster"))
        line.command = std::move(options.cluster);
    else if (app.got_subcommand("trace"))
        line.command = std::move(options.trace);
    else if (app.got_subcommand("top"))
        line.command = std::move(options.top);
    else if (app.got_subcommand("report"))
        line.command = std::move(options.report);
    else if (app.got_subcommand("serve"))
        line.command = std::move(options.serve);
    else if (app.got_subcommand("send"))
        line.command = std::move(options.send);
    else if (app.got_subcommand("receive"))
        line.command = std::move(options.receive);
    else if (app.got_subcommand("meter"))
        line.command = std::move(options.meter);
    else
        line.command = std::move(options.doctor);
    return line;
}

} // namespace olaf
