// SPDX-License-Identifier: BSD-2-Clause
// What olaf-tally counts of messages as a queue lets them out.
#include <gtest/gtest.h>

#include "evaluation/traffic/counted.hpp"
#include "evaluation/traffic/tally.hpp"

namespace olaf::evaluation {
namespace {

constexpr std::uint16_t lanes = 4;

/// An update of cluster 5, of that worker.
Frame update_of(std::uint32_t worker, std::int64_t generated_ns = 0) {
    Frame frame{};
    frame.header = encode(
        Update{.cluster = 5, .worker = worker, .generated_ns = generated_ns, .lanes = lanes});
    write_one({frame.lanes, lanes}, worker);
    return frame;
}

/// As a queue folds: sums of lanes and counts.
Frame folded(Frame frame, const Frame &with) {
    for (std::size_t i = 0; i < lanes; i++)
        frame.lanes[i] += with.lanes[i];
    auto update = *decode_update(frame.bytes(message_size(lanes)));
    update.count += decode_update(with.bytes(message_size(lanes)))->count;
    frame.header = encode(update);
    return frame;
}

TEST(Tally, CountsEachWorkersUpdatesWhateverWasFolded) {
    Tally tally;
    const auto message = folded(folded(update_of(0), update_of(5)), update_of(5));
    const auto *cluster = tally.take(message, message_size(lanes), 1);
    ASSERT_NE(cluster, nullptr);
    tally.take(update_of(0), message_size(lanes), 2);
    EXPECT_EQ(cluster->messages, 2U);
    EXPECT_EQ(cluster->updates, 4U);
    EXPECT_EQ(cluster->arrived, (std::vector<std::uint64_t>{2, 0, 0, 0, 0, 2}));
    EXPECT_EQ(cluster->folds, (std::map<std::uint32_t, std::uint64_t>{{1, 1}, {3, 1}}));
    EXPECT_EQ(tally.refused, 0U);
}

TEST(Tally, RefusesWhatIsNotExact) {
    Tally tally;
    auto damaged = update_of(1);
    damaged.lanes[2] ^= 1;
    EXPECT_EQ(tally.take(damaged, message_size(lanes), 1), nullptr);
    EXPECT_EQ(tally.take(update_of(1), message_size(lanes) - 1, 1), nullptr);
    EXPECT_EQ(tally.refused, 2U);
    EXPECT_TRUE(tally.clusters.empty());
}

TEST(Tally, TellsWhereTheCountIsNotThatOfTheElements) {
    Tally tally;
    auto frame = update_of(1);
    auto update = *decode_update(frame.bytes(message_size(lanes)));
    update.count = 2;
    frame.header = encode(update);
    tally.take(frame, message_size(lanes), 1);
    EXPECT_EQ(tally.refused, 1U);
}

TEST(Tally, MeasuresAges) {
    Tally tally;
    tally.take(update_of(0, 100), message_size(lanes), 150);
    const auto *cluster = tally.take(update_of(0, 300), message_size(lanes), 350);
    EXPECT_EQ(cluster->aom.highest_peak_ns(), 250);
}

TEST(Tally, AClusterThatIsNeverHeardGrowsOldFromTheStart) {
    Tally tally{.expected = 7};
    tally.take(update_of(0, 100), message_size(lanes), 100);
    tally.take(update_of(0, 200), message_size(lanes), 200);
    EXPECT_EQ(tally.clusters[6].messages, 0U);
    EXPECT_EQ(tally.clusters[6].aom.average_ns(200), 50);
    EXPECT_LT(tally.clusters[5].aom.average_ns(200), 51);
    EXPECT_EQ(tally.clusters.size(), 7U);
}

TEST(Counted, SumsComeBackInAnswers) {
    std::uint64_t answer[2] = {};
    write_sum(answer, 0, 200);
    write_sum(answer, 3, (1 << 24) - 1);
    EXPECT_EQ(read_sum(answer, 0), 200U);
    EXPECT_EQ(read_sum(answer, 1), 0U);
    EXPECT_EQ(read_sum(answer, 3), (1U << 24) - 1);
}

} // namespace
} // namespace olaf::evaluation
