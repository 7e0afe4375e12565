// SPDX-License-Identifier: BSD-2-Clause
// What scripts/evaluate measures with.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "bench/stream/slices.hpp"
#include "evaluation/traffic/counted.hpp"
#include "evaluation/traffic/tally.hpp"
#include "evaluation/traffic/trace.hpp"

namespace olaf::bench {
namespace {

using namespace std::chrono_literals;

// Which parts of a run on several CPUs count.

Sample at(std::chrono::milliseconds time, std::uint64_t first, std::uint64_t second,
          std::uint64_t frames = 0) {
    Figures figures{.offered = first + second, .taken = first + second, .frames = frames};
    figures.shares = {first, second};
    return {.at = std::chrono::steady_clock::time_point(time), .figures = figures, .cpu_ns = 0};
}

TEST(Slices, CountWhereEveryGeneratorRan) {
    EXPECT_TRUE(all_ran(at(0ms, 500, 100).figures, at(20ms, 1500, 1100).figures));
    EXPECT_TRUE(all_ran(at(0ms, 0, 0).figures, at(20ms, 1000, 850).figures));
}

TEST(Slices, DontCountWhereOneWaitedForItsCpu) {
    EXPECT_FALSE(all_ran(at(0ms, 0, 0).figures, at(20ms, 1000, 840).figures));
    EXPECT_FALSE(all_ran(at(0ms, 5000, 5000).figures, at(20ms, 5000, 6000).figures));
}

TEST(Slices, CountWhereGeneratorsArentToldApart) {
    EXPECT_TRUE(all_ran(Figures{.offered = 1}, Figures{.offered = 2}));
}

TEST(Slices, AddUpToTheTimeThatCounts) {
    Slices slices;
    slices.add(at(0ms, 0, 0), at(20ms, 100, 100, 50));
    slices.add(at(100ms, 900, 900, 500), at(120ms, 1000, 1000, 550));
    EXPECT_DOUBLE_EQ(slices.seconds, 0.04);
    EXPECT_DOUBLE_EQ(slices.rate(&Slices::taken), 10'000);
    EXPECT_DOUBLE_EQ(slices.rate(&Slices::frames), 2'500);
}

} // namespace
} // namespace olaf::bench

namespace olaf::evaluation {
namespace {

// What olaf-tally counts of messages as a queue lets them out.

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

// Traces as olaf-replay reads them.

class Trace : public testing::Test {
  protected:
    ~Trace() override { std::filesystem::remove(path_); }
    Result<std::vector<Moment>> read(const std::string &text) {
        std::ofstream(path_) << text;
        return read_trace(path_);
    }
    std::string path_ =
        std::filesystem::temp_directory_path() / ("olaf-trace-" + std::to_string(::getpid()));
};

TEST_F(Trace, IsMomentsInOrder) {
    const auto moments = read("# said by nobody\n0 3 1\n\n12.5 0 2\n");
    ASSERT_TRUE(moments);
    ASSERT_EQ(moments->size(), 2U);
    EXPECT_EQ(moments->front().cluster, 3U);
    EXPECT_EQ(moments->front().worker, 1U);
    EXPECT_EQ(moments->back().at_ns, 12'500);
}

TEST_F(Trace, IsRefusedWithTheLineThatIsWrong) {
    for (const std::string wrong : {"0 1", "0 1 2 3", "x 1 2", "-1 0 0", "1e300 0 0", "nan 0 0"}) {
        const auto moments = read("0 0 0\n" + wrong + "\n");
        ASSERT_FALSE(moments) << wrong;
        EXPECT_NE(moments.error().message().find("line 2"), std::string::npos) << wrong;
    }
}

TEST_F(Trace, IsRefusedWhereTimeGoesBack) {
    EXPECT_FALSE(read("5 0 0\n4 0 0\n"));
    EXPECT_TRUE(read("5 0 0\n5 0 0\n"));
}

TEST_F(Trace, IsRefusedWithoutAnUpdate) {
    EXPECT_FALSE(read("# nothing\n"));
    EXPECT_FALSE(read_trace(path_ + "-that-is-not-there"));
}

} // namespace
} // namespace olaf::evaluation
