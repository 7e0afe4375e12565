// SPDX-License-Identifier: BSD-2-Clause
// Does it learn? In virtual time, so a second of training takes milliseconds.
#include "learning_curve.hpp"
#include "simulation.hpp"
#include "wire.hpp"

#include <gtest/gtest.h>

namespace olaf::cartpole {
namespace {

constexpr int kSeeds = 5;

// 9 clusters of 3 workers share a link that carries 30 % of their updates: a FIFO
// queue loses the rest and makes what it delivers wait; one that folds loses nothing.
constexpr Path kIdle = {.delay_s = 0.002, .ack_everyone = true};
constexpr Path kFifo = {.loss = 0.7F, .delay_s = 0.3, .ack_everyone = true};
constexpr Path kFolding = {.delay_s = 0.01, .departure_s = 0.033, .ack_everyone = true};

SimulationOptions over(const Path &path, std::uint64_t seed) {
    return {.seed = seed, .stop_at_target = true, .path = path, .actor = {}};
}

class Learning : public testing::TestWithParam<Path> {};

TEST_P(Learning, ReachesTheTargetWithinAMinute) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const SimulationResult result = simulate(over(GetParam(), seed));
        EXPECT_TRUE(result.reached_s) << "seed " << seed << ", at " << result.final_mean;
    }
}

INSTANTIATE_TEST_SUITE_P(Paths, Learning, testing::Values(kIdle, kFifo, kFolding),
                         [](const auto &path) {
                             return path.index == 0 ? "idle" : path.index == 1 ? "fifo" : "folding";
                         });

TEST(CartPoleLearning, FoldingBeatsLosing) {
    double fifo = 0, folding = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        fifo += simulate(over(kFifo, seed)).reached_s.value_or(60);
        folding += simulate(over(kFolding, seed)).reached_s.value_or(60);
    }
    EXPECT_LT(folding, fifo / 2);
}

// 16 bits take as many updates to the target as 32, with the scale that the gradients' own largest
// element asks for.
TEST(CartPoleLearning, SixteenBitsLearnInAsManyUpdatesAsThirtyTwo) {
    constexpr std::uint64_t seeds = 20; // runs differ by half their mean
    unsigned wide = 0, narrow = 0;
    float largest = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SimulationOptions options = over(kFolding, seed);
        options.packing = packing_for(Format::i32x2);
        const SimulationResult result = simulate(options);
        EXPECT_TRUE(result.reached_s) << "seed " << seed;
        wide += result.folded;
        largest = std::max(largest, result.largest_element);
    }
    Packing packing = packing_for(Format::i16x4);
    packing.scale = fitting_scale(packing, largest, 1).value();
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SimulationOptions options = over(kFolding, seed);
        options.packing = packing;
        const SimulationResult result = simulate(options);
        EXPECT_TRUE(result.reached_s) << "seed " << seed;
        EXPECT_EQ(result.clipped, 0U) << "seed " << seed;
        narrow += result.folded;
    }
    EXPECT_LT(narrow, 1.25 * wide);
}

// With so few steps to a unit that rounding to nearest leaves almost nothing of a gradient.
TEST(CartPoleLearning, ErrorFeedbackAndStochasticRoundingLearnWhereRoundingToNearestDoesNot) {
    SimulationOptions options = over(kFolding, 1);
    options.duration_s = 30;
    options.packing = {.format = Format::i16x4, .scale = 16, .max_count = 256};
    EXPECT_FALSE(simulate(options).reached_s);
    options.rounding = {.error_feedback = true};
    EXPECT_TRUE(simulate(options).reached_s);
    options.rounding = {.stochastic = true};
    EXPECT_TRUE(simulate(options).reached_s);
}

TEST(CartPoleLearning, RefusesAPackingThatHoldsNoSums) {
    SimulationOptions options = over(kIdle, 1);
    options.packing = {.format = Format::f32x2};
    EXPECT_THROW(simulate(options), std::runtime_error);
}

TEST(CartPoleLearning, KeepsWhatItLearned) {
    SimulationOptions options = over(kIdle, 1);
    options.stop_at_target = false;
    options.duration_s = 20;
    EXPECT_GT(simulate(options).mean_after, 440);
}

TEST(CartPoleLearning, RepeatsBySeed) {
    SimulationOptions options = over(kFolding, 3);
    options.duration_s = 2;
    const SimulationResult first = simulate(options);
    const SimulationResult second = simulate(options);
    EXPECT_EQ(first.steps, second.steps);
    EXPECT_EQ(first.final_mean, second.final_mean);
    EXPECT_LT(first.received, first.folded) << "some updates were folded";
}

TEST(CartPoleLearningCurve, AveragesTheLastUpdatesByCount) {
    LearningCurve curve(100, 4);
    EXPECT_EQ(curve.mean(), 0);
    curve.add(1, 200, 2);
    EXPECT_EQ(curve.mean(), 200);
    EXPECT_FALSE(curve.reached()) << "half a window says nothing";
    curve.add(2, 50, 1);
    curve.add(3, 30, 1);
    EXPECT_EQ(curve.mean(), 120);
    EXPECT_EQ(curve.reached(), 3);
    curve.add(4, 30, 2); // pushes the first out
    EXPECT_EQ(curve.mean(), 35);
    EXPECT_EQ(curve.reached(), 3) << "the first time counts";
}

} // namespace
} // namespace olaf::cartpole
