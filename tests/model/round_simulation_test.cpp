// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <string_view>

#include "round_simulation.hpp"

using namespace olaf::model;

namespace {

std::string describe(const RoundWorld &world) {
    std::string text =
        "seed " + std::to_string(world.seed) + ": " + std::to_string(world.workers) + " workers" +
        (world.tree ? ", tree" : "") + ", p " + std::to_string(world.pool) + "/" +
        std::to_string(world.second_pool) + ", loss " + std::to_string(world.loss) + ", restarts " +
        std::to_string(world.restarts) + ", deaths " + std::to_string(world.deaths) + ", resets " + std::to_string(world.resets) + ", lag " + std::to_string(world.lag) +
        (world.spares ? ", spares" : "") + ", under way " + std::to_string(world.under_way) + (world.slow_worker ? ", slow" : "") +
        (world.duplication > 0 ? ", doubles" : "") + (world.reordering > 0 ? ", reorders" : "") +
        ", damage " + std::to_string(world.damage);
    for (const std::uint32_t worker : world.late)
        text += ", " + std::to_string(worker) + " joins";
    for (const std::uint32_t worker : world.leaving)
        text += ", " + std::to_string(worker) + " leaves";
    text += ", vectors";
    for (const std::uint32_t chunks : world.vectors)
        text += " " + std::to_string(chunks);
    return text;
}

std::uint64_t number(const char *variable, std::uint64_t otherwise) {
    const char *const text = std::getenv(variable);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// How many worlds are simulated where a test has `seeds` of them: OLAF_SEEDS, a number or a share
// of them ("25%"); else all.
std::uint64_t number_of_worlds(std::uint64_t seeds) {
    const std::uint64_t asked = number("OLAF_SEEDS", seeds);
    const char *const text = std::getenv("OLAF_SEEDS");
    const bool is_share = text != nullptr && std::string_view(text).ends_with('%');
    return is_share ? seeds * asked / 100 : asked;
}

// The worlds from OLAF_SEED on, 1 if it isn't set. In all of the `seeds` that a test has workers
// are told more than `told_often` times that another one has begun anew.
void run(RoundWorld (*world_of)(std::uint64_t), std::uint64_t seeds, std::uint64_t told_often = 0) {
    const std::uint64_t first = number("OLAF_SEED", 1), worlds = number_of_worlds(seeds);
    std::uint64_t told = 0;
    unsigned wrong = 0;
    for (std::uint64_t seed = first; seed < first + worlds; seed++) {
        const RoundWorld world = world_of(seed);
        RoundSimulation simulation(world);
        const std::string problem = simulation.run();
        EXPECT_EQ(problem, "") << describe(world) << " at " << simulation.now() << " ns";
        told += simulation.told_of_deaths();
        wrong += problem.empty() ? 0 : 1;
        if (wrong == 5)
            break;
    }
    if (told_often > 0 && worlds >= seeds) {
        EXPECT_GT(told, told_often);
    }
}

TEST(RoundSimulation, EverySumIsExactAndNothingHangs) {
    run(random_world, 5000);
}

// Nobody takes what was damaged, nor is told that its part isn't in a sum that it is in.
TEST(RoundSimulation, WhereLanesAreDamagedEverySumIsExactAndNothingHangs) {
    run(damaged_world, 2000);
}

TEST(RoundSimulation, WhereLanesAreDamagedAllKnowWhetherTheirPartIsInASum) {
    run(impatient_damaged_world, 2000);
}

TEST(RoundSimulation, WhatWasDamagedIsGatheredAnew) {
    std::uint64_t damaged = 0, anew = 0;
    for (std::uint64_t seed = 1; seed <= 100; seed++) {
        RoundSimulation simulation(damaged_world(seed));
        EXPECT_EQ(simulation.run(), "") << seed;
        damaged += simulation.damaged();
        anew += simulation.gathered_anew();
    }
    EXPECT_GT(anew, damaged / 10);
    EXPECT_LT(anew, damaged) << "a result that was damaged behind the root leaves again";
}

TEST(RoundSimulation, ImpatientRootsGiveAllTheSameAndNothingHangs) {
    run(impatient_world, 2500);
}

// Each sum is of contributions that were packed by one exponent, whatever each worker was told before.
TEST(RoundSimulation, WhereAllBeginAnewAndFindOtherExponentsAllPackByTheSame) {
    constexpr unsigned seeds = 4000;
    run(other_exponents_world, seeds);
    unsigned packed_anew = 0, gave_up = 0;
    for (std::uint64_t seed = 1; seed <= seeds / 4; seed++) {
        RoundSimulation simulation(other_exponents_world(seed));
        EXPECT_EQ(simulation.run(), "");
        packed_anew += simulation.packed_anew();
        gave_up += simulation.gave_up() ? 1 : 0;
    }
    EXPECT_GT(packed_anew, seeds / 100);
    EXPECT_LT(gave_up, seeds / 40);
}

RoundWorld summed_anew_world(std::uint64_t seed) {
    RoundWorld world = other_exponents_world(seed);
    if (seed % 2 == 0) { // without any exponents
        world.other_exponents = world.spares = false;
        world.lag = 0;
    }
    world.finishes = true;
    return world;
}

// Who was given a sum that others don't have is told, and goes on no further.
TEST(RoundSimulation, WhereAllBeginAnewWithoutSomebodyThoseWhoFinishHoldTheSameSums) {
    constexpr unsigned seeds = 4000;
    run(summed_anew_world, seeds);
    unsigned told = 0;
    for (std::uint64_t seed = 1; seed <= seeds / 4; seed++) {
        RoundSimulation simulation(summed_anew_world(seed));
        EXPECT_EQ(simulation.run(), "");
        told += simulation.told_of_other_sums() ? 1 : 0;
    }
    EXPECT_GT(told, seeds / 100);
}

RoundWorld leaving_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.finishes = true;
    return world;
}

TEST(RoundSimulation, WhoFinishesLeavesNobodyWithoutASum) {
    run(leaving_world, 5000);
}

// Who joins gets every sum from its first round on, who leaves is let go, and the others go on.
TEST(RoundSimulation, WhoComesAndGoesIsInEverySumThatItShouldBeIn) {
    run(without_restarts, 3000);
}

// A node that is restarted knows who was absent, and no more.
TEST(RoundSimulation, NobodyHangsWhereANodeIsRestartedWhileMembersComeAndGo) {
    run(changing_world, 3000);
}

// The node above sees nothing of it but counts.
TEST(RoundSimulation, BelowATreeWhoComesAndGoesIsInEverySumThatItShouldBeIn) {
    run(tree_without_restarts, 3000);
}

// What one node knows of its members the others don't, and any of them may forget.
TEST(RoundSimulation, NobodyHangsWhereANodeOfATreeIsRestartedWhileMembersComeAndGo) {
    run(changing_tree, 4000);
}

TEST(RoundSimulation, NobodyHangsWhereMembersComeAndGoWhileAllBeginAnewAgainAndAgain) {
    run(restless_world, 2000);
    run(restless_tree, 3000);
}

TEST(RoundSimulation, WhoSkipsWhatTheOthersHaveHoldsNobodyUp) {
    run(skipping_world, 300);
    RoundSimulation simulation(skipping_world(1));
    ASSERT_EQ(simulation.run(), "");
    EXPECT_GT(simulation.skipped(), 0U);
}

// Where each sum is without somebody more results are owed than frames come. Vectors are shorter
// than the window, so that workers wait for results though it has room. Frames keep their order: what comes late was
// sent late.
TEST(RoundSimulation, WhereSumsAreWithoutSomebodyNobodyWaitsUntilItAsksAgain) {
    for (const std::uint32_t chunks : {2U, 3U})
        for (const std::uint32_t lag : {0U, 1U})
            for (const std::uint32_t under_way : {1U, 2U, 4U}) {
                RoundSimulation simulation({.workers = 4,
                                            .pool = 6,
                                            .delay = 1'000,
                                            .vectors = std::vector<std::uint32_t>(200, chunks),
                                            .lag = lag,
                                            .under_way = under_way,
                                            .slow_worker = true,
                                            .slow_pace = 30'000,
                                            .threshold = 2});
                ASSERT_EQ(simulation.run(), "");
                EXPECT_EQ(simulation.stats().repeated, 0U)
                    << chunks << " chunks, lag " << lag << ", " << under_way << " under way";
            }
}

// Each sum reaches the rule once, in order, and every worker has its answer, whoever was restarted.
TEST(RoundSimulation, AParameterServerAnswersEverySumOnceAndNothingHangs) {
    run(serving_world, 5000);
}

RoundWorld serving_until_all_leave(std::uint64_t seed) {
    RoundWorld world = serving_world(seed);
    world.finishes = true;
    return world;
}

// A server that was restarted in the middle of a round sees all of it.
TEST(RoundSimulation, AParameterServerThatAllHaveLeftHasSeenWholeRoundsOnly) {
    run(serving_until_all_leave, 20000); // one in some thousand shows a farewell that comes too early
}

// It may need chunks that workers don't keep any more. Then these fail, and it never sees a part
// only.
TEST(RoundSimulation, WhereWorkersKeepTooLittleForARestartedServerTheySaySo) {
    unsigned failed = 0;
    for (std::uint64_t seed = 1; seed <= 1000; seed++) {
        RoundWorld world = random_world(seed);
        world.server = world.finishes = true;
        world.spares = false;
        world.restarts = 3;
        world.vectors = {200, 200, 200};
        RoundSimulation simulation(world);
        const std::string problem = simulation.run();
        failed += problem.empty() ? 0 : 1;
        if (!problem.empty()) {
            EXPECT_NE(problem.find("a member began anew in the middle"), std::string::npos)
                << problem << "; " << describe(world);
        }
    }
    EXPECT_GT(failed, 3U);
    EXPECT_LT(failed, 1000U);
}

RoundWorld by_multicast(RoundWorld world) {
    world.multicast = true;
    return world;
}

// One frame for all: each worker loses it or not by itself, and who has left or not joined yet
// hears it too.
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
        RoundSimulation simulation({.workers = 4,
                                    .tree = tree,
                                    .pool = 6,
                                    .second_pool = 6,
                                    .vectors = {2000},
                                    .multicast = true});
        ASSERT_EQ(simulation.run(), "");
        const RoundCounters &root = simulation.at_root();
        EXPECT_EQ(root.multicast, root.completed);
        EXPECT_EQ(root.riding + root.copied, 0u);
        EXPECT_LT(root.repeated, root.completed / 100);
    }
}

