// SPDX-License-Identifier: BSD-2-Clause
// A Collective of several threads, each with a range of every vector in a job of its own.
#include "collective_test.hpp"

#include <poll.h>

#include <cmath>

namespace olaf::test::collective_threads_test {
namespace {

using namespace olaf;
using namespace olaf::test;

constexpr unsigned kThreads = 3;

std::vector<float> part_of(std::uint32_t rank, std::size_t elements) {
    std::vector<float> part(elements);
    for (std::size_t i = 0; i < elements; i++)
        part[i] = static_cast<float>(rank + 1) * std::sin(static_cast<float>(i)) * 1e-3F;
    return part;
}

// Lengths with as many chunks as threads, fewer, a last one that isn't full, and none.
const std::vector<std::size_t> kLengths = {1000, 1, 16, 17, 48, 50, 0, 333};

std::vector<std::vector<float>> sums_with(unsigned threads, double loss, CollectiveOptions options = {}) {
    options.threads = threads;
    const Job job(2, loss, options);
    std::vector<std::vector<float>> sums;
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        for (const std::size_t length : kLengths) {
            auto vector = part_of(rank, length);
            const auto report = collective.allreduce(std::span(vector), Combine::sum);
            ASSERT_TRUE(report) << report.error().message();
            EXPECT_EQ(report->least_count, 2U);
            EXPECT_EQ(report->partial + report->late, 0U);
            if (rank == 0)
                sums.push_back(vector);
        }
        const auto left = collective.leave();
        ASSERT_TRUE(left) << left.error().message();
        EXPECT_TRUE(*left);
    });
    return sums;
}

TEST(CollectiveThreads, SumHasTheSameBitsAsWithOneThread) {
    const auto sums = sums_with(kThreads, 0);
    ASSERT_EQ(sums.size(), kLengths.size());
    EXPECT_EQ(sums, sums_with(1, 0));
    EXPECT_EQ(sums, sums_with(kThreads, 0.1)) << "what is lost is repeated";
}

TEST(CollectiveThreads, EachTakesARangeOfWholeChunks) {
    const Job job(1, 0, {.threads = kThreads}, 5);
    job.all([&](Collective &collective, std::uint32_t) {
        ASSERT_TRUE(collective.join());
        std::vector<std::int64_t> vector(8 * 10 - 3, 1);
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(report->chunks, 10U);
        EXPECT_EQ(collective.stats().results, 10U);
        EXPECT_EQ(vector, std::vector<std::int64_t>(vector.size(), 1));
    });
    LoopbackNode &node = const_cast<LoopbackNode &>(job.server);
    EXPECT_EQ(node.counters(0).added, 3U);
    EXPECT_EQ(node.counters(1).added, 3U);
    EXPECT_EQ(node.counters(2).added, 4U);
}

TEST(CollectiveThreads, VectorsUnderWayMoveOnWhileNobodyWaits) {
    const Job job(2, 0, {.threads = kThreads});
    job.all([](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        std::vector<std::vector<float>> vectors;
        for (std::size_t i = 0; i < 5; i++)
            vectors.push_back(part_of(rank, 100 + i));
        std::vector<Collective::Operation> operations;
        for (auto &vector : vectors) {
            const auto begun = collective.allreduce_async(std::span(vector));
            ASSERT_TRUE(begun) << begun.error().message();
            operations.push_back(*begun);
        }
        while (!operations.back().done()) {
            pollfd readable = {.fd = collective.fd(), .events = POLLIN, .revents = 0};
            ASSERT_GT(::poll(&readable, 1, 10'000), 0) << "it tells that a vector has ended";
            ASSERT_TRUE(collective.poll());
        }
        for (auto each = operations.rbegin(); each != operations.rend(); ++each)
            EXPECT_TRUE(each->wait()) << "in any order";
        EXPECT_FALSE(operations.front().wait()) << "it was waited for already";
        for (const auto &vector : vectors)
            EXPECT_NEAR(vector[1], 3e-3F * std::sin(1.0F), 1e-7F);
        EXPECT_TRUE(collective.leave());
    });
}

TEST(CollectiveThreads, AVectorFailsAsAWholeAndTheNextJoinBeginsAnew) {
    const Job job(2, 0, {.threads = kThreads, .timeout = std::chrono::milliseconds(300)});
    std::atomic<bool> failed = false;
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        auto vector = part_of(rank, 500);
        if (rank == 0) {
            const auto report = collective.allreduce(std::span(vector), Combine::sum);
            ASSERT_FALSE(report) << "the other one gave nothing";
            EXPECT_FALSE(collective.allreduce(std::span(vector), Combine::sum)) << "until join()";
            EXPECT_FALSE(collective.poll());
            failed = true;
            failed.notify_all();
        } else {
            failed.wait(false);
        }
        const auto joined = collective.join();
        ASSERT_TRUE(joined) << joined.error().message();
        vector = part_of(rank, 500);
        const auto report = collective.allreduce(std::span(vector), Combine::sum);
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_NEAR(vector[1], 3e-3F * std::sin(1.0F), 1e-7F);
    });
}

TEST(CollectiveThreads, ACallerIsInterruptedWhereverThreadsWait) {
    std::atomic<bool> stop = false;
    const auto here = std::this_thread::get_id();
    const Job job(2, 0,
                  {.threads = kThreads,
                   .timeout = std::chrono::seconds(60),
                   .interrupted =
                       [&] {
                           EXPECT_EQ(std::this_thread::get_id(), here) << "what is the caller's is called by it";
                           return stop.load();
                       }});
    Collective alone = job.worker(0);
    auto vector = part_of(0, 500);
    auto begun = alone.allreduce_async(std::span(vector));
    ASSERT_TRUE(begun);
    stop = true;
    const auto report = begun->wait();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, EINTR) << report.error().message();
}

TEST(CollectiveThreads, TheDestructorGivesUpWhatIsUnderWay) {
    const Job job(2, 0, {.threads = kThreads, .timeout = std::chrono::seconds(60)});
    auto vector = part_of(0, 500);
    Collective alone = job.worker(0);
    EXPECT_TRUE(alone.allreduce_async(std::span(vector)));
}

TEST(CollectiveThreads, WhatOneThreadAloneCanDoIsRefused) {
    const Job job(1, 0, {.threads = kThreads});
    Collective collective = job.worker(0);
    EXPECT_FALSE(collective.join_running());
    EXPECT_FALSE(collective.depart(std::chrono::seconds(1)));
    std::vector<std::int32_t> integers(100);
    for (const unsigned threads : {0U, 65U})
        EXPECT_FALSE(Collective::make({.node = job.server.address(), .workers = 1, .threads = threads}));
    EXPECT_FALSE(Collective::make(
        {.node = job.server.address(), .job = UINT32_MAX - 1, .workers = 1, .threads = 2}));
}

} // namespace
} // namespace olaf::test::collective_threads_test
