// SPDX-License-Identifier: BSD-2-Clause
// `attach --replace` that sends updates another way, or asks who sends them, under load: servers
// that count get every update, and none is refused.
#include <gtest/gtest.h>

#include <atomic>

#include "traffic.hpp"

namespace olaf::test::replace_way_test {
namespace {

const Peer host_server{.address = "10.0.0.254"}, server{.address = "10.0.1.2"},
    other_server{.address = "10.0.1.3"};

struct Change {
    const char *name;
    std::vector<std::string> from, to;
    Peer target; ///< that workers send to
    const char *kind;
};

struct TwoServers : Testbed {
    TwoServers() : Testbed({.way = Way::upstream4}) {
        server().ip("address add 10.0.1.3/24 dev eth0\n");
        host.ip("neighbour add 10.0.1.3 lladdr " + text(server_mac) + " dev out nud permanent\n");
        make_lossless(*this);
    }
};

class ReplaceWay : public testing::TestWithParam<Change> {
  protected:
    std::uint64_t collected() { return here.updates() + there.updates() + elsewhere.updates(); }

    TwoServers bed;
    UdpSocket host_socket{bed.host, host_server}, server_socket{bed.server(), server},
        other_socket{bed.server(), other_server};
    Collector here{host_socket}, there{server_socket}, elsewhere{other_socket};
};

/// Sends updates of eight clusters, up to a thousand in a second, until it is asked to stop: more than
/// the rate lets out. Many more would be lost on a busy machine, by the ring of a veth, while they pass
/// unpaced.
std::jthread sender(const Testbed &bed, const Peer &target, std::atomic<std::uint64_t> &sent) {
    return std::jthread([&bed, target, &sent](const std::stop_token &stop) {
        const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
        while (!stop.stop_requested()) {
            const auto number = static_cast<std::uint32_t>(sent++);
            worker.send(Update{.cluster = number % 8, .sequence = number}, target);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
}

TEST_P(ReplaceWay, LosesAndRefusesNothingUnderLoad) {
    const auto &change = GetParam();
    auto arguments = change.from;
    arguments.insert(arguments.end(), {"--policy", "aggregate", "--rate", "500kbit"});
    bed.olaf.attach(arguments);
    bed.olaf.cluster({"set", "0-7", "--max-count", "65535"});
    std::atomic<std::uint64_t> sent = 0;
    auto sending = sender(bed, change.target, sent);
    for (int turn = 0; turn < 3; turn++) {
        for (const auto &way : {change.to, change.from}) {
            const auto before = sent.load();
            while (sent < before + 250) // so that something waits
                std::this_thread::yield();
            bed.olaf.replace(way);
        }
    }
    bed.olaf.replace(change.to);
    sending.request_stop();
    sending.join();
    bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 0 && !s.token_alive(); });
    const auto status = bed.olaf.status(); // exact, where the one before may have been read halfway
    EXPECT_EQ(status.json["deliver"]["kind"], change.kind);
    EXPECT_EQ(status["not_allowed"], 0u);
    EXPECT_EQ(status.dropped(), 0u);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    await([&] { return collected() >= sent; },
          [&] { return std::to_string(sent) + " updates: " + status.json["lost_behind"].dump(); });
    EXPECT_EQ(collected(), sent);
}

INSTANTIATE_TEST_SUITE_P(
    All, ReplaceWay,
    testing::Values(
        Change{"LocalToForward", {"--local"}, {"--forward", "out"}, server, "forward"},
        Change{"LocalToUpstream", {"--local"}, {"--upstream", "10.0.1.2"}, host_server, "upstream"},
        Change{"ForwardToUpstream",
               {"--forward", "out"},
               {"--upstream", "10.0.1.2"},
               server,
               "upstream"},
        Change{"UpstreamToAnother",
               {"--upstream", "10.0.1.2"},
               {"--upstream", "10.0.1.3"},
               host_server,
               "upstream"}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(ReplaceAllow, NewlyGivenRefusesNoListedSender) {
    for (int round = 0; round < 2; round++) {
        Testbed bed{{.way = Way::upstream4}};
        make_lossless(bed);
        const UdpSocket socket(bed.server(), server);
        Collector collector(socket);
        bed.attach();
        std::atomic<std::uint64_t> sent = 0;
        auto sending = sender(bed, host_server, sent);
        bed.olaf.replace({"--allow", "10.0.0.0/24"});
        bed.olaf.replace({"--allow", "10.0.0.1", "--allow", "192.0.2.0/24"});
        bed.olaf.replace({"--allow", "10.0.0.0/16"});
        sending.request_stop();
        sending.join();
        const auto status = bed.olaf.await_drained(sent);
        EXPECT_EQ(status["not_allowed"], 0u);
        EXPECT_EQ(collector.await(sent).updates, sent);
        const UdpSocket stranger(bed.worker, {.address = "10.0.0.1"}); // still asked at all
        bed.olaf.replace({"--allow", "192.0.2.0/24"});
        stranger.send(Update{}, host_server);
        bed.olaf.await([](const Status &s) { return s["not_allowed"] == 1; });
    }
}

TEST(ReplaceWayBlocked, SaysWhyAndTheOldQueueWorksOn) {
    Testbed bed{{.way = Way::upstream4}};
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket socket(bed.server(), server);
    bed.attach(slow_link);
    occupy(bed, worker, socket);
    const auto drain = bed.olaf.status().json["drain"]["device"].get<std::string>();
    bed.host.ip("link set " + drain + " down\n");
    worker.send(Update{.cluster = 1}, host_server);
    bed.olaf.await([](const Status &s) { return s["appended"] == 1; });
    bed.host.ip("link set out down\n");
    const auto told = bed.olaf({"attach", "in", "--replace", "--local"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.err.find("out is down"), told.err.npos) << told.err;
    EXPECT_EQ(bed.olaf.status().json["deliver"]["kind"], "upstream");
    EXPECT_EQ(bed.olaf.status()["updates_waiting"], 1u);
    bed.host.ip("link set out up\nneighbour replace 10.0.1.2 lladdr " + text(server_mac) +
                " dev out nud permanent\nlink set " + drain + " up\n");
    worker.send(Update{.cluster = 2}, host_server);
    EXPECT_EQ(socket.receive().update().cluster, 1u);
}

} // namespace
} // namespace olaf::test::replace_way_test
