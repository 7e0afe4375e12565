// SPDX-License-Identifier: BSD-2-Clause
// `detach` when what waits can't leave: it says why and the queue works on; --force drops it.
#include <gtest/gtest.h>

#include <thread>

#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::detach_obstacle_test {
namespace {

struct Obstacle {
    const char *name;
    Way way;
    const char *on_host;   ///< ip commands that put it there
    const char *on_server;
    const char *away_host; ///< and take it away
    const char *away_server;
    const char *said;
};

class DetachObstacle : public testing::TestWithParam<Obstacle> {
  protected:
    /// Three updates wait, for longer than a test takes, with the obstacle before them. The drain
    /// is down as well, so that none is even tried.
    void let_wait() {
        bed.attach(slow_link);
        occupy(bed, worker, server);
        drain("down");
        for (std::uint32_t i = 0; i < 3; i++)
            worker.send(Update{.cluster = i}, bed.target(4));
        bed.olaf.await([](const Status &s) { return s["appended"] == 3; });
        put(bed.host, GetParam().on_host);
        put(bed.server(), GetParam().on_server);
    }
    void take_away() {
        put(bed.host, GetParam().away_host);
        put(bed.server(), GetParam().away_server);
        drain("up");
    }
    static void put(const Netns &netns, const std::string &commands) {
        if (!commands.empty())
            netns.ip(commands);
    }
    void drain(const std::string &state) {
        const auto device = bed.olaf.status().json["drain"]["device"].get<std::string>();
        bed.host.ip("link set " + device + " " + state + "\n");
    }

    Testbed bed{{.way = GetParam().way}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

TEST_P(DetachObstacle, IsNamedAndTheQueueWorksOn) {
    let_wait();
    const auto told = bed.olaf({"detach", "in"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.err.find(GetParam().said), told.err.npos) << told.err;
    EXPECT_NE(told.err.find("3 updates wait"), told.err.npos) << told.err;
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["updates_waiting"], 3u);
    EXPECT_EQ(status.json["emptying"], false);
    take_away();
    worker.send(Update{.cluster = 4}, bed.target(4));
    bed.olaf.await_drained(6);
    for (const std::uint32_t cluster : {0, 1, 2, 4})
        EXPECT_EQ(server.receive().update().cluster, cluster);
}

TEST_P(DetachObstacle, ForceDropsAndCounts) {
    const auto before = traces(bed.host);
    let_wait();
    const auto told = bed.olaf({"--json", "detach", "in", "--force"});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(nlohmann::json::parse(told.out)["updates_dropped"], 3);
    EXPECT_NE(told.err.find(GetParam().said), told.err.npos) << told.err;
    EXPECT_TRUE(bed.olaf({"status"}).out.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, DetachObstacle,
    testing::Values(Obstacle{"OutputDown", Way::bridged, "link set out down\n", "",
                             "link set out up\n", "", "out is down"},
                    Obstacle{"NoCarrier", Way::bridged, "", "link set eth0 down\n", "",
                             "link set eth0 up\n", "out has no carrier"},
                    Obstacle{"NoRoute", Way::routed, "address del 10.0.1.254/24 dev out\n", "",
                             "address add 10.0.1.254/24 dev out\nneighbour replace 10.0.1.2 lladdr "
                             "02:00:00:00:00:0b dev out nud permanent\n",
                             "", "no route to 10.0.1.2"},
                    Obstacle{"NextHopSilent", Way::upstream4,
                             "neighbour del 10.0.1.2 dev out\n", "",
                             "neighbour replace 10.0.1.2 lladdr 02:00:00:00:00:0b dev out nud "
                             "permanent\n",
                             "", "the next hop 10.0.1.2 doesn't answer on out"},
                    Obstacle{"TheDrainAlone", Way::bridged, "", "", "", "", "olaf2a is down"}),
    [](const auto &info) { return std::string(info.param.name); });

/// Two next hops that don't answer take turns at the front of the queue, and more comes for both.
/// Neither is a sign that the queue empties itself.
class DetachFromDeadServers : public testing::Test {
  protected:
    DetachFromDeadServers() {
        bed.attach({"--policy", "aggregate"});
        for (const auto *const dead : {"10.0.1.8", "10.0.1.9"})
            worker.send(Update{.cluster = 1}, Peer{.address = dead});
        bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 2; });
        sender = std::jthread([this](const std::stop_token &stop) {
            for (std::uint32_t i = 0; !stop.stop_requested(); i++) {
                worker.send(Update{.cluster = 2 + i % 64},
                            Peer{.address = i % 2 == 0 ? "10.0.1.8" : "10.0.1.9"});
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
    }

    Testbed bed{{.way = Way::routed, .server_known = false}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    std::jthread sender;
};

TEST_F(DetachFromDeadServers, IsRefusedAndNamesOne) {
    const auto told = bed.olaf({"detach", "in"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.err.find("the next hop 10.0.1."), told.err.npos) << told.err;
    EXPECT_EQ(bed.olaf.status().json["emptying"], false);
}

TEST_F(DetachFromDeadServers, WithForceEnds) {
    const auto told = bed.olaf({"--json", "detach", "in", "--force"});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_GE(nlohmann::json::parse(told.out)["updates_dropped"], 2);
    EXPECT_TRUE(bed.olaf({"status"}).out.empty());
}

} // namespace
} // namespace olaf::test::detach_obstacle_test
