// SPDX-License-Identifier: BSD-2-Clause
#include "traffic.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>

#include "cli.hpp"
#include "cli_options.hpp"
#include "loader/host/notes.hpp"
#include "loader/text/human.hpp"
#include "loader/text/json.hpp"
#include "loader/text/units.hpp"
#include "loader/traffic/fleet.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

auto time_between(std::uint64_t least, std::uint64_t most) {
    return [=](const std::string &text) { return parse_duration_between(text, least, most); };
}

/// A rate in bits a second: there is no link to ask for its own.
Result<Rate> parse_send_rate(const std::string &text) {
    auto rate = parse_rate(text);
    if (rate && rate->line)
        return fail("take rate", "'line'", 0, "give 10mbit or unlimited");
    return rate;
}

Result<std::string> parse_format(const std::string &text) {
    for (const auto *name : {"i32x2", "i16x4", "i64x1"})
        if (text == name)
            return text;
    return fail("find format", "'" + text + "'", 0, "it is one of i32x2, i16x4, i64x1");
}

void add_send(CLI::App &root, SendOptions &options) {
    auto &app = *root.add_subcommand("send", "Send updates to `olaf receive` on another host, and "
                                             "tell what became of them");
    app.add_option("server", options.server, "where `olaf receive` runs; port 6523 unless given")
        ->type_name("ADDR[:PORT]")
        ->required();
    auto *v4 = app.add_flag_callback(
        "-4,--ipv4", [&options] { options.family = 4; }, "take the server's IPv4 address");
    app.add_flag_callback(
           "-6,--ipv6", [&options] { options.family = 6; }, "take the server's IPv6 address")
        ->excludes(v4);
    parsed(app, "--clusters", options.clusters, count_parser(1, most_sockets / 2),
           "clusters to send for [1]", "N");
    parsed(app, "--workers", options.workers, count_parser(1, most_sockets - 1),
           "workers of each cluster [1]", "N");
    parsed(app, "--first-cluster", options.first_cluster, count_parser(0, OLAF_MAX_SLOTS - 1),
           "id of the first cluster; each sender needs clusters or workers of its own [0]", "N");
    parsed(app, "--first-worker", options.first_worker, count_parser(0, 65535),
           "id of the first worker [0]", "N");
    parsed(app, "--rate", options.rate, parse_send_rate,
           "pace of all of them together, as 50mbit, in bits of Ethernet frames [10mbit]",
           "RATE|unlimited");
    parsed(app, "--lanes", options.lanes, count_parser(2, OLAF_MAX_LANES),
           "8-byte lanes of an update, its checksum lane among them [64]", "N");
    parsed(app, "--format", options.format, parse_format, "how a lane holds elements [i32x2]",
           "i32x2|i16x4|i64x1");
    parsed(app, "--lag", options.lag, count_parser(0, 1'000'000),
           "say that updates are of a model so many versions old [0]", "N");
    parsed(app, "--for", options.for_ns, time_between(second / 100, 86'400 * second),
           "send this long [10s]", "TIME");
    parsed(app, "--updates", options.updates, count_parser(1, 4'000'000'000),
           "end after so many updates in all, if that is sooner", "N");
    parsed(app, "--patience", options.patience_ns, time_between(second / 10, 3600 * second),
           "give up when the server is silent for so long [3s]", "TIME");
}

void add_receive(CLI::App &root, ReceiveOptions &options) {
    auto &app = *root.add_subcommand("receive", "Receive and answer what `olaf send` sends; no "
                                                "queue needed, and no root");
    app.add_option("--bind", options.bind, "address to listen on [every one of this host]")
        ->type_name("ADDR");
    parsed(app, "--port", options.port, count_parser(1, 65535), "UDP port [6523]", "PORT");
    parsed(app, "--mtu", options.mtu, count_parser(576, 65535),
           "IP MTU of the way to the senders; answers are cut to fit [1500]", "N");
    parsed(app, "--max-clusters", options.max_clusters, count_parser(1, OLAF_MAX_SLOTS),
           "refuse updates of more clusters than so many [1024]", "N");
    parsed(app, "--for", options.for_ns, time_between(second / 100, 86'400 * second),
           "end after this long [when interrupted]", "TIME");
    parsed(app, "--idle", options.idle_ns, time_between(second / 100, 86'400 * second),
           "end after this long a silence, once updates have come", "TIME");
}

} // namespace

void add_traffic(CLI::App &root, CommandOptions &into) {
    add_send(root, into.send);
    add_receive(root, into.receive);
}

namespace {

using Json = nlohmann::ordered_json;

double seconds(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

template <class T> Json or_null(const std::optional<T> &value) {
    return value ? Json(*value) : Json(nullptr);
}

Json aom_json(const AgeOfModel &aom) {
    return {{"average_ns", static_cast<std::int64_t>(aom.average_ns)},
            {"peak_mean_ns", static_cast<std::int64_t>(aom.peak_mean_ns)},
            {"peak_highest_ns", aom.peak_highest_ns},
            {"peaks", aom.peaks}};
}

Json sent_json(const SentCluster &of) {
    return {{"updates_sent", of.sent},
            {"updates_unsent", of.unsent},
            {"messages_received", or_null(of.messages)},
            {"updates_received", of.received},
            {"updates_folded", or_null(of.folded())},
            {"updates_lost", of.lost()},
            {"lost_percent", percent(of.lost(), of.sent)},
            {"updates_of_others", of.others},
            {"aom", aom_json(of.aom)},
            {"round_trip",
             {{"answered", of.round_trip_ns.count},
              {"least_ns", of.round_trip_ns.least},
              {"mean_ns", static_cast<std::int64_t>(of.round_trip_ns.mean())},
              {"highest_ns", of.round_trip_ns.most}}},
            {"version_lag", {{"mean", of.version_lag.mean()}, {"highest", of.version_lag.most}}}};
}

Json send_json(const SendSummary &summary) {
    const auto &options = summary.options;
    Json clusters = Json::array();
    for (const auto &cluster : summary.clusters) {
        Json row{{"cluster", cluster.cluster}};
        row.update(sent_json(cluster));
        clusters.push_back(std::move(row));
    }
    return {{"server", summary.server},
            {"family", summary.ipv6 ? "ipv6" : "ipv4"},
            {"workers", options.workers},
            {"first_worker", options.first_worker},
            {"lanes", options.lanes},
            {"format", options.format},
            {"model_lag", options.lag},
            {"rate_bps", options.rate.bps == 0 ? Json(nullptr) : Json(options.rate.bps)},
            {"frame_bytes", summary.frame_bytes},
            {"measured_ns", summary.measured_ns},
            {"interrupted", summary.interrupted},
            {"failure", summary.failure ? Json(summary.failure->message()) : Json(nullptr)},
            {"total", sent_json(summary.total)},
            {"clusters", std::move(clusters)}};
}

Json receive_json(const ReceiveSummary &summary) {
    Json clusters = Json::array(), refused = Json::object();
    for (std::size_t i = 0; i < kRejectReasons; i++)
        refused[std::string(name(static_cast<Reject>(i)))] =
            summary.refused[static_cast<Reject>(i)];
    for (const auto &each : summary.clusters)
        clusters.push_back({{"cluster", each.cluster},
                            {"elements", each.elements},
                            {"workers", each.workers},
                            {"messages_received", each.messages},
                            {"updates_received", each.updates},
                            {"updates_folded", each.updates - each.messages},
                            {"worst_lag", each.worst_lag},
                            {"aom", aom_json(each.aom)},
                            {"youngest_ns", each.youngest_ns},
                            {"clocks_differ", clocks_differ(each.youngest_ns)}});
    return {{"bound", summary.bound},
            {"measured_ns", summary.measured_ns},
            {"messages_received", summary.messages},
            {"updates_received", summary.updates},
            {"updates_folded", summary.updates - summary.messages},
            {"answers", summary.answers},
            {"answers_unsent", summary.answers_unsent},
            {"refused", std::move(refused)},
            {"clusters", std::move(clusters)}};
}

constexpr auto sent_row = "{:>8} {:>10} {:>10} {:>10} {:>7} {:>9} {:>9} {:>9} {:>10}\n";

void print_sent(const std::string &name, const SentCluster &of) {
    const auto folded = of.folded();
    fmt::print(sent_row, name, of.sent, of.received, folded ? std::to_string(*folded) : "?",
               fmt::format("{:.2f}", percent(of.lost(), of.sent)),
               human_duration(of.aom.average_ns), human_duration(of.aom.peak_mean_ns),
               human_duration(static_cast<double>(of.aom.peak_highest_ns)),
               human_duration(of.round_trip_ns.mean()));
}

void print_send(const SendSummary &summary) {
    fmt::print("{} updates of {} bytes to {} in {:.2f} s\n", summary.total.sent,
               summary.frame_bytes, summary.server, seconds(summary.measured_ns));
    fmt::print(sent_row, "cluster", "sent", "received", "folded", "lost %", "AoM avg", "peak mean",
               "highest", "round trip");
    for (const auto &cluster : summary.clusters)
        print_sent(std::to_string(cluster.cluster), cluster);
    if (summary.clusters.size() > 1)
        print_sent("all", summary.total);
    if (summary.total.unsent != 0)
        note(
            fmt::format("{} more updates did not leave this host: its socket buffers were full, or "
                        "there was no route; give a lower --rate",
                        summary.total.unsent));
    if (summary.total.others != 0)
        note(fmt::format("{} updates of other senders came in the same clusters: give each sender "
                         "a --first-cluster, or at least a --first-worker, of its own",
                         summary.total.others));
}

void print_refused(const ReceiveSummary &summary) {
    if (summary.refused.total() == 0)
        return;
    std::string reasons;
    for (std::size_t i = 0; i < kRejectReasons; i++)
        if (const auto count = summary.refused[static_cast<Reject>(i)]; count != 0)
            reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count,
                                   name(static_cast<Reject>(i)));
    note("refused: " + reasons);
    if (summary.refused[Reject::wrong_lanes] != 0)
        note("A cluster keeps the size of its first update: start the receiver anew for another "
             "--lanes or --format, or give another --first-cluster");
}

constexpr auto received_row = "{:>8} {:>8} {:>10} {:>10} {:>10} {:>5} {:>9} {:>9} {:>9}\n";

void print_receive(const ReceiveSummary &summary) {
    fmt::print("{} messages with {} updates on {} in {:.2f} s, {} answers\n", summary.messages,
               summary.updates, summary.bound, seconds(summary.measured_ns), summary.answers);
    if (!summary.clusters.empty())
        fmt::print(received_row, "cluster", "workers", "messages", "updates", "folded", "lag",
                   "AoM avg", "peak mean", "highest");
    std::int64_t differ = 0; // by how much the furthest
    for (const auto &each : summary.clusters) {
        fmt::print(received_row, each.cluster, each.workers, each.messages, each.updates,
                   each.updates - each.messages, each.worst_lag,
                   human_duration(each.aom.average_ns), human_duration(each.aom.peak_mean_ns),
                   human_duration(static_cast<double>(each.aom.peak_highest_ns)));
        if (clocks_differ(each.youngest_ns) && std::abs(each.youngest_ns) > std::abs(differ))
            differ = each.youngest_ns;
    }
    if (differ != 0)
        note(clocks_text(differ) + ". Ages here mean nothing; the sender's own need no other clock");
    if (summary.answers_unsent != 0)
        note(fmt::format("{} answers did not leave this host: its buffers were full, or they did "
                         "not fit the way's MTU; see --mtu",
                         summary.answers_unsent));
    print_refused(summary);
}

} // namespace

SendWatcher send_watcher(const GlobalOptions &global) {
    if (global.json && !global.verbose)
        return [](const SendProgress &) {};
    return [](const SendProgress &at) {
        const auto bits = static_cast<double>(at.sent * at.frame_bytes * 8);
        note(fmt::format("{:6.1f} s  {:>7} updates sent  {:>7}bit/s  {:>7} of {:>7} received  "
                         "round trip {}",
                         seconds(at.at_ns), at.sent, human_count(bits / seconds(at.lasted_ns)),
                         at.total_received, at.total_sent,
                         at.round_trip_ns.count == 0 ? "-"
                                                     : human_duration(at.round_trip_ns.mean())));
    };
}

ReceiveWatcher receive_watcher(const GlobalOptions &global) {
    ReceiveWatcher watcher{
        .listening = [](const std::string &address) { note("receiving on " + address); },
        .progress = [](const ReceiveProgress &) {}};
    if (global.json && !global.verbose)
        return watcher;
    watcher.progress = [](const ReceiveProgress &at) {
        note(fmt::format("{:6.1f} s  {:>7} messages  {:>7} updates  {:.2f} a message  {} {}",
                         seconds(at.at_ns), at.messages, at.updates,
                         static_cast<double>(at.updates) / static_cast<double>(at.messages),
                         at.clusters, at.clusters == 1 ? "cluster" : "clusters"));
    };
    return watcher;
}

void print(const SendSummary &summary, bool json) {
    if (json)
        fmt::print("{}\n", json_text(send_json(summary), 2));
    else
        print_send(summary);
    std::fflush(stdout);
}

void print(const ReceiveSummary &summary, bool json) {
    if (json)
        fmt::print("{}\n", json_text(receive_json(summary), 2));
    else
        print_receive(summary);
    std::fflush(stdout);
}

} // namespace olaf
