// SPDX-License-Identifier: BSD-2-Clause
#include "traffic.hpp"

#include <map>

#include "cli.hpp"
#include "cli_options.hpp"
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

} // namespace olaf
