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

} // namespace
