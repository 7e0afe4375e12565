// SPDX-License-Identifier: BSD-2-Clause
#include "cli.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sstream>

#include "attach_line.hpp"
#include "cli_options.hpp"
#include "fleet.hpp"
#include "help.hpp"
#include "job_line.hpp"
#include "observers.hpp"
#include "traffic.hpp"

namespace olaf {
namespace {

constexpr auto usage_error_status = 2;

void add_detach(CLI::App &root, DetachOptions &options) {
    auto &app = *root.add_subcommand("detach", "Send what still waits, then remove every trace");
    device_argument(app, options.device);
    app.add_flag("--force", options.force,
                 "detach even if updates wait that can't leave: they are lost");
}

void add_reset(CLI::App &root, ResetOptions &options) {
    auto &app = *root.add_subcommand("reset", "Start all figures anew, without losing an update");
    device_argument(app, options.device);
}

void add_status(CLI::App &root, StatusOptions &options) {
    auto &app = *root.add_subcommand("status", "Show what is attached, how, and its counters");
    device_argument(app, options.device, false);
    app.add_flag("--clusters", options.clusters, "counters and Age-of-Model of each cluster as well");
    auto *interval = parsed(
        app, "--interval", options.interval_ns,
        [](const std::string &text) {
            return parse_duration_between(text, 100'000'000, 3'600'000'000'000);
        },
        "a line of rates this often, until interrupted; needs DEV", "TIME");
    parsed(app, "--count", options.count, count_parser(1, 1'000'000'000),
           "end after so many lines", "N")
        ->needs(interval);
    app.add_flag("--all", options.all,
                 "queues of every network namespace: those of ip netns and of processes")
        ->excludes(interval)
        ->excludes(app.get_option("device"));
    app.callback([&options] {
        if (options.interval_ns && options.device.empty())
            throw CLI::ValidationError("--interval", "of which queue? give DEV");
    });
}

void range_argument(CLI::App &app, ClusterOptions &options, bool required) {
    parsed(
        app, "clusters", options.clusters,
        [](const std::string &text) { return parse_range(text); }, "cluster, or a range of them",
        "ID|FIRST-LAST")
        ->required(required);
}

void add_cluster(CLI::App &root, ClusterOptions &options, RestoreOptions &again) {
    auto &app = *root.add_subcommand("cluster", "Set and show rules and workers by cluster");
    app.require_subcommand(1);
    auto &set = *app.add_subcommand("set", "Change what is given, keep the rest");
    device_argument(set, options.device);
    range_argument(set, options, true);
    auto &rules = *set.add_option_group("RULE", "A RULE is any of:");
    policy_option(rules, options.policy, "how updates are merged");
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
    auto &restore = *app.add_subcommand("restore", "Set what /etc/olaf/DEV.conf has of rules and "
                                                   "workers, as attach --save wrote it");
    device_argument(restore, again.device);
    set.callback([&options] { options.action = ClusterOptions::Action::set; });
    remove.callback([&options] { options.action = ClusterOptions::Action::remove; });
    list.callback([&options] { options.action = ClusterOptions::Action::list; });
}

void add_doctor(CLI::App &root, DoctorOptions &options) {
    auto &app =
        *root.add_subcommand("doctor", "Tell what this kernel and NIC can do, and the remedy "
                                       "for what they can't");
    device_argument(app, options.device, false);
    app.add_option("output", options.output,
                   "device that departures leave by [that of the queue on DEV]")
        ->type_name("DEV2");
    app.add_option("--card", options.card,
                   "file of a card's registers [the BAR of DEV's PCI function]")
        ->type_name("FILE");
}

void add_help(CLI::App &root, CommandOptions &into) {
    std::string names;
    for (const auto *child : root.get_subcommands([](const CLI::App *) { return true; }))
        names += (names.empty() ? "" : "|") + child->get_name();
    auto &app = *root.add_subcommand("help", "Tell what a command is for, and its options");
    app.add_option("command", into.help, "which one; none: all of them in a line each")
        ->type_name(names)
        ->option_text("COMMAND");
}

void add_meter(CLI::App &root, MeterOptions &options) {
    auto &app =
        *root.add_subcommand("meter", "Measure the Age-of-Model of passing updates, whatever queue "
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
    // A package asks for the layout before it takes another's place.
    app.set_version_flag("-V,--version",
                         fmt::format("olaf {}, layout {}", OLAF_PROJECT_VERSION, OLAF_LAYOUT),
                         "say which olaf this is, and which layout its maps have");
    app.set_help_flag("-h,--help", "say this");
    app.require_subcommand(1);
    app.fallthrough();
    app.formatter(help_formatter());
    app.footer("olaf COMMAND --help or man olaf-COMMAND tell more; olaf --help has the options of "
               "every command.");
    add_attach(app, into.attach);
    add_detach(app, into.detach);
    add_reset(app, into.reset);
    add_status(app, into.status);
    add_cluster(app, into.cluster, into.restore);
    add_job(app, into.job);
    add_observers(app, into);
    add_doctor(app, into.doctor);
    add_meter(app, into.meter);
    add_traffic(app, into);
    add_fleet(app, into);
    add_help(app, into);
    for (auto *child : app.get_subcommands([](const CLI::App *) { return true; }))
        child->group("Commands");
}

namespace {

/// What `olaf help WORD...` says.
Farewell help_about(const CLI::App &root, const std::vector<std::string> &words) {
    const CLI::App *app = &root;
    for (const auto &word : words) {
        const auto found = app->get_subcommands(
            [&](const CLI::App *child) { return child->get_name() == word && !word.empty(); });
        if (found.empty())
            return {usage_error_status,
                    "olaf: there is no command '" + word + "'; olaf --help lists them\n"};
        app = found.front();
    }
    return {0, root.get_formatter()->make_help(app, "", CLI::AppFormatMode::Normal)};
}

} // namespace

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
        return Farewell{usage_error_status, "olaf: " + usage_error(app, error) + "\n"};
    }
    if (app.got_subcommand("help"))
        return help_about(app, options.help);
    CommandLine line{.global = std::move(options.global), .command = {}};
    if (app.got_subcommand("attach"))
        line.command = std::move(options.attach);
    else if (app.got_subcommand("detach"))
        line.command = std::move(options.detach);
    else if (app.got_subcommand("reset"))
        line.command = std::move(options.reset);
    else if (app.got_subcommand("status"))
        line.command = std::move(options.status);
    else if (app.got_subcommand("cluster") && !options.restore.device.empty())
        line.command = std::move(options.restore);
    else if (app.got_subcommand("cluster"))
        line.command = std::move(options.cluster);
    else if (app.got_subcommand("job"))
        line.command = std::move(options.job);
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
    else if (app.got_subcommand("plan"))
        line.command = std::move(options.plan);
    else if (app.got_subcommand("admit"))
        line.command = std::move(options.admit);
    else if (app.got_subcommand("meter"))
        line.command = std::move(options.meter);
    else
        line.command = std::move(options.doctor);
    return line;
}

} // namespace olaf