TEST(RoundSimulation, WhereAVectorDiffersAllAreToldAndNobodyTakesASum) {
    run(odd_world, 3000);
}

// No sum has a part of what somebody gave before it was killed beside one of what somebody gave after that.
TEST(RoundSimulation, WhereWorkersAreKilledAllBeginAnewAndNoSumMixesWhatWasBefore) {
    run(reborn_world, 3000, 3000);
}

// Processes of an earlier run go on until they hear of it, and are in no sum of the later one's.
TEST(RoundSimulation, WhereALaterRunBeginsItHasTheJobAndAllOthersAreTold) {
    run(later_world, 3000, 3000);
}

RoundWorld reborn_until_all_leave(std::uint64_t seed) {
    RoundWorld world = reborn_world(seed);
    world.finishes = true;
    return world;
}

// Who holds all sums may have finished by then. All others are told, and nobody waits in a session that is over.
TEST(RoundSimulation, WhereWorkersAreKilledWhileOthersFinishNobodyWaitsForThemInTheirSession) {
    run(reborn_until_all_leave, 3000, 500);
}

// Again and again, while all agree for the first time and some answers are lost.
RoundWorld begun_again(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.loss = 0.2;
    world.resets = 6;
    return world;
}

TEST(RoundSimulation, WhoWasNotAnsweredHasNotBegunAnew) {
    std::uint64_t unheard = 0;
    run(begun_again, 2000);
    for (std::uint64_t seed = 1; seed <= 200; seed++) {
        RoundSimulation simulation(begun_again(seed));
        EXPECT_EQ(simulation.run(), "");
        unheard += simulation.at_root().unheard;
    }
    EXPECT_GT(unheard, 10U);
}

