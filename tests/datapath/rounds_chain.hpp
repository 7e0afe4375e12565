// SPDX-License-Identifier: BSD-2-Clause
// The upper one of two nodes in a chain, and how far the workers of a node are.
#pragma once

#include <array>

#include "rounds_clones.hpp"
#include "rounds_tree_test.hpp"
#include "rounds_wire.hpp"

namespace olaf::test {

inline constexpr std::uint32_t upper_generation = 900, workers_above = own_rank, pool = 3;
inline constexpr std::uint64_t never_overdue = UINT64_MAX / 2; // however slow the machine is

inline olaf_job_setup of_many_chunks(olaf_job_setup setup) {
    setup.pool = pool;
    setup.slots = 1u << pool;
    setup.max_count = 1 << 30;
    return setup;
}

/// The lower node: enough workers that some may come and go.
inline constexpr std::uint32_t workers_below = 3;

inline olaf_job_setup lower_job(int family) {
    auto setup = of_many_chunks(below_a_parent(family));
    setup.children = setup.threshold = workers_below;
    return setup;
}

inline olaf_job_setup upper_job() {
    auto setup = of_many_chunks(small_job());
    setup.children = setup.threshold = workers_above + 1;
    return setup;
}

/// The root, as RoundsTest has it.
class Upper : public RoundsTest {
  public:
    explicit Upper(const Testbed &net) : RoundsTest(upper_job(), config_in(net)) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        waiting.generation = upper_generation;
        waiting.membership.unsettled = 2 * setup.slots;
        waiting.membership.flags = OLAF_MEMBERS_YOUNG;
        set_job(waiting);
    }
    void TestBody() override {}
    void expect_books() { TearDown(); }
    using RoundsTest::counters, RoundsTest::job, RoundsTest::offer, RoundsTest::owed, RoundsTest::queue,
        RoundsTest::setup, RoundsTest::slot;
};

/// How far the rounds of a node's workers are: the first one of each chunk without a result.
struct Front {
    std::array<std::uint32_t, chunks> round{};
    void go_on(const RoundNode &model) {
        for (std::uint32_t chunk = 0; chunk < chunks; chunk++)
            while (model.done(round[chunk], chunk) != nullptr)
                round[chunk]++;
    }
    /// What a worker is told it has missed it doesn't ask for again.
    void note(const RoundMessage &message, const RoundNode::Out &out) {
        if (message.kind == RoundMessage::Kind::contribution && !out.empty() && out[0].message.stale &&
            message.generation == out[0].message.generation && message.round == round[message.chunk])
            round[message.chunk]++;
    }
};

} // namespace olaf::test
