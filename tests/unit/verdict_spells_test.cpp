// SPDX-License-Identifier: BSD-2-Clause
// Since when, and until when: what a verdict says of troubles that go on, and of those that ended.
#include "verdict_scene.hpp"

namespace olaf::test::verdict_spells_test {
namespace {

using namespace olaf;
using namespace olaf::test;

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
} // namespace olaf::test::verdict_spells_test