TEST(RoundSimulation, WhereTwoJobsBecomeOneAllBeginAnew) {
    run(parted_world, 1000, 2000);
}

// A chunk whose sum an earlier one brought is sent by nobody.
TEST(RoundSimulation, WhatIsSparedIsNotSent) {
    RoundSimulation simulation(
        {.workers = 2, .pool = 4, .vectors = {40, 40}, .lag = 20, .spares = true, .finishes = true});
    ASSERT_EQ(simulation.run(), "");
    const auto stats = simulation.stats();
    EXPECT_GT(stats.spared, 0U);
    EXPECT_EQ(stats.sent + stats.spared, 2U * (80U + 1U)) << "and a farewell each";
}

// Frames bring results for as long as frames come; clones are for the rest.
TEST(RoundSimulation, MostResultsRide) {
    constexpr auto began = static_cast<std::uint64_t>(olaf::RoundTimeout::kFirst.count());
    for (const std::uint32_t workers : {2U, 4U, 8U}) {
        unsigned prompt = 0;
        for (std::uint64_t seed = 1; seed <= 20; seed++) {
            RoundSimulation simulation(
                {.seed = seed, .workers = workers, .pool = 6, .vectors = {2000}});
            ASSERT_EQ(simulation.run(), "");
            const RoundCounters &root = simulation.at_root();
            EXPECT_GT(root.riding, 2 * root.copied) << workers << " workers, seed " << seed;
            // Who asked first where to begin asks once more. Then 64 chunks in a round trip of
            // about 20 us, and what riding takes.
            prompt += simulation.now() < began + 3'000'000U ? 1 : 0;
        }
        // Frames overtake each other here. Where one overtakes the last FLUSH, its chunk's result
        // waits until somebody asks again; elsewhere nothing does.
        EXPECT_GE(prompt, 5U) << workers << " workers";
    }
}

