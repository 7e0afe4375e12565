// SPDX-License-Identifier: BSD-2-Clause
// olaf-tally: receives updates until SIGTERM, and prints what it got as JSON. Says a line when it
// listens.
#include "tally.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace olaf;
using namespace olaf::evaluation;

namespace {

void listening() {
    fmt::print("listening\n");
    std::fflush(stdout);
}

std::string text(std::uint32_t id, const TallyCluster &cluster, std::int64_t until_ns) {
    std::string folds;
    for (const auto &[updates, messages] : cluster.folds)
        folds += fmt::format("{}\"{}\": {}", folds.empty() ? "" : ", ", updates, messages);
    return fmt::format(
        "{{\"cluster\": {}, \"messages\": {}, \"updates\": {}, \"aom_average_ns\": {:.0f}, "
        "\"aom_mean_peak_ns\": {:.0f}, \"aom_highest_peak_ns\": {}, \"folds\": {{{}}}, "
        "\"arrived\": [{}]}}",
        id, cluster.messages, cluster.updates, cluster.aom.average_ns(until_ns),
        cluster.aom.mean_peak_ns(), cluster.aom.highest_peak_ns(), folds,
        fmt::join(cluster.arrived, ", "));
}

} // namespace

int main(int argc, char **argv) {
    std::string bind;
    std::uint32_t expected = 0;
    bool answer = false;
    CLI::App app{"Receive updates of olaf-replay and count them"};
    app.add_option("bind", bind, "ADDR[:PORT]")->required();
    app.add_option("--clusters", expected, "0 to N - 1 have an age from the first update on")
        ->check(CLI::Range(0, 100'000));
    app.add_flag("--answer", answer, "send an ACK for each, with what has arrived so far");
    CLI11_PARSE(app, argc, argv);

    const auto address = Address::parse(bind);
    const auto found = address ? tally(*address, expected, answer, listening)
                               : Result<Tally>(std::unexpected(address.error()));
    if (!found) {
        fmt::print(stderr, "olaf-tally: {}\n", found.error().message());
        return 1;
    }
    std::string clusters;
    for (const auto &[id, cluster] : found->clusters)
        clusters += (clusters.empty() ? "" : ",\n  ") + text(id, cluster, found->last_ns);
    fmt::print("{{\"refused\": {}, \"answered\": {}, \"lasted_ns\": {}, \"clusters\": [{}]}}\n",
               found->refused, found->answered, found->last_ns - found->first_ns, clusters);
}
