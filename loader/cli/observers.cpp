// SPDX-License-Identifier: BSD-2-Clause
#include "observers.hpp"

#include <algorithm>

#include "cli.hpp"
#include "cli_options.hpp"
#include "help.hpp"
#include "loader/observe/rows.hpp"
#include "loader/observe/top.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t one_second = 1'000'000'000;

/// One option, given any number of times, each text read by `parser`.
template <class Parser, class Into>
CLI::Option *repeated(CLI::App &app, const std::string &name, std::vector<Into> &into,
                      const Parser &parser, const std::string &help, const std::string &type) {
    return app
        .add_option_function<std::vector<std::string>>(
            name,
            [&into, parser, name](const std::vector<std::string> &texts) {
                for (const auto &text : texts) {
                    auto value = parser(text);
                    if (!value)
                        throw CLI::ValidationError(name, value.error().message());
                    into.push_back(std::move(*value));
                }
            },
            help)
        ->type_name(type)
        ->allow_extra_args(false);
}

auto duration_parser(std::uint64_t least, std::uint64_t most) {
    return [=](const std::string &text) { return parse_duration_between(text, least, most); };
}

Result<std::string> parse_action(const std::string &text) {
    const auto &names = event_names();
    if (std::ranges::find(names, text) != names.end())
        return text;
    return fail("find action", "'" + text + "'", 0, "it is one of " + joined(names, ", "));
}

Result<std::string> parse_column(const std::string &text) {
    const auto keys = column_keys();
    if (std::ranges::find(keys, text) != keys.end())
        return text;
    return fail("find column", "'" + text + "'", 0, "it is one of " + joined(keys, ", "));
}

Result<AgeClock> parse_clock(const std::string &text) {
    if (text == "generated")
        return AgeClock::generated;
    if (text == "arrival")
        return AgeClock::arrival;
    return fail("find clock", "'" + text + "'", 0, "it is generated or arrival");
}

void add_trace(CLI::App &root, TraceOptions &options) {
    auto &app = *root.add_subcommand("trace", "Tell every event in a line, until interrupted");
    device_argument(app, options.device);
    repeated(
        app, "--cluster", options.filter.clusters,
        [](const std::string &text) { return parse_range(text); },
        "only these clusters; repeatable", "ID|FIRST-LAST");
    repeated(app, "--worker", options.filter.workers, count_parser(0, 0xffffffff),
             "only these workers; repeatable", "N");
    repeated(app, "--action", options.filter.actions, parse_action,
             "only what happened like this, repeatable: " + joined(event_names(), ", "),
             joined(event_names(), "|"))
        ->option_text("ACTION");
    parsed(app, "--min-age", options.filter.min_age_ns, duration_parser(0, 3600 * one_second),
           "only updates of at least this age, since they were generated", "TIME");
    parsed(app, "--sample", options.sample, count_parser(1, 1'000'000'000),
           "one event of every N [1]", "N");
    app.add_option("--pcap", options.pcap,
                   "write packets with their reasons to a pcapng file instead of lines; - is "
                   "standard output")
        ->type_name("FILE");
    parsed(app, "--for", options.for_ns, duration_parser(1'000'000, 86'400 * one_second),
           "end after this long", "TIME");
}

void add_top(CLI::App &root, TopOptions &options) {
    auto &app = *root.add_subcommand("top", "Show a live table of clusters, in the terminal");
    device_argument(app, options.device);
    parsed(app, "--interval", options.interval_ns, duration_parser(one_second / 10, 60 * one_second),
           "between two looks [1s]", "TIME");
    parsed(app, "--sort", options.sort, parse_column, "column to sort by [aom]",
           joined(column_keys(), "|"))
        ->option_text("COLUMN");
}

void add_report(CLI::App &root, ReportOptions &options) {
    auto &app = *root.add_subcommand(
        "report", "Record for a while, then write a page with pictures and the data behind them");
    device_argument(app, options.device);
    parsed(app, "--for", options.for_ns, duration_parser(one_second / 10, 3600 * one_second),
           "record this long [30s]", "TIME");
    parsed(app, "--clock", options.clock, parse_clock,
           "whose ages the pictures show: since updates were generated, or arrived here "
           "[generated]",
           "generated|arrival");
    app.add_option("-o,--output", options.directory, "directory to write to; made if need be")
        ->type_name("DIR")
        ->required();
}

void add_serve(CLI::App &root, ServeOptions &options) {
    auto &app =
        *root.add_subcommand("serve", "Serve Prometheus metrics and a live page, over HTTP");
    app.add_option("device", options.devices, "Network devices [every one that has a queue]")
        ->type_name("DEV");
    app.add_option("--bind", options.bind,
                   "address to listen on; nothing is encrypted or asks for a password [127.0.0.1]")
        ->type_name("ADDR");
    parsed(app, "--port", options.port, count_parser(0, 65535),
           "TCP port; 0: one that is free, which is then printed [9435]", "PORT");
    app.add_flag("--wait", options.wait,
                 "wait until each DEV has a queue, or without DEV until there is one");
    parsed(app, "--top-clusters", options.top_clusters, count_parser(0, OLAF_MAX_SLOTS),
           "metrics of so many clusters of a queue only, and one sum for all others [every one]",
           "N");
}

} // namespace

void add_observers(CLI::App &root, CommandOptions &into) {
    add_trace(root, into.trace);
    add_top(root, into.top);
    add_report(root, into.report);
    add_serve(root, into.serve);
}

} // namespace olaf
