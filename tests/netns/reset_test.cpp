// SPDX-License-Identifier: BSD-2-Clause
// olaf reset: all figures start anew, and no update is lost by it.
#include <gtest/gtest.h>

#include "killed_at.hpp"
#include "listening.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::reset_test {
namespace {

class Resetting : public testing::Test {
  protected:
    nlohmann::json reset() {
        const auto outcome = bed.olaf({"reset", "in", "--json"});
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out);
    }

    void send_one(std::uint32_t cluster) {
        const Update update{.cluster = cluster};
        worker.send(update, bed.target(4));
        EXPECT_EQ(server.receive().update(), update);
    }

    Testbed bed{{.way = Way::bridged}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

TEST_F(Resetting, WhatWaitsCountsAsJustArrived) {
    bed.attach({"--rate", "4kbit"}); // busy for two seconds with what occupies it
    occupy(bed, worker, server);
    for (std::uint32_t cluster = 0; cluster < 3; cluster++)
        worker.send(Update{.cluster = cluster}, bed.target(4));
    worker.send(Update{.cluster = 1, .worker = 9}, bed.target(4)); // folded, for it is another's
    bed.olaf.await([](const Status &now) { return now["received"] == 6; });
    const auto answer = reset();
    expect_schema("reset", answer.dump());
    EXPECT_EQ(answer.at("updates_waiting"), 4);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["updates_in"], 4u);
    EXPECT_EQ(status["appended"], 3u);
    EXPECT_EQ(status["departed"], 0u);
    EXPECT_EQ(status.json.at("aom").at("clusters"), 0);
    Tally received;
    while (received.updates < 4)
        received.add(server.receive().update());
    const auto end = bed.olaf.await([](const Status &now) { return now["departed"] == 3; });
    EXPECT_EQ(end["updates_out"], 4u);
    EXPECT_EQ(end.json.at("aom").at("clusters"), 3);
    expect_identities(end);
}

TEST_F(Resetting, UnderAFloodIsExact) {
    make_lossless(bed);
    bed.attach({"--rate", "20mbit", "--policy", "aggregate"});
    bed.olaf.cluster({"set", "0-8", "--max-count", "65535"});
    const auto updates = random_updates(256, 9, 8, 52);
    const auto frames = frames_of(bed, updates);
    Collector collector(server);
    std::atomic<bool> over = false;
    unsigned resets = 0;
    std::jthread command([&] {
        while (!over) {
            reset();
            resets++;
        }
    });
    flood(bed, frames, 100);
    over = true;
    command.join();
    EXPECT_GT(resets, 3u);
    Tally sent;
    for (const auto &update : updates)
        sent.add(update, std::uint64_t{100} * cpus());
    EXPECT_EQ(collector.await(sent.updates).clusters, sent.clusters);
    const auto status = bed.olaf.await([](const Status &now) {
        return now["updates_waiting"] == 0 && now["received"] < 25'600;
    });
    expect_identities(status);
    reset();
    EXPECT_EQ(bed.olaf.status()["received"], 0u);
    EXPECT_EQ(bed.olaf.status()["updates_out"], 0u);
    flood(bed, frames, 1);
    const auto more = bed.olaf.await([](const Status &now) {
        return now["received"] == 256 * cpus() && now["updates_waiting"] == 0;
    });
    expect_identities(more);
}

TEST_F(Resetting, OutlivesAReplacementAndEndsWithTheQueue) {
    const auto before = traces(bed.host);
    bed.attach({"--rate", "unlimited"});
    const auto send_two = [&] {
        for (unsigned i = 0; i < 2; i++)
            send_one(i);
    };
    send_two();
    reset();
    send_two();
    bed.olaf.replace();
    EXPECT_EQ(bed.olaf.await([](const Status &now) { return now["received"] >= 2; })["received"], 2u);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
    bed.attach({"--rate", "unlimited"});
    send_two();
    EXPECT_EQ(bed.olaf.await([](const Status &now) { return now["received"] >= 2; })["received"], 2u);
}

/// At every step of the command: the old start or the new one, and the next reset works.
TEST_F(Resetting, KilledMidwayLeavesOneOfBothStarts) {
    bed.attach({"--rate", "unlimited"});
    send_one(1);
    reset();
    for (int i = 0; i < 3; i++)
        send_one(1);
    bed.olaf.await([](const Status &now) { return now["received"] == 3; });
    unsigned kept = 0, anew = 0;
    for (unsigned step = 1; killed_at(bed.olaf.command({"reset", "in"}), step); step++) {
        const auto status = bed.olaf.status();
        expect_identities(status);
        ASSERT_TRUE(status["received"] == 3 || status["received"] == 0) << status["received"];
        (status["received"] == 3 ? kept : anew)++;
        if (anew != 0)
            break;
    }
    EXPECT_GT(kept, 0u);
    reset();
    EXPECT_EQ(bed.olaf.status()["received"], 0u);
}

TEST_F(Resetting, OfWhatIsNotThereSaysSo) {
    const auto outcome = bed.olaf({"reset", "in"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("in"), std::string::npos);
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

} // namespace
} // namespace olaf::test::reset_test
