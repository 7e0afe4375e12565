// SPDX-License-Identifier: BSD-2-Clause
// Two nodes in a chain, with workers at both: what the lower one sends up is lost, doubled and overtaken
// before the upper one gets it, and so is what comes down. Workers of the lower one come and go meanwhile, and
// give orders; some frames are of nobody in the chain. Each node and its model (tests/model) agree on each step.
// OLAF_STEPS sets how many, OLAF_SEED which.
#include "rounds_chain_hostile.hpp"

namespace olaf::test::rounds_chain_test {
namespace {

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsChain, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsChain, BothNodesAndTheirModelsAgreeStepByStep) {
    const auto steps = number_of("OLAF_STEPS", 100'000);
    bind_all();
    for (std::uint64_t i = 0; i < steps && !HasFailure(); i++) {
        SCOPED_TRACE(step_of_seed(i));
        const auto which = below(100);
        if (which < 30) {
            const auto order = some_order();
            step_low(order ? *order : some_message(low, front_low, workers_below, stamps_low));
        } else if (which < 60) {
            step_high(some_message(high, front_high, workers_above, stamps_high));
        } else if (which < 78) {
            if (const auto message = arrives(up))
                step_high(*message);
        } else if (which < 96) {
            if (const auto message = arrives(down))
                step_down(*message);
        } else {
            time_passes();
        }
        if (chance(5))
            hostile_step();
    }
    expect_same_counters(low, counters(), owed());
    expect_same_counters(high, upper.counters(), upper.owed());
    expect_refusals(steps);
    upper.expect_books();
    if (steps >= 50'000) {
        EXPECT_GT(low.counters().completed, steps / 200);
        EXPECT_GT(high.counters().completed, steps / 200);
        EXPECT_GT(low.counters().up_again, steps / 500);
        EXPECT_GT(low.counters().stopped, 1u);
        EXPECT_GT(high.counters().stopped, 3u);
        EXPECT_GT(copied, steps / 500);
        expect_orders();
    }
}

} // namespace
} // namespace olaf::test::rounds_chain_test