// Against waits that are too short, which send for nothing, and too long ones. A lost contribution takes three
// repetitions, as nobody knows whose it was, and a lost result one. The limits are a quarter above what it takes.
TEST(RoundSimulation, WhatIsLostIsSentAgainSoonAndLittleElse) {
    struct Case {
        double loss;
        std::uint8_t pool;
        std::uint64_t slow_ms; // a message of the slow worker's
        std::uint64_t repeated;          // whatever is lost
        double repeated_a_loss;
        std::uint64_t ms;
    };
    constexpr std::uint64_t seeds = 20;
    for (const Case &each :
         {Case{0, 0, 10, 5, 0, 2'500}, Case{0, 3, 10, 25, 0, 2'500}, Case{0, 6, 1, 245, 0, 315},
          Case{0.01, 0, 0, 0, 3.5, 18}, Case{0.05, 3, 0, 0, 3.2, 26}, Case{0.05, 6, 0, 0, 3.3, 20},
          Case{0.2, 6, 0, 0, 2.5, 67}, Case{0.2, 6, 1, 245, 1, 390}}) {
        std::uint64_t repeated = 0, lost = 0, ns = 0;
        for (std::uint64_t seed = 1; seed <= seeds; seed++) {
            RoundSimulation simulation({.seed = seed,
                                        .workers = 3,
                                        .pool = each.pool,
                                        .loss = each.loss,
                                        .vectors = {100, 100},
                                        .slow_worker = each.slow_ms > 0,
                                        .slow_pace = each.slow_ms * 1'000'000});
            ASSERT_EQ(simulation.run(), "");
            repeated += simulation.stats().repeated;
            lost += simulation.lost();
            ns += simulation.now();
        }
        const std::string world = "loss " + std::to_string(each.loss) + ", p " + std::to_string(each.pool) +
                                  ", slow by " + std::to_string(each.slow_ms) + " ms";
        EXPECT_LE(static_cast<double>(repeated),
                  static_cast<double>(seeds * each.repeated) + each.repeated_a_loss * static_cast<double>(lost))
            << world;
        EXPECT_LE(ns, seeds * each.ms * 1'000'000) << world;
    }
}

// Each link takes 50 us, a message 2 us of a worker's time, and each hundredth frame is lost on each way. Members ask
// again as soon as a later sum shows that a frame was lost.
TEST(RoundSimulation, WhereFramesAreLostVectorsTakeAFewTimesAsLong) {
    struct Case {
        unsigned levels;
        double times;
    };
    for (const Case &each : {Case{1, 3}, Case{2, 4}, Case{3, 7}}) {
        double with = 0, without = 0;
        for (std::uint64_t seed = 2; seed <= 16; seed += 2)
            for (const double loss : {0.0, 0.01}) {
                RoundSimulation simulation({.seed = seed,
                                            .workers = 4,
                                            .tree = each.levels > 1,
                                            .tall = each.levels > 2,
                                            .pool = 6,
                                            .second_pool = 6,
                                            .loss = loss,
                                            .faults_end = UINT64_MAX,
                                            .delay = 50'000,
                                            .vectors = std::vector<std::uint32_t>(100, 42),
                                            .pace = 2'000});
                ASSERT_EQ(simulation.run(), "") << each.levels << " levels, seed " << seed;
                (loss > 0 ? with : without) += static_cast<double>(simulation.now() - simulation.first_sum());
            }
        EXPECT_LE(with, each.times * without) << each.levels << " levels";
    }
}

} // namespace
