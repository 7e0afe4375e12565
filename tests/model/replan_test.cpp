// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "replan.hpp"

namespace olaf::model::replan::test {

namespace {

enum class Kind { any_tree, same_tree, boundaries, floats, thresholds, many_moves };

World world_of(std::uint64_t seed, Kind kind) {
    std::mt19937_64 random(seed);
    const auto up_to = [&](unsigned most) { return static_cast<unsigned>(random() % (most + 1)); };
    constexpr double losses[] = {0, 0.01, 0.05, 0.2};
    World world{.seed = seed, .workers = 2 + up_to(6)};
    world.pool = static_cast<std::uint8_t>(up_to(4));
    world.loss = losses[up_to(3)];
    world.duplication = up_to(1) != 0 ? 0.05 : 0;
    world.reordering = up_to(1) != 0 ? 0.1 : 0;
    world.under_way = 1 + up_to(3);
    world.lag = up_to(2) != 0 ? 0 : 1 + up_to(8);
    world.moves = kind == Kind::many_moves ? 30 : 1 + up_to(5);
    world.nodes_die = up_to(1) != 0 && kind != Kind::many_moves;
    world.agents_fail = up_to(1) != 0;
    world.leaders_die = up_to(1) != 0;
    world.retires_early = up_to(2) == 0;
    world.same_shape = kind == Kind::same_tree;
    world.floats = kind == Kind::floats;
    if (kind == Kind::thresholds)
        world.threshold = 0.2 + 0.1 * up_to(6);
    if (kind == Kind::boundaries) {
        world.joins = up_to(2);
        world.leaves = up_to(2);
    }
    for (unsigned i = 0, count = 20 + up_to(150) + (kind == Kind::many_moves ? 600 : 0); i < count;
         ++i)
        world.vectors.push_back(1 + up_to(up_to(2) != 0 ? 5 : 40));
    return world;
}

/// How many of the seeds are simulated: OLAF_SEEDS, a number or a share ("25%"); else all.
std::uint64_t number_of_worlds(std::uint64_t seeds) {
    const char *const text = std::getenv("OLAF_SEEDS");
    if (text == nullptr)
        return seeds;
    const auto asked = std::strtoull(text, nullptr, 10);
    return std::string_view(text).ends_with('%') ? seeds * asked / 100 : asked;
}

struct Totals {
    std::uint64_t commits = 0, boundaries = 0, abandoned = 0, crossed = 0, partial = 0, failed = 0;
};

Totals expect_right(Kind kind, std::uint64_t seeds) {
    Totals totals;
    unsigned wrong = 0;
    for (std::uint64_t seed = 1; seed <= number_of_worlds(seeds) && wrong < 5; ++seed) {
        Simulation simulation(world_of(seed, kind));
        const auto problem = simulation.run();
        EXPECT_EQ(problem, "") << "seed " << seed;
        wrong += problem.empty() ? 0 : 1;
        totals.commits += simulation.commits();
        totals.boundaries += simulation.boundaries();
        totals.abandoned += simulation.abandoned();
        totals.crossed += simulation.crossed();
        totals.partial += simulation.partial();
        totals.failed += simulation.failed() ? 1 : 0;
    }
    return totals;
}

TEST(RoundSimulationOfMoves, AnyTreeFollowsAnyOtherAtAnyMoment) {
    const auto totals = expect_right(Kind::any_tree, 1000);
    EXPECT_GT(totals.commits, 0u);
    EXPECT_GT(totals.abandoned, 0u);
    EXPECT_GT(totals.crossed, 0u) << "moves come in the middle of a round";
}

TEST(RoundSimulationOfMoves, OtherHostsTakeThePlacesOfATree) {
    EXPECT_GT(expect_right(Kind::same_tree, 1000).commits, 0u);
}

TEST(RoundSimulationOfMoves, MembersJoinAndLeaveBetweenTwoVectors) {
    EXPECT_GT(expect_right(Kind::boundaries, 1000).boundaries, 0u);
}

TEST(RoundSimulationOfMoves, FloatsChangeTheirTreeBetweenTwoVectorsOnly) {
    const auto totals = expect_right(Kind::floats, 500);
    EXPECT_GT(totals.boundaries, 0u);
    EXPECT_GT(totals.commits, totals.boundaries) << "and their hosts at any moment";
}

TEST(RoundSimulationOfMoves, SumsThatLackMembersAreTheSameAtAllWorkers) {
    const auto totals = expect_right(Kind::thresholds, 1000);
    EXPECT_GT(totals.boundaries, 0u);
    EXPECT_GT(totals.partial, 0u);
    EXPECT_GT(totals.failed, 0u) << "a root that died can't be asked whether its job is gone";
}

TEST(RoundSimulationOfMoves, ThirtyMovesLeaveNoJobBehind) {
    EXPECT_GT(expect_right(Kind::many_moves, 60).commits, 100u);
}

/// A wrong control, the worlds that it is at work in, and a word of what is found.
struct Fault {
    const char *name;
    WrongControl wrong;
    Kind kind;
    const char *found;
};

class WrongControls : public testing::TestWithParam<Fault> {};

TEST_P(WrongControls, AreFound) {
    unsigned found = 0;
    for (std::uint64_t seed = 1; seed <= 200 && found < 3; ++seed) {
        auto world = world_of(seed, GetParam().kind);
        world.wrong = GetParam().wrong;
        const auto problem = Simulation(world).run();
        found += !problem.empty() && problem.find("not done") == std::string::npos &&
                         problem.find(GetParam().found) != std::string::npos
                     ? 1
                     : 0;
    }
    EXPECT_EQ(found, 3u);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongControls,
    testing::Values(
        Fault{"OneWireId", WrongControl::one_wire_id, Kind::any_tree, "rule 1"},
        Fault{"GoesBack", WrongControl::goes_back, Kind::any_tree, "rule 2"},
        Fault{"HoldWithoutEpoch", WrongControl::hold_without_epoch, Kind::boundaries, ""},
        Fault{"CommitsBeforeHeld", WrongControl::commits_before_held, Kind::boundaries, ""},
        Fault{"MembersAtOnce", WrongControl::members_at_once, Kind::boundaries, ""},
        Fault{"FloatsAtOnce", WrongControl::floats_at_once, Kind::floats, "rule 3"},
        Fault{"CommitsBeforePrepared", WrongControl::commits_before_prepared, Kind::any_tree,
              "rule 2"},
        Fault{"TwoHalves", WrongControl::two_halves, Kind::thresholds,
              "summed too much without one of them"},
        Fault{"NeverRetires", WrongControl::never_retires, Kind::many_moves, "rule 11"}),
    [](const auto &of) { return std::string(of.param.name); });

} // namespace
} // namespace olaf::model::replan::test
