// SPDX-License-Identifier: BSD-2-Clause
// olaf meter: on any device, for any traffic, touching nothing, gone with its process.
#include <gtest/gtest.h>

#include <csignal>

#include "capture.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::meter_test {
namespace {

std::vector<std::string> meter(const Netns &netns, std::vector<std::string> arguments) {
    std::vector<std::string> command{OLAF_BINARY, "--netns", netns.name(), "--json", "meter"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
}

class MeterTest : public testing::Test {
  protected:
    /// What a meter says of what is sent while it runs.
    nlohmann::json measure(const Netns &netns, std::vector<std::string> arguments,
                           const std::function<void()> &send) {
        Process olaf(meter(netns, std::move(arguments)));
        await_taps(netns, 1);
        send();
        olaf.kill(SIGTERM);
        const auto outcome = olaf.wait();
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_EQ(taps(netns), 0);
        return nlohmann::json::parse(outcome.out);
    }
    void receive(int count) {
        for (int i = 0; i < count; i++)
            (void)server.receive();
    }

    Testbed bed{{.way = Way::local}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.host, Testbed::server_peer(4)};
};

TEST_F(MeterTest, MeasuresWithoutAnyQueueAndCountsFolds) {
    const auto before = traces(bed.host);
    const auto json = measure(bed.host, {"in", "--for", "60s"}, [&] {
        EXPECT_EQ(traces(bed.host), before);
        for (std::uint32_t i = 0; i < 20; i++)
            worker.send(Update{.cluster = i % 2, .count = 1 + i % 2 * 4}, bed.target(4));
        receive(20);
    });
    EXPECT_EQ(json.at("messages"), 20);
    EXPECT_EQ(json.at("updates"), 10 + 50);
    ASSERT_EQ(json.at("clusters").size(), 2u);
    const auto &aom = json.at("clusters").at(1).at("aom");
    EXPECT_EQ(aom.at("departures"), 10);
    EXPECT_EQ(aom.at("folds").at("mean"), 5.0);
    EXPECT_EQ(aom.at("folds").at("histogram_log2"), nlohmann::json({0, 0, 10}));
    EXPECT_EQ(aom.at("by_arrival").at("peaks"), 9);
    EXPECT_EQ(traces(bed.host), before);
}

TEST_F(MeterTest, OneDirectionAtATime) {
    const auto send = [&] {
        for (std::uint32_t i = 0; i < 7; i++)
            worker.send(Update{.cluster = 1}, bed.target(4));
        receive(7);
    };
    EXPECT_EQ(measure(bed.worker, {"eth0", "--for", "60s", "--sent"}, send).at("messages"), 7);
    EXPECT_EQ(measure(bed.worker, {"eth0", "--for", "60s"}, send).at("messages"), 0);
    EXPECT_EQ(measure(bed.host, {"in", "--for", "60s", "--sent"}, send).at("messages"), 0);
}

TEST_F(MeterTest, ReadsEveryFormOfFrameAndBelievesNone) {
    const auto json = measure(bed.host, {"in", "--for", "60s", "--max-clusters", "4"}, [&] {
        const Update good{.cluster = 1};
        const std::vector<Frame> frames = {
            bed.path(4).carrying(good),
            bed.path(6).carrying(good),
            bed.path(4).options(40).carrying(good),
            bed.path(6).hop_by_hop(32).carrying(good),
            bed.path(4).vlan(5).carrying(good),
            bed.path(4).service_vlan(5).vlan(6).carrying(good),
            bed.path(4).carrying(Update{.cluster = 1, .lanes = std::vector<std::uint64_t>(150)}),
            // not counted as messages
            bed.path(4).carrying(Update{.cluster = 4}), // the first beyond
            bed.path(4).carrying(Update{.cluster = 1, .segments = 2}),
            bed.path(4).carrying(Update{.cluster = 1, .count = 0}),
            bed.path(4).port(9).carrying(good),
            bed.path(4).carrying(Ack{.cluster = 1}),
        };
        PacketSocket(bed.worker, "eth0").send(frames);
        worker.send(good, bed.target(4)); // behind them all
        Datagram last;
        do
            last = server.receive();
        while (last.source.port != worker.port());
    });
    EXPECT_EQ(json.at("messages"), 8);
    EXPECT_EQ(json.at("out_of_range"), 2);
    EXPECT_EQ(json.at("malformed"), 1);
    ASSERT_EQ(json.at("clusters").size(), 1u);
    EXPECT_EQ(json.at("clusters").at(0).at("aom").at("departures"), 8);
}

/// Several messages in one, for the device to cut: not looked into, and said so.
TEST(Meter, CountsWhatItCannotLookInto) {
    Testbed bed{{.way = Way::local, .worker = {.tx_checksum = true}}};
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.host, Testbed::server_peer(4));
    Process olaf(meter(bed.worker, {"eth0", "--sent", "--for", "60s"}));
    await_taps(bed.worker, 1);
    worker.send_uncut(Update{.cluster = 1}, 3, bed.target(4));
    worker.send(Update{.cluster = 1}, bed.target(4));
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(server.receive().update().cluster, 1u);
    olaf.kill(SIGTERM);
    const auto json = nlohmann::json::parse(olaf.wait().out);
    EXPECT_EQ(json.at("unread"), 1);
    EXPECT_EQ(json.at("messages"), 1);
    EXPECT_EQ(json.at("malformed"), 0);
}

TEST_F(MeterTest, PrintsEveryIntervalUntilInterrupted) {
    const auto before = traces(bed.host);
    Process olaf(meter(bed.host, {"in", "--interval", "20ms"}));
    await_taps(bed.host, 1);
    for (std::uint32_t i = 0; i < 100; i++) {
        worker.send(Update{.cluster = 1}, bed.target(4));
        receive(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    olaf.kill(SIGINT);
    const auto outcome = olaf.wait();
    EXPECT_EQ(outcome.status, 0);
    std::istringstream lines(outcome.out);
    std::uint64_t messages = 0, count = 0;
    for (std::string line; std::getline(lines, line); count++) {
        const auto now = nlohmann::json::parse(line).at("messages").get<std::uint64_t>();
        EXPECT_GE(now, messages);
        messages = now;
    }
    EXPECT_GE(count, 3u);
    EXPECT_EQ(messages, 100u);
    EXPECT_EQ(traces(bed.host), before);
}

TEST_F(MeterTest, LeavesNothingWhenKilled) {
    const auto before = traces(bed.host);
    Process olaf(meter(bed.host, {"in"}));
    await_taps(bed.host, 1);
    olaf.kill();
    olaf.wait();
    await_taps(bed.host, 0);
    EXPECT_EQ(traces(bed.host), before);
}

TEST_F(MeterTest, NamesWhatItCannotMeasureOn) {
    const auto outcome = run(meter(bed.host, {"none"}));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("none"), std::string::npos);
}

} // namespace
} // namespace olaf::test::meter_test
