// SPDX-License-Identifier: BSD-2-Clause
// `detach` sends what waits first, also under load, and leaves nothing behind.
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::detach_test {
namespace {

class Detach : public testing::TestWithParam<Way> {
  protected:
    Testbed bed{{.way = GetParam()}};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

TEST_P(Detach, SendsWhatWaitsAndLeavesNoTrace) {
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const auto before = traces(bed.host);
    bed.attach(slow_link);
    const auto objects = kernel_objects(bed.host);
    if (!bed.card) {
        EXPECT_EQ(objects.programs.size(), 5u); // entrance, egress, the three of the drain
        EXPECT_GE(objects.maps.size(), 9u);
        EXPECT_NE(traces(bed.host), before);
    }
    occupy(bed, worker, server);
    for (std::uint32_t i = 0; i < 6; i++)
        worker.send(Update{.cluster = i}, bed.target(4));
    bed.olaf.detach();
    for (std::uint32_t i = 0; i < 6; i++)
        EXPECT_EQ(server.receive().update().cluster, i);
    EXPECT_EQ(traces(bed.host), before);
    await_freed(objects);
}

TEST_P(Detach, UnderLoadLosesNothing) {
    make_lossless(bed);
    bed.attach({"--policy", "aggregate", "--rate", "4mbit"});
    bed.olaf.cluster({"set", "0-8", "--max-count", "65535"});
    const auto objects = kernel_objects(bed.host);
    const auto updates = random_updates(128, 9, 8, 21);
    const auto frames = frames_of(bed, updates);
    Collector collector(server);
    Tally sent;
    const auto round = [&] {
        flood(bed, frames, 8);
        for (const auto &update : updates)
            sent.add(update, std::uint64_t{8} * cpus());
    };
    round();
    Process detaching(bed.olaf.command({"detach", "in"}));
    while (detaching.running())
        round();
    round(); // what comes after it arrives as it was sent
    const auto ended = detaching.wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
    const auto tally = collector.await(sent.updates);
    EXPECT_EQ(tally.clusters, sent.clusters);
    EXPECT_LT(tally.messages, sent.messages);
    await_freed(objects);
}

INSTANTIATE_TEST_SUITE_P(All, Detach, testing::Values(Way::local, Way::bridged),
                         [](const auto &info) {
                             return info.param == Way::local ? "Local" : "Bridged";
                         });

/// A queue that takes long to empty, and a detach that is about it.
class DetachInterrupted : public testing::TestWithParam<int> {
  protected:
    Testbed bed;
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

TEST_P(DetachInterrupted, LeavesTheQueueAsItWas) {
    bed.attach({"--rate", "50kbit"});
    occupy(bed, worker, server); // 1 KiB more: a sixth of a second each
    const auto large = std::vector<std::uint64_t>(128, 1);
    for (std::uint32_t i = 0; i < 6; i++)
        worker.send(Update{.cluster = i, .lanes = large}, bed.target(4));
    bed.olaf.await([](const Status &s) { return s["appended"] == 6; });
    Process detaching(bed.olaf.command({"detach", "in"}));
    bed.olaf.await([](const Status &s) { return s.json["emptying"] == true; });
    detaching.kill(GetParam());
    EXPECT_NE(detaching.wait().status, 0);
    EXPECT_GT(bed.olaf.status().queue("length"), 0u); // it landed midway
    // A catchable signal ends the order at once, SIGKILL when its lease has run out.
    if (GetParam() != SIGKILL) {
        EXPECT_EQ(bed.olaf.status().json["emptying"], false);
    }
    bed.olaf.await([](const Status &s) { return s.json["emptying"] == false; });
    const auto appended = bed.olaf.status()["appended"];
    worker.send(Update{.cluster = 7, .lanes = large}, bed.target(4));
    bed.olaf.await([&](const Status &s) { return s["appended"] == appended + 1; }); // it waits
    const auto status = bed.olaf.await_drained(9);
    EXPECT_EQ(status["updates_out"], 9u);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(Signals, DetachInterrupted, testing::Values(SIGINT, SIGTERM, SIGKILL),
                         [](const auto &info) { return std::string(sigabbrev_np(info.param)); });

} // namespace
} // namespace olaf::test::detach_test
