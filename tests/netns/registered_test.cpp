// SPDX-License-Identifier: BSD-2-Clause
// Workers that `olaf cluster set --worker` registers, and --strict.
#include <gtest/gtest.h>

#include "testbed.hpp"

namespace olaf::test::registered_test {
namespace {

TEST(Registered, StrictTakesNobodyElseAndCounts) {
    Testbed bed;
    bed.attach({"--strict"});
    bed.olaf.cluster({"set", "0-2", "--worker", "1=10.0.0.1", "--worker", "2=10.0.0.9:7000"});
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    const auto say = [&](std::uint32_t id) {
        worker.send(Update{.cluster = 2, .worker = id}, bed.target(4));
    };
    say(1);
    EXPECT_EQ(server.receive().update().worker, 1u);
    say(2); // the address is another's
    say(3); // nobody's id
    say(0xffffffff);
    const auto status =
        bed.olaf.await([](const Status &s) { return s["not_allowed"] == 3; });
    EXPECT_EQ(status["received"], 1u);
    EXPECT_EQ(status.json["not_allowed_by_reason"]["address"], 1);
    EXPECT_EQ(status.json["not_allowed_by_reason"]["worker"], 2);
    EXPECT_EQ(status.json["strict"], true);

    const auto listed = nlohmann::json::parse(bed.olaf({"cluster", "list", "in", "2", "--json"}).out);
    const auto &members = listed[0]["members"];
    ASSERT_EQ(members.size(), 2u);
    EXPECT_EQ(members[0]["worker"], 1);
    EXPECT_EQ(members[0]["address"], "10.0.0.1:" + std::to_string(worker.port()));
    EXPECT_EQ(members[0]["mac"], text(worker_mac));
    EXPECT_EQ(members[1]["address"], "10.0.0.9:7000");
    EXPECT_TRUE(members[1]["silent_ns"].is_null());

    bed.olaf.cluster({"remove", "2"});
    say(1);
    bed.olaf.await([](const Status &s) { return s["not_allowed"] == 4; });
    EXPECT_FALSE(server.poll(std::chrono::milliseconds(0)));
    const auto told = bed.olaf({"cluster", "set", "in", "0", "--worker", "256=10.0.0.1"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.err.find("--max-workers"), told.err.npos) << told.err;
}

/// A registered worker is acknowledged before it has sent anything, if this host can find it.
TEST(Registered, IsReachedBeforeItIsHeard) {
    Testbed bed{{.way = Way::routed}};
    bed.attach();
    const UdpSocket silent(bed.worker, Testbed::worker_peer(4));
    const UdpSocket heard(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.olaf.cluster({"set", "0", "--worker",
                      "5=10.0.0.1:" + std::to_string(silent.port())});
    heard.send(Update{.worker = 1}, bed.target(4));
    (void)server.receive();
    server.send(Ack{}, Testbed::worker_peer(4, heard.port()));
    EXPECT_EQ(heard.receive().ack().worker, 1u);
    auto first = silent.receive();
    if (first.payload.empty()) // what asked for its address
        first = silent.receive();
    EXPECT_EQ(first.ack().worker, 5u);
}

} // namespace
} // namespace olaf::test::registered_test
