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

TEST(RoundSimulation, EverySumIsExactAndNothingHangs) {
    const char *const from = std::getenv("OLAF_SEED");
    const char *const many = std::getenv("OLAF_SEEDS");
    const std::uint64_t first = from ? std::strtoull(from, nullptr, 10) : 1;
    const std::uint64_t seeds = many ? std::strtoull(many, nullptr, 10) : 1000;
    unsigned wrong = 0;
    std::uint64_t asked = 0, repeated = 0, sent = 0;
    for (std::uint64_t seed = first; seed < first + seeds && wrong < 5; seed++) {
        const RoundWorld world = random_world(seed);
        RoundSimulation simulation(world);
        const std::string problem = simulation.run();
        EXPECT_EQ(problem, "") << describe(world) << " at " << simulation.now() << " ns";
        wrong += problem.empty() ? 0 : 1;
        asked += simulation.stats().asked;
        repeated += simulation.stats().repeated;
        sent += simulation.stats().sent;
    }
    RecordProperty("asked", std::to_string(asked));
    std::printf("asked %lu, sent %lu, repeated %lu\n", asked, sent, repeated);
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
    for (std::uint64_t seed = 1; seed <= 200000; seed++) {
        RoundWorld world = random_world(seed);
        GetParam().break_it(world);
        const std::string problem = RoundSimulation(world).run();
        if (problem.empty())
            continue;
        std::printf("%s: seed %lu: %s\n", GetParam().name, seed, problem.c_str());
        return;
    }
    FAIL() << "nobody noticed";
}

constexpr Broken kBroken[] = {
    {"AggregatesGoUpAgain", [](RoundWorld &w) { w.broken.never_sends_up_again = true; }},
    {"ASyncStopsTheJob", [](RoundWorld &w) { w.broken.sync_does_not_stop = true; }},
    {"DuplicatesAreNotAdded", [](RoundWorld &w) { w.broken.duplicates_are_added = true; }},
    {"DuplicatesAreAnswered", [](RoundWorld &w) { w.broken.duplicates_are_not_answered = true; }},
    {"GenerationsAreCompared", [](RoundWorld &w) { w.broken.generations_do_not_matter = true; }},
    {"OnlyDoneBuffersGiveWay", [](RoundWorld &w) { w.broken.opens_over_what_is_not_done = true; }},
    {"AllBeginAtTheLowest", [](RoundWorld &w) { w.broken.begins_where_the_last_one_asks = true; }},
    {"AnOldQuestionDoesNotCount", [](RoundWorld &w) { w.broken.asked_stays = true; }},
    {"AStaleOfTheParentStops", [](RoundWorld &w) { w.broken.parents_stale_is_ignored = true; }},
    {"AStaleEchoes", [](RoundWorld &w) { w.broken.stale_echoes_nothing = true; }},
    {"AllHaveOnePool", [](RoundWorld &w) { w.broken.pool_is_not_agreed_upwards = true; }},
    {"WorkersSendAgain", [](RoundWorld &w) { w.never_again = true; }},
    {"TheWindowIsKept", [](RoundWorld &w) { w.wider_window = 2; }},
};

INSTANTIATE_TEST_SUITE_P(All, RoundRule, testing::ValuesIn(kBroken),
                         [](const auto &each) { return each.param.name; });

} // namespace
