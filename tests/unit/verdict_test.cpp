// SPDX-License-Identifier: BSD-2-Clause
// What a queue's verdict is, condition by condition.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <set>

#include "busy_queue.hpp"
#include "loader/observe/verdict.hpp"

namespace olaf::test::verdict_test {
namespace {

// A queue to be judged, and expectations about its verdict.

inline constexpr std::uint64_t second = 1'000'000'000;

/// A queue that forwards to `out`, at second 100.
struct Scene {
    Reading reading = quiet_queue();

    Scene() {
        auto &config = reading.attachment.record.config;
        config.deliver = OLAF_DELIVER_FORWARD;
        config.max_clusters = 1024;
        config.port_be = htons(6523);
        reading.attachment.alive = true;
        reading.host.output = "out";
        reading.aom.now_ns = 100 * second;
        reading.snapshot.ring.drain_deadline_ns = 101 * second;
    }
    /// Nine messages wait, the oldest for five seconds.
    void wait() {
        reading.snapshot.levels.queue_length = 9;
        reading.snapshot.oldest_arrival_ns = 95 * second;
    }
    void receive(std::uint64_t messages) {
        reading.snapshot.counters.received = messages;
        reading.snapshot.active_clusters = 3;
        reading.snapshot.slots.updates_passed = messages;
    }
    [[nodiscard]] QueueVerdict verdict() const {
        return judge(reading.attachment, reading, reading.host);
    }
    void expect(Health health, const std::string &text, const std::string &remedy) const {
        const auto found = verdict().first;
        EXPECT_EQ(health_name(found.health), health_name(health)) << found.text;
        EXPECT_NE(found.text.find(text), std::string::npos) << found.text;
        EXPECT_NE(found.remedy.find(remedy), std::string::npos) << found.remedy;
        EXPECT_EQ(found.remedy.empty(), remedy.empty()) << found.remedy;
    }
    void expect_since(std::optional<std::uint64_t> seconds) const {
        const auto since = verdict().first.since_ns;
        EXPECT_EQ(since, seconds ? std::optional(*seconds * second) : std::nullopt);
    }
};

// What a queue's verdict is, condition by condition.

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
    scene.reading.host.other_removal = "ip link set in xdp off";
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
    scene.expect(Health::blocked, "out refuses what the queue sends", "ip -s link show out");
    scene.expect_since(2);
}

TEST(Verdict, AnOutputThatRefusesXdpAloneImpairsTheQueue) {
    Scene scene;
    scene.wait();
    scene.reading.snapshot.xdp_gate = {.shut = 2, .error = ENXIO};
    scene.expect(Health::impaired,
                 "out refuses redirected frames of 2 CPUs (No such device or address): the drain "
                 "sends what departs",
                 "olaf attach in --replace");
    scene.reading.attachment.record.output_refused_cpus = 1;
    scene.expect(Health::impaired, "out refuses redirected frames of 2 CPUs", "olaf attach in --replace");
    scene.reading.attachment.record.output_refused_cpus = 2; // as ever: its driver has fewer channels than CPUs
    scene.expect(Health::working, "", "");
    scene.reading.attachment.record.output_takes = static_cast<std::uint32_t>(OutputTakes::nothing);
    scene.expect(Health::working, "", "");
}

TEST(Verdict, AnOutputThatWasDownAtTheAttachIsToBeTriedAgain) {
    Scene scene;
    scene.reading.attachment.record.output_takes = static_cast<std::uint32_t>(OutputTakes::unknown);
    const auto [first, besides] = scene.verdict();
    ASSERT_FALSE(besides.empty());
    EXPECT_EQ(besides.front().text,
              "whether out takes redirected frames wasn't tried: the drain sends what departs");
    EXPECT_EQ(besides.front().remedy, "olaf attach in --replace tries");
}

/// As after a reboot: the queue was attached before its link was up.
TEST(Verdict, ALineOfUnknownSpeedPacesNothing) {
    Scene scene;
    scene.reading.attachment.record.config.rate_bps = 0;
    EXPECT_EQ(scene.verdict().besides.size(), 0u);
    scene.reading.attachment.record.config.frame_overhead = ethernet_overhead;
    const auto [first, besides] = scene.verdict();
    ASSERT_FALSE(besides.empty());
    EXPECT_EQ(besides.front().text, "the rate is unlimited: the link speed of out wasn't known at attach");
}

/// As after a reboot: the queue was attached before the host had its addresses.
TEST(Verdict, UpdatesForAnAddressThatTheHostHasGotSinceAreItsOwn) {
    Scene scene;
    scene.reading.snapshot.counters.bypassed[OLAF_BYPASS_FOREIGN] = 9;
    scene.expect(Health::impaired, "passed the queue by", "let workers send");
    scene.reading.host.own.unknown = {"address 10.0.1.2"};
    scene.expect(Health::impaired, "passed the queue by", "olaf attach in --replace takes address 10.0.1.2 in");
}

TEST(Verdict, ADriverThatNeverRunsTheProgramIsTold) {
    Scene scene;
    scene.reading.host.frames_unseen = 100;
    scene.expect(Health::idle, "no update has come", "let workers send");
    scene.reading.host.frames_unseen = 101;
    scene.expect(Health::blocked, "in's driver runs the queue's program for none of the 101 frames",
                 "olaf detach in, then attach it with --mode skb");
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

// What a queue's verdict says of its jobs.

/// A job of four children that have yet to agree; so many of them have asked.
JobReading job_of_four(std::uint64_t asked) {
    JobReading job;
    job.job.setup.id = 7;
    job.job.setup.children = 4;
    job.job.state = OLAF_JOB_SYNCING;
    job.job.asked.word[0] = asked;
    return job;
}

TEST(Verdict, AJobThatWaitsForSomeOfItsMembersNamesThem) {
    Scene scene;
    scene.reading.jobs.push_back(job_of_four(0));
    scene.expect(Health::idle, "no update has come", "UDP to port 6523");
    EXPECT_NE(scene.verdict().besides.at(0).text.find("none has asked"), std::string::npos);
    scene.reading.jobs[0] = job_of_four(0b0101);
    scene.expect(Health::impaired, "job 7 waits for ranks 1, 3 to ask", "start them");
    scene.reading.jobs[0] = job_of_four(0b1111);
    scene.reading.jobs[0].job.setup.parent_family = 4;
    scene.expect(Health::impaired, "job 7 waits for its parent, 0.0.0.0:0", "olaf status there");
    scene.reading.jobs[0].job.halted = 1;
    EXPECT_EQ(scene.verdict().besides.at(0).remedy, "olaf job resume in 7");
}

TEST(Verdict, AQueueWhoseJobsAreAtWorkWorks) {
    Scene scene;
    auto &job = scene.reading.jobs.emplace_back(job_of_four(0b1111));
    job.job.state = OLAF_JOB_RUNNING;
    job.counters.received = 9;
    job.counters.completed = 2;
    job.members.resize(1);
    job.members[0].member.last_seen_ns = 100 * second;
    scene.reading.attachment.record.config.activity_window_ns = second;
    scene.expect(Health::working, "1 job, 2 chunks completed", "");
    job.members[0].member.last_seen_ns = 90 * second;
    scene.expect(Health::idle, "no contribution comes", "");
    scene.expect_since(10);
}

/// A job that runs, of ranks 0 to 3, at second 100: those of `heard` were heard just now, the
/// others last at second 70.
JobReading running_job(std::set<std::uint32_t> heard) {
    auto job = job_of_four(0b1111);
    job.job.state = OLAF_JOB_RUNNING;
    job.counters.received = 9;
    for (std::uint32_t rank = 0; rank < 4; rank++) {
        auto &known = job.members.emplace_back();
        known.worker = rank;
        known.member.last_seen_ns = (heard.contains(rank) ? 100 : 70) * second;
    }
    return job;
}

/// With a member timeout of a minute.
Scene scene_of(JobReading job) {
    Scene scene;
    auto &config = scene.reading.attachment.record.config;
    config.activity_window_ns = second;
    config.member_timeout_ns = 60 * second;
    scene.reading.jobs.push_back(std::move(job));
    return scene;
}

TEST(Verdict, AJobThatHangsOnASilentMemberNamesItAndSaysSinceWhen) {
    auto job = running_job({0, 1, 3});
    job.open = 5;
    job.oldest_open = {.since_ns = 80 * second, .round = 12, .chunk = 3, .lacks = {2, 3}};
    const auto scene = scene_of(job);
    scene.expect(Health::impaired,
                 "job 7 waits for rank 2, silent: 5 of its chunks are open, the oldest is chunk 3 "
                 "of round 12",
                 "olaf job leave in 7 2");
    scene.expect_since(30);
}

TEST(Verdict, AJobThatHangsOnMembersThatWereNeverHeardSaysSinceWhenItsChunkIsOpen) {
    auto job = running_job({0, 1});
    job.members.resize(2);
    job.oldest_open = {.since_ns = 80 * second, .round = 0, .chunk = 0, .lacks = {2, 3}};
    const auto scene = scene_of(job);
    scene.expect(Health::impaired, "job 7 waits for ranks 2, 3, silent",
                 "for rank in 2 3; do olaf job leave in 7 $rank; done");
    scene.expect_since(20);
}

TEST(Verdict, AJobWhoseChunkIsOpenForNoLongTimeHangsOnNobody) {
    auto job = running_job({0, 1, 3});
    job.oldest_open = {.since_ns = 99 * second, .round = 12, .chunk = 3, .lacks = {2}};
    scene_of(job).expect(Health::working, "1 job", "");
}

TEST(Verdict, AJobWhoseMembersAllStoppedIsIdle) {
    auto job = running_job({});
    job.oldest_open = {.since_ns = 75 * second, .round = 12, .chunk = 3, .lacks = {2}};
    scene_of(job).expect(Health::idle, "no contribution comes", "");
}

TEST(Verdict, AMemberThatIsSlowButSendsIsNotNamed) {
    auto job = running_job({0, 1, 2, 3});
    job.oldest_open = {.since_ns = 75 * second, .round = 12, .chunk = 3, .lacks = {2}};
    scene_of(job).expect(Health::working, "1 job", "");
}

TEST(Verdict, AJobWhoseParentDoesNotAnswerSaysSo) {
    auto job = running_job({0, 1, 2, 3});
    job.job.setup.parent_family = 4;
    job.up = 4;
    job.oldest_up = {.since_ns = 60 * second, .round = 12, .chunk = 3, .lacks = {}};
    const auto scene = scene_of(job);
    scene.expect(Health::impaired,
                 "job 7 waits for its parent, 0.0.0.0:0: it hasn't answered 4 of the sums",
                 "olaf status there");
    scene.expect_since(40);
}

TEST(Verdict, FloatsThatMadeNaNAreToldBesides) {
    auto job = running_job({0, 1, 2, 3});
    job.job.setup.float_bits = 40;
    job.counters.float_overflow = 12;
    job.counters.float_not_finite = 3;
    const auto scene = scene_of(job);
    scene.expect(Health::working, "1 job", "");
    const auto besides = scene.verdict().besides;
    ASSERT_EQ(besides.size(), 2U);
    EXPECT_NE(besides[0].text.find("12 floats were too large"), std::string::npos)
        << besides[0].text;
    EXPECT_NE(besides[0].remedy.find("--float-bits below 40"), std::string::npos)
        << besides[0].remedy;
    EXPECT_NE(besides[1].text.find("3 floats were NaN or infinite"), std::string::npos)
        << besides[1].text;
}

TEST(Verdict, SumsTooLongForTheWayUpImpairAJobAsLongAsTheyWait) {
    auto job = running_job({0, 1, 2, 3});
    job.counters.up_unfit = 5;
    job.up = 1;
    job.job.setup.lanes = 64;
    job.job.setup.parent_family = 4;
    auto scene = scene_of(job);
    scene.expect(Health::impaired, "5 times a sum was too long for the MTU", "ip link set in mtu 588");
    scene.reading.jobs[0].up = 0;
    scene.expect(Health::working, "1 job", "");
}

TEST(Verdict, RefusedSourcesOfAJobAreNoCaseForClusters) {
    Scene scene;
    scene.reading.snapshot.counters.not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE] = 9;
    scene.expect(Health::impaired, "9 of 9 messages refused", "olaf job leave in JOB RANK");
    scene.reading.snapshot.counters.not_allowed[OLAF_NOT_ALLOWED_JOB_RESULT] = 90;
    scene.expect(Health::impaired, "99 of 99 messages refused", "isn't a job's parent");
}

// Since when, and until when: what a verdict says of troubles that go on, and of those that ended.

/// Half of all messages are refused, between these seconds of the scene's clock.
Scene refusing(std::uint64_t began, std::uint64_t last) {
    Scene scene;
    scene.receive(231);
    scene.reading.snapshot.counters.not_allowed[OLAF_NOT_ALLOWED_CLUSTER] = 231;
    scene.reading.spells[OLAF_TROUBLE_NOT_ALLOWED] = Spell{began * second, last * second};
    return scene;
}

TEST(Verdict, ATroubleThatGoesOnIsToldWithForHowLong) {
    const auto scene = refusing(88, 99);
    scene.expect(Health::impaired, "231 of 462 messages refused", "larger --max-clusters");
    scene.expect_since(12);
    EXPECT_EQ(scene.verdict().first.last_ns, std::nullopt);
    EXPECT_EQ(verdict_line(scene.verdict().first),
              "impaired for 12.0s: 231 of 462 messages refused: cluster id 1024 or above");
}

TEST(Verdict, ATroubleThatHasEndedIsToldWithHowLongAgoItWas) {
    const auto scene = refusing(60, 75);
    scene.expect(Health::impaired, "231 of 462 messages refused", "larger --max-clusters");
    scene.expect_since(40);
    EXPECT_EQ(scene.verdict().first.last_ns, 25 * second);
    EXPECT_EQ(
        verdict_line(scene.verdict().first),
        "impaired: 231 of 462 messages refused: cluster id 1024 or above; the last one 25.0s ago");
}

TEST(Verdict, ATroubleGoesOnUntilTheGapIsOver) {
    EXPECT_EQ(refusing(80, 90).verdict().first.last_ns, std::nullopt);
    auto scene = refusing(80, 90);
    scene.reading.aom.now_ns += 1;
    EXPECT_EQ(scene.verdict().first.last_ns, 10 * second + 1);
}

TEST(Verdict, WhatHasNotHappenedForAMinuteImpairsNothing) {
    auto scene = refusing(30, 40);
    scene.reading.aom.now_ns = 100 * second - 1;
    scene.expect(Health::impaired, "231 of 462 messages refused", "larger --max-clusters");
    scene.reading.aom.now_ns = 100 * second;
    scene.expect(Health::working, "3 clusters active", "");
    const auto besides = scene.verdict().besides;
    ASSERT_EQ(besides.size(), 1u);
    EXPECT_EQ(also_line(besides[0]),
              "231 of 462 messages refused: cluster id 1024 or above; the last one 60.0s ago");
    EXPECT_NE(besides[0].remedy, "");
}

TEST(Verdict, WhatImpairsNothingIsToldWithForHowLongItGoesOn) {
    auto scene = refusing(88, 99);
    scene.receive(1'000'000);
    const auto besides = scene.verdict().besides;
    ASSERT_EQ(besides.size(), 1u);
    EXPECT_EQ(also_line(besides[0]), "231 of 1000231 messages refused: cluster id 1024 or above; "
                                     "going on for 12.0s");
}

TEST(Verdict, ATroubleWhoseTimeIsNotKnownImpairsAllTheSame) {
    auto scene = refusing(88, 99);
    scene.reading.spells = {};
    scene.expect(Health::impaired, "231 of 462 messages refused", "larger --max-clusters");
    scene.expect_since({});
}

/// Each has a spell of its own, and the verdict takes that one.
TEST(Verdict, EachTroubleHasItsOwnTime) {
    using Happen = void (*)(Reading &);
    const std::pair<olaf_trouble, Happen> troubles[] = {
        {OLAF_TROUBLE_MALFORMED, [](Reading &now) { now.snapshot.counters.malformed[0] = 9; }},
        {OLAF_TROUBLE_NOT_ALLOWED, [](Reading &now) { now.snapshot.counters.not_allowed[0] = 9; }},
        {OLAF_TROUBLE_BYPASSED,
         [](Reading &now) { now.snapshot.counters.bypassed[OLAF_BYPASS_FOREIGN] = 9; }},
        {OLAF_TROUBLE_DROPPED, [](Reading &now) { now.snapshot.counters.dropped_contended = 9; }},
        {OLAF_TROUBLE_UNFIT, [](Reading &now) { now.snapshot.counters.departures_unfit = 9; }},
        {OLAF_TROUBLE_LOST, [](Reading &now) { now.losses->updates[OLAF_LOST_SOCKET] = 9; }},
    };
    EXPECT_EQ(std::size(troubles), OLAF_TROUBLES);
    for (const auto &[trouble, happen] : troubles) {
        Scene scene;
        scene.receive(9);
        happen(scene.reading);
        scene.reading.spells[trouble] = Spell{70 * second, 95 * second};
        EXPECT_EQ(health_name(scene.verdict().first.health), "impaired") << trouble;
        scene.expect_since(30);
    }
}

TEST(Verdict, JsonSaysWhenATroubleBeganAndWhenItEnded) {
    const auto running = json_of(refusing(88, 99).reading).at("verdict");
    EXPECT_EQ(running.at("since_ns"), 12 * second);
    EXPECT_TRUE(running.at("last_ns").is_null());
    const auto ended = json_of(refusing(60, 75).reading).at("verdict");
    EXPECT_EQ(ended.at("since_ns"), 40 * second);
    EXPECT_EQ(ended.at("last_ns"), 25 * second);
}

} // namespace
} // namespace olaf::test::verdict_test
