// SPDX-License-Identifier: BSD-2-Clause
// olaf-replay: plays a trace to a server, and prints what became of it as JSON.
#include "replay.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

using namespace olaf;
using namespace olaf::evaluation;

namespace {

Result<ReplaySummary> play(const std::string &path, const std::string &server,
                           ReplayOptions options) {
    const auto address = Address::parse(server);
    if (!address)
        return std::unexpected(address.error());
    options.server = *address;
    const auto trace = read_trace(path);
    if (!trace)
        return std::unexpected(trace.error());
    return replay(*trace, options);
}

} // namespace

int main(int argc, char **argv) {
    std::string path, server;
    ReplayOptions options;
    double again_ms = 0, limit_s = 0;
    CLI::App app{"Play a trace of updates"};
    app.add_option("trace", path, "a file, see evaluation/traces/README.md")->required();
    app.add_option("--server", server, "ADDR[:PORT]")->required();
    app.add_option("--lanes", options.lanes, "of an update, its checksum lane among them")
        ->check(CLI::Range(2, OLAF_MAX_LANES));
    app.add_option("--flood", options.flood, "updates, as fast as can be, one line after another");
    app.add_option("--send-again-ms", again_ms, "what wasn't answered for so long is sent again")
        ->check(CLI::Range(1.0, 60e3));
    app.add_option("--limit-s", limit_s, "end after so long, whatever is missing")
        ->check(CLI::NonNegativeNumber);
    CLI11_PARSE(app, argc, argv);

    options.send_again_ns = static_cast<std::int64_t>(again_ms * 1e6);
    options.limit_ns = static_cast<std::int64_t>(limit_s * 1e9);
    const auto played = play(path, server, options);
    if (!played) {
        fmt::print(stderr, "olaf-replay: {}\n", played.error().message());
        return 1;
    }
    fmt::print("{{\"sent\": {}, \"again\": {}, \"unsent\": {}, \"missing\": {}, \"lasted_ns\": {}, "
               "\"latest_ns\": {}, \"late_mean_ns\": {:.0f}}}\n",
               played->sent, played->again, played->unsent, played->missing, played->lasted_ns,
               played->latest_ns, played->late_mean_ns);
}
