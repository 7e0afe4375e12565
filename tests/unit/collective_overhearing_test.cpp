// SPDX-License-Identifier: BSD-2-Clause
// What others sum without a worker comes to it by itself.
#include <algorithm>

#include "collective_test.hpp"

namespace olaf::test::collective_overhearing_test {
namespace {

using namespace olaf;
using namespace olaf::test;

// Three pieces, of which the exponents come first.
constexpr std::size_t elements = 40;

/// Worker 0 needs nobody: it sums until the other has had its fill.
void sum_alone(Collective &collective, const std::atomic<bool> &enough) {
    ASSERT_TRUE(collective.join());
    while (!enough) {
        std::vector<float> vector(elements, static_cast<float>(collective.next_round()));
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_TRUE(report || enough) << report.error().message();
    }
}

/// Runs worker 1 beside it.
void overhear(double loss, const std::function<void(Collective &)> &listen) {
    Job job(2, loss);
    job.server.set_threshold(1);
    std::atomic<bool> enough = false;
    job.all([&](Collective &collective, std::uint32_t rank) {
        if (rank == 0)
            return sum_alone(collective, enough);
        ASSERT_TRUE(collective.join());
        listen(collective);
        enough = true;
    });
}

TEST(CollectiveOverhearing, ASumIsTakenOnlyWholeThoughMessagesAreLost) {
    overhear(0.1, [](Collective &collective) {
        std::vector<float> vector(elements);
        collective.overhear(elements);
        for (std::uint32_t taken = 0, before = 0; taken < 20;) {
            ASSERT_TRUE(collective.poll());
            if (!collective.take_overheard(vector))
                continue;
            taken++;
            const std::uint32_t next = collective.next_round();
            EXPECT_GT(next, before) << "older than the last one";
            before = next;
            EXPECT_EQ(vector, std::vector<float>(elements, static_cast<float>(next - 1)));
        }
        EXPECT_EQ(collective.stats().sent, 0U) << "without a word";
    });
}

TEST(CollectiveOverhearing, TakesPartBehindWhatItHasTaken) {
    overhear(0, [](Collective &collective) {
        std::vector<float> vector(elements);
        collective.overhear(elements);
        while (!collective.take_overheard(vector))
            ASSERT_TRUE(collective.poll());
        const std::uint32_t round = collective.next_round();
        auto operation = collective.follow_async(vector).value();
        EXPECT_FALSE(collective.take_overheard(vector)) << "one is under way";
        // It may be over for too long by then: the other doesn't wait.
        if (const auto report = operation.wait()) {
            EXPECT_EQ(report->left_out, elements);
            auto at = report->left_out_at;
            std::ranges::sort(at, {}, &ElementRange::first);
            std::size_t end = 0;
            for (const auto &[first, count] : at) {
                EXPECT_EQ(first, end) << "of every element, once";
                end = first + count;
            }
            EXPECT_EQ(end, elements);
            EXPECT_GT(at.size(), 1U) << "of several chunks";
            EXPECT_EQ(vector, std::vector<float>(elements, static_cast<float>(round)));
        }
        EXPECT_EQ(collective.next_round(), round + 1);
        EXPECT_TRUE(collective.poll()) << "to miss a sum breaks nothing";
    });
}

TEST(CollectiveOverhearing, NothingIsKeptForWhoDoesNotAsk) {
    overhear(0, [](Collective &collective) {
        std::vector<float> vector(elements);
        while (collective.stats().unasked < 50) {
            ASSERT_TRUE(collective.poll());
            EXPECT_FALSE(collective.take_overheard(vector));
        }
        collective.overhear(elements - 1);
        while (collective.stats().unasked < 100)
            ASSERT_TRUE(collective.poll());
        EXPECT_FALSE(collective.take_overheard(vector)) << "another size";
    });
}

} // namespace
} // namespace olaf::test::collective_overhearing_test
