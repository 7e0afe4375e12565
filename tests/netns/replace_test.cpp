// SPDX-License-Identifier: BSD-2-Clause
// `attach --replace` under load: the new programs take the queue over, and no update is lost,
// doubled or let by unseen.
#include <gtest/gtest.h>

#include <atomic>

#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::replace_test {
namespace {

class Replace : public testing::TestWithParam<Way> {
  protected:
    Testbed bed{{.way = GetParam(), .queues = 2}};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

TEST_P(Replace, UnderLoadLosesNothing) {
    make_lossless(bed);
    bed.attach({"--policy", "aggregate", "--rate", "10mbit"});
    bed.olaf.cluster({"set", "0-8", "--max-count", "65535"});
    const auto old = kernel_objects(bed.host);
    const auto updates = random_updates(256, 9, 8, 31);
    const auto frames = frames_of(bed, updates);
    Collector collector(server);
    std::atomic<std::uint64_t> rounds = 0;
    std::jthread flooding([&](const std::stop_token &stop) {
        while (!stop.stop_requested()) {
            flood(bed, frames, 8);
            rounds += std::uint64_t{8} * cpus();
        }
    });
    for (const char *rate : {"20mbit", "5mbit", "10mbit"}) {
        bed.olaf.replace({"--rate", rate});
        EXPECT_EQ(bed.olaf.status().json["policy"], "aggregate");
    }
    flooding.request_stop();
    flooding.join();

    Tally sent;
    for (const auto &update : updates)
        sent.add(update, rounds);
    const auto status = bed.olaf.await_drained(sent.updates);
    EXPECT_EQ(status.json["rate_bps"], 10'000'000);
    EXPECT_EQ(status["received"], sent.updates);
    EXPECT_EQ(status.dropped(), 0u);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    const auto tally = collector.await(sent.updates);
    EXPECT_EQ(tally.clusters, sent.clusters);
    // Nothing but what the queue let go.
    EXPECT_EQ(tally.messages, status["passed_through"] + status["departed"]);

    for (const auto program : old.programs)
        EXPECT_FALSE(kernel_objects(bed.host).programs.contains(program));
    await_freed({.programs = old.programs, .maps = {}});
}

INSTANTIATE_TEST_SUITE_P(All, Replace, testing::Values(Way::local, Way::bridged, Way::routed),
                         [](const auto &info) {
                             return info.param == Way::local     ? "Local"
                                    : info.param == Way::bridged ? "Bridged"
                                                                 : "Routed";
                         });

TEST(ReplaceState, IsKept) {
    Testbed bed;
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    const auto before = traces(bed.host);
    bed.attach(slow_link);
    bed.olaf.cluster({"set", "3", "--policy", "newest"});
    occupy(bed, worker, server);
    worker.send(Update{.cluster = 3, .worker = 1, .lanes = {1}}, bed.target(4));
    bed.olaf.await([](const Status &s) { return s["received"] == 3; });
    bed.olaf.replace({"--rate", "10kbit"});
    worker.send(Update{.cluster = 3, .worker = 2, .lanes = {2}}, bed.target(4));
    for (auto left = bed.olaf.await_drained(4)["updates_out"] - 2; left > 0; left--)
        EXPECT_EQ(server.receive().update().cluster, 3u);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["received"], 4u);
    EXPECT_EQ(status["passed_through"] + status["appended"] + status["replaced"], 4u);
    expect_identities(status);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

TEST(ReplaceNothing, SaysSo) {
    Testbed bed;
    const auto before = traces(bed.host);
    const auto told = bed.olaf({"attach", "in", "--replace"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.err.find("in"), told.err.npos);
    EXPECT_EQ(std::count(told.err.begin(), told.err.end(), '\n'), 1) << told.err;
    EXPECT_EQ(traces(bed.host), before);
}

} // namespace
} // namespace olaf::test::replace_test
