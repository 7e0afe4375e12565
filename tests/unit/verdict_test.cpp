// SPDX-License-Identifier: BSD-2-Clause
// What a queue's verdict is, condition by condition.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include "verdict_scene.hpp"

namespace olaf::test::verdict_test {
namespace {

using namespace olaf;
using namespace olaf::test;

TEST(Verdict, AQueueThatNothingHasComeToIsIdleAndSaysWhatWorkersMustDo) {
    Scene().expect(Health::idle, "no update has come", "UDP to port 6523 by way of in");
}

TEST(Verdict, AQueueThatNothingComesToAnyMoreIsIdleSinceItsLastDeparture) {
    Scene scene;
    scene.receive(5);
    scene.reading.snapshot.active_clusters = 0;
    ClusterAom cluster;
    cluster.last_ns = 88 * second;
    scene.reading.aom.clusters.push_back(cluster);
    scene.expect(Health::idle, "no update comes", "");
    scene.expect_since(12);
}

TEST(Verdict, AQueueWithActiveClustersWorks) {
    Scene scene;
    scene.receive(5);
    scene.expect(Health::working, "3 clusters active, 0 of 8 places taken", "");
    EXPECT_TRUE(scene.verdict().besides.empty());
}

TEST(Verdict, AProgramOfSomebodyElsesInPlaceOfOursIsNamed) {
    Scene scene;
    scene.reading.attachment.alive = false;
    scene.reading.host.dead = "its XDP program was taken off";
    scene.expect(Health::blocked, "taken off: nothing comes in", "olaf detach in");
    scene.reading.host.other_program = "program 12 (other)";
    scene.expect(Health::blocked, "program 12 (other) stands there now", "ip link set in xdp off");
    scene.expect_since({});
    scene.reading.host.other_age_ns = 12 * second;
    scene.expect_since(12);
}

TEST(Verdict, AQueueWhoseDeviceIsDownGetsNothing) {
    Scene scene;
    scene.reading.host.device_obstacle = "in is down";
    scene.expect(Health::blocked, "in is down: nothing comes in", "ip link set in up");
}

TEST(Verdict, AnOutputThatIsDownIsToldOfWithSinceWhenAndHowMuchWaits) {
    Scene scene;
    scene.wait();
    scene.reading.host.output_obstacle = "out is down";
    scene.expect(Health::blocked,
                 "out is down: nothing leaves; 9 messages wait and fold, the oldest for 5.00s",
                 "ip link set out up");
    scene.expect_since({});
    scene.reading.snapshot.gate.lost_ns = 99 * second;
    scene.reading.snapshot.gate.shut_ns = 93 * second;
    scene.expect_since(7);
    EXPECT_EQ(verdict_line(scene.verdict().first).substr(0, 30), "blocked for 7.00s: out is down");
}

TEST(Verdict, AnOutputThatHasGoneHasAnotherRemedy) {
    Scene scene;
    scene.reading.host.output.clear();
    scene.reading.host.output_obstacle = "the output device has gone";
    scene.expect(Health::blocked, "has gone: nothing leaves", "olaf detach in --force");
}

TEST(Verdict, AShutGateBlocksOnlyWhileSomethingWaits) {
    Scene scene;
    scene.receive(5);
    scene.reading.snapshot.gate.lost_ns = 99 * second;
    scene.reading.snapshot.gate.shut_ns = 98 * second;
    scene.expect(Health::working, "3 clusters active", "");
    scene.wait();
    scene.expect(Health::blocked, "out refuses what the queue sends", "olaf doctor out");
    scene.expect_since(2);
}

TEST(Verdict, AnOutputThatRefusesXdpAloneImpairsTheQueue) {
    Scene scene;
    scene.wait();
    scene.reading.snapshot.gate.refused_ns = 99 * second;
    scene.expect(Health::impaired, "the drain sends everything", "olaf doctor out");
}

TEST(Verdict, ANextHopThatDoesNotAnswerIsNamed) {
    Scene scene;
    scene.wait();
    olaf_hop hop{};
    hop.state = OLAF_HOP_NO_NEIGHBOUR;
    hop.family = 4;
    hop.daddr_be[0] = htonl(0x0a000102);
    scene.reading.snapshot.unready_hops.push_back(hop);
    scene.expect(Health::blocked, "the next hop to 10.0.1.2 doesn't answer on out; 9 messages wait",
                 "ip neighbour show dev out");
    scene.expect_since(5); // so long has something waited for it
    scene.reading.snapshot.unready_hops[0].resolved_ns = 97 * second;
    scene.expect_since(3); // it was there since
    scene.reading.snapshot.unready_hops[0].state = OLAF_HOP_NO_ROUTE;
    scene.expect(Health::blocked, "there is no route to 10.0.1.2 by out", "ip route get 10.0.1.2");
}

TEST(Verdict, AServerThatAcknowledgesNothingIsToldOf) {
    Scene scene;
    scene.reading.snapshot.window->silent = 1;
    scene.reading.snapshot.window->answered_ns = 60 * second;
    scene.expect(Health::blocked, "the server acknowledges nothing", "start the server");
    scene.expect_since(40);
}

TEST(Verdict, ADrainThatIsDownOrWithoutItsTokenIsToldOf) {
    Scene scene;
    scene.wait();
    scene.receive(5);
    scene.reading.snapshot.ring.drain_deadline_ns = 99 * second;
    scene.expect(Health::impaired, "the drain's token is missing", "any frame through in");
    scene.expect_since(1);
    scene.reading.host.drain_obstacle = "olaf7a is down";
    scene.expect(Health::impaired, "olaf7a is down: it is the drain's", "ip link set olaf7a up");
    EXPECT_TRUE(scene.verdict().besides.empty()) << "one cause, one finding";
    scene.reading.snapshot.active_clusters = 0; // no frame will carry them
    scene.expect(Health::blocked, "9 messages wait and fold", "ip link set olaf7a up");
}

TEST(Verdict, AHookThatSomebodyFreedIsNamedWithWhatItMeans) {
    Scene scene;
    scene.reading.host.missing_programs = {"olaf_egress"};
    scene.expect(Health::impaired, "olaf_egress off its hook: ACKs are neither stamped nor copied",
                 "olaf attach in --replace");
}

TEST(Verdict, RefusedUpdatesAreToldWithTheirReasonAndItsRemedy) {
    Scene scene;
    scene.receive(231);
    scene.reading.snapshot.counters.not_allowed[OLAF_NOT_ALLOWED_CLUSTER] = 231;
    scene.expect(Health::impaired, "231 of 462 messages refused: cluster id 1024 or above",
                 "larger --max-clusters");
    scene.reading.snapshot.counters.not_allowed[OLAF_NOT_ALLOWED_WORKER] = 500;
    scene.expect(Health::impaired, "500 worker not registered (--strict), 231 cluster id",
                 "--worker ID=ADDR");
}

TEST(Verdict, LessThanOneInAHundredIsToldOfAndDoesNotImpair) {
    Scene scene;
    scene.receive(10'000);
    scene.reading.snapshot.counters.not_allowed[OLAF_NOT_ALLOWED_COUNT] = 3;
    scene.expect(Health::working, "3 clusters active", "");
    ASSERT_EQ(scene.verdict().besides.size(), 1u);
    EXPECT_EQ(scene.verdict().besides[0].text,
              "3 of 10003 messages refused: count above the cluster's max_count");
}

TEST(Verdict, WhatIsLostBehindTheQueueIsToldWithItsPlace) {
    Scene scene;
    scene.receive(10);
    scene.reading.losses->frames[OLAF_LOST_SOCKET] = 4;
    scene.reading.losses->updates[OLAF_LOST_SOCKET] = 5;
    scene.expect(Health::impaired, "5 of 10 updates lost behind the queue: socket missing",
                 "is the server listening on port 6523");
    scene.reading.losses.reset();
    scene.expect(Health::working, "3 clusters active", "");
    EXPECT_NE(scene.verdict().besides.at(0).text.find("aren't watched"), std::string::npos);
}

TEST(Verdict, UpdatesThatPassTheQueueByAreToldAndOtherTrafficIsNot) {
    Scene scene;
    scene.reading.snapshot.counters.bypassed[OLAF_BYPASS_OTHER] = 1000;
    scene.expect(Health::idle, "no update has come", "UDP to port");
    scene.reading.snapshot.counters.bypassed[OLAF_BYPASS_UNBRIDGED] = 7;
    scene.expect(Health::impaired, "7 of 7 frames with updates passed the queue by: unbridged",
                 "--replace --bridge");
}

TEST(Verdict, AFullQueueIsToldOfAndARewardRuleIsNot) {
    Scene scene;
    scene.receive(100);
    scene.reading.snapshot.slots.dropped_reward = 50;
    scene.expect(Health::working, "3 clusters active", "");
    scene.reading.snapshot.slots.dropped_full = 20;
    scene.expect(Health::impaired, "20 of 100 messages dropped by the queue: full",
                 "a larger --queue");
}

TEST(Verdict, TheWorstComesFirstAndTheRestBeside) {
    Scene scene;
    scene.wait();
    scene.receive(10);
    scene.reading.snapshot.counters.malformed[OLAF_MALFORMED_VERSION] = 10;
    scene.reading.host.output_obstacle = "out is down";
    scene.expect(Health::blocked, "out is down", "ip link set out up");
    ASSERT_EQ(scene.verdict().besides.size(), 1u);
    EXPECT_EQ(health_name(scene.verdict().besides[0].health), "impaired");
    EXPECT_NE(scene.verdict().besides[0].text.find("version of the protocol"), std::string::npos);
}

} // namespace
} // namespace olaf::test::verdict_test
