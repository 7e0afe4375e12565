// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "round_simulation.hpp"

using namespace olaf::model;

namespace {

std::string describe(const RoundWorld &world) {
    std::string text =
        "seed " + std::to_string(world.seed) + ": " + std::to_string(world.workers) + " workers" +
        (world.tree ? ", tree" : "") + ", p " + std::to_string(world.pool) + "/" +
        std::to_string(world.second_pool) + ", loss " + std::to_string(world.loss) + ", restarts " +
        std::to_string(world.restarts) + ", lag " + std::to_string(world.lag) + ", under way " +
        std::to_string(world.under_way) + (world.slow_worker ? ", slow" : "") +
        (world.duplication > 0 ? ", doubles" : "") + (world.reordering > 0 ? ", reorders" : "") +
        ", vectors";
    for (const std::uint32_t chunks : world.vectors)
        text += " " + std::to_string(chunks);
    return text;
}

std::uint64_t number(const char *variable, std::uint64_t otherwise) {
    const char *const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// OLAF_SEED and OLAF_SEEDS: from where on, and how many.
void run(RoundWorld (*world_of)(std::uint64_t), std::uint64_t seeds) {
    const std::uint64_t first = number("OLAF_SEED", 1);
    unsigned wrong = 0;
    for (std::uint64_t seed = first; seed < first + number("OLAF_SEEDS", seeds); seed++) {
        const RoundWorld world = world_of(seed);
        RoundSimulation simulation(world);
        const std::string problem = simulation.run();
        EXPECT_EQ(problem, "") << describe(world) << " at " << simulation.now() << " ns";
        wrong += problem.empty() ? 0 : 1;
        ASSERT_LT(wrong, 5U);
    }
}

TEST(RoundSimulation, EverySumIsExactAndNothingHangs) {
    run(random_world, 5000);
}

TEST(RoundSimulation, ImpatientRootsGiveAllTheSameAndNothingHangs) {
    run(impatient_world, 2500);
}

RoundWorld leaving_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.leaves = true;
    return world;
}

TEST(RoundSimulation, WhoLeavesWithAFarewellLeavesNobodyWithoutASum) {
    run(leaving_world, 5000);
}

RoundWorld without_restarts(std::uint64_t seed) {
    RoundWorld world = changing_world(seed);
    world.restarts = 0;
    return world;
}

// Who joins gets every sum from its first round on, who departs is let go, and the others go on.
TEST(RoundSimulation, WhoComesAndGoesIsInEverySumThatItShouldBeIn) {
    run(without_restarts, 3000);
}

// A node that is restarted knows who was absent, and no more.
TEST(RoundSimulation, NobodyHangsWhereANodeIsRestartedWhileMembersComeAndGo) {
    run(changing_world, 3000);
}

TEST(RoundSimulation, WhoSkipsWhatTheOthersHaveHoldsNobodyUp) {
    run(skipping_world, 300);
    RoundSimulation simulation(skipping_world(1));
    ASSERT_EQ(simulation.run(), "");
    EXPECT_GT(simulation.skipped(), 0U);
}

// Where each sum is without somebody more results are owed than frames come. Vectors are shorter than
// the window, so that workers wait for results though it has room.
TEST(RoundSimulation, WhereSumsAreWithoutSomebodyNobodyWaitsUntilItAsksAgain) {
    for (const std::uint32_t lag : {0U, 1U})
        for (const std::uint32_t under_way : {1U, 2U, 4U}) {
            RoundSimulation simulation({.workers = 4,
                                        .pool = 6,
                                        .vectors = std::vector<std::uint32_t>(200, 2),
                                        .lag = lag,
                                        .under_way = under_way,
                                        .slow_worker = true,
                                        .threshold = 2});
            ASSERT_EQ(simulation.run(), "");
            EXPECT_EQ(simulation.stats().repeated, 0U)
                << "lag " << lag << ", " << under_way << " under way";
        }
}

RoundWorld by_multicast(RoundWorld world) {
    world.multicast = true;
    return world;
}

// One frame for all: each worker loses it or not by itself, and who has left or not joined yet hears it too.
TEST(RoundSimulation, ByMulticastEverySumIsExactAndNothingHangs) {
    run([](std::uint64_t seed) { return by_multicast(random_world(seed)); }, 2500);
}

TEST(RoundSimulation, ByMulticastImpatientRootsGiveAllTheSame) {
    run([](std::uint64_t seed) { return by_multicast(impatient_world(seed)); }, 1500);
}

TEST(RoundSimulation, ByMulticastWhoComesAndGoesIsInEverySumThatItShouldBeIn) {
    run([](std::uint64_t seed) { return by_multicast(changing_world(seed)); }, 2000);
}

TEST(RoundSimulation, ByMulticastOneFrameTakesASumToAll) {
    for (const bool tree : {false, true}) {
        RoundSimulation simulation(
            {.workers = 4, .tree = tree, .pool = 6, .second_pool = 6, .vectors = {2000}, .multicast = true});
        ASSERT_EQ(simulation.run(), "");
        const RoundCounters &root = simulation.at_root();
        EXPECT_EQ(root.multicast, root.completed);
        EXPECT_EQ(root.riding + root.copied, 0u);
        EXPECT_LT(root.repeated, root.completed / 100);
    }
}

// Frames bring results for as long as frames come; clones are for the rest.
TEST(RoundSimulation, MostResultsRide) {
    constexpr auto began = static_cast<std::uint64_t>(olaf::RoundTimeout::kFirst.count());
    for (const std::uint32_t workers : {2U, 4U, 8U}) {
        RoundSimulation simulation({.workers = workers, .pool = 6, .vectors = {2000}});
        ASSERT_EQ(simulation.run(), "");
        const RoundCounters &root = simulation.at_root();
        EXPECT_GT(root.riding, 2 * root.copied) << workers << " workers";
        // Who asked first where to begin asks once more. Then 64 chunks in a round trip of about 20 us,
        // and what riding takes: no chunk is waited for until it is sent again.
        EXPECT_LT(simulation.now(), began + 3'000'000U) << workers << " workers";
    }
}

// What a rule is for shows where it is broken.
struct Broken {
    const char *name;
    void (*break_it)(RoundWorld &);
};

void PrintTo(const Broken &broken, std::ostream *out) {
    *out << broken.name;
}

class RoundRule : public testing::TestWithParam<Broken> {};

TEST_P(RoundRule, IsMissedWhereItIsBroken) {
    for (std::uint64_t seed = 1; seed <= 10000; seed++) {
        RoundWorld world = random_world(seed);
        GetParam().break_it(world);
        if (!RoundSimulation(world).run().empty())
            return;
    }
    FAIL() << "nobody noticed";
}

// Below one node of a tree windows are wider than below the other, and than the root's.
void disagree_on_pools(RoundWorld &world) {
    world.broken.pool_is_not_agreed_upwards = true;
    world.tree = true;
    world.workers = 4;
    world.pool = 4;
    world.second_pool = 0;
    world.restarts = 1;
    world.loss = 0.01;
    world.lag = 0;
    world.under_way = 4;
    world.vectors = {40, 40, 40};
}

constexpr Broken kBroken[] = {
    {"AggregatesGoUpAgain", [](RoundWorld &w) { w.broken.never_sends_up_again = true; }},
    {"ASyncStopsTheJob", [](RoundWorld &w) { w.broken.sync_does_not_stop = true; }},
    {"DuplicatesAreNotAdded", [](RoundWorld &w) { w.broken.duplicates_are_added = true; }},
    {"DuplicatesAreAnswered", [](RoundWorld &w) { w.broken.duplicates_are_not_answered = true; }},
    {"GenerationsAreCompared", [](RoundWorld &w) { w.broken.generations_do_not_matter = true; }},
    {"AllBeginAtTheLowest", [](RoundWorld &w) { w.broken.begins_where_the_last_one_asks = true; }},
    {"AStaleOfTheParentStops", [](RoundWorld &w) { w.broken.parents_stale_is_ignored = true; }},
    {"AStaleEchoes", [](RoundWorld &w) { w.broken.stale_echoes_nothing = true; }},
    {"AllHaveOnePool", disagree_on_pools},
    {"WorkersSendAgain", [](RoundWorld &w) { w.never_again = true; }},
    {"WhoLeavesBidsFarewell", [](RoundWorld &w) { w.leaves = w.leaves_at_once = true; }},
    {"WhoHasJoinedOpensNoChunks",
     [](RoundWorld &w) {
         w = without_restarts(w.seed);
         w.broken.joiners_open_chunks = true;
     }},
    {"AJoiningWaitsForANewRound",
     [](RoundWorld &w) {
         w = without_restarts(w.seed);
         w.broken.joins_begin_at_once = true;
     }},
    {"WhoForgotSaysSo",
     [](RoundWorld &w) {
         w = changing_world(w.seed + 15'000);
         w.broken.what_was_forgotten_does_not_matter = true;
     }},
    {"TheWindowIsKept", [](RoundWorld &w) { w.wider_window = 2; }},
};

INSTANTIATE_TEST_SUITE_P(All, RoundRule, testing::ValuesIn(kBroken),
                         [](const auto &each) { return each.param.name; });

} // namespace
