// SPDX-License-Identifier: BSD-2-Clause
// olaf::Collective end to end over loopback, against the model of the node.
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <latch>
#include <stop_token>

#include "round_server.hpp"

namespace olaf::test::collective_test {
namespace {

TEST(Collective, SumsIntegersExactly) {
    const Job job(3);
    job.all([](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
        for (std::int64_t round = 0; round < 5; round++) {
            std::vector<std::int64_t> wide(100);
            std::vector<std::int32_t> narrow(101);
            for (std::size_t i = 0; i < wide.size(); i++)
                wide[i] = (std::int64_t{1} << (i % 60)) * (rank == 1 ? -1 : 3) + round;
            for (std::size_t i = 0; i < narrow.size(); i++)
                narrow[i] = static_cast<std::int32_t>(1000 * rank) - 1500 * (i % 3 ? 1 : -1);
            const auto report = sum_of(collective, wide);
            ASSERT_TRUE(collective.allreduce(std::span(narrow)));
            for (std::size_t i = 0; i < wide.size(); i++)
                ASSERT_EQ(wide[i], (std::int64_t{1} << (i % 60)) * 5 + 3 * round);
            for (std::size_t i = 0; i < narrow.size(); i++)
                ASSERT_EQ(narrow[i], 3000 - 4500 * (i % 3 ? 1 : -1)) << "of either half of a lane";
            EXPECT_EQ(report.least_count, 3U);
            EXPECT_EQ(report.chunks, 13U);
            EXPECT_EQ(report.partial + report.late, 0U);
        }
    });
}

TEST(Collective, DividesByThoseWhoAreInTheSum) {
    Job job(3);
    const auto mean = [](Collective &collective, std::uint32_t rank) {
        std::vector<float> vector(100, static_cast<float>(3 * rank) + 0.5F);
        sum_of(collective, vector, Combine::mean);
        return vector;
    };
    job.all([&](Collective &collective, std::uint32_t rank) {
        EXPECT_EQ(mean(collective, rank), std::vector<float>(100, 3.5F));
    });
    job.server.set_threshold(1);
    std::latch over(1);
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
        if (rank != 1)
            return over.wait();
        EXPECT_EQ(mean(collective, rank), std::vector<float>(100, 3.5F)) << "of rank 1 alone";
        over.count_down();
    });
}

TEST(Collective, FloatsThatTheNodeAddsNeedNoExponent) {
    const Job job(1, 0, {.format = Format::f32x2, .checksum = false});
    job.all([](Collective &collective, std::uint32_t) {
        ASSERT_TRUE(collective.start());
        std::vector<float> vector(101, 1.5F);
        vector[3] = std::numeric_limits<float>::quiet_NaN();
        const auto report = sum_of(collective, vector, Combine::mean);
        EXPECT_EQ(report.chunks, 6U) << "18 floats each";
        EXPECT_EQ(report.not_finite, 1U);
        EXPECT_NE(vector[3], vector[3]);
        vector[3] = 1.5F;
        EXPECT_EQ(vector, std::vector<float>(101, 1.5F));
        std::vector<std::int64_t> integers(3);
        EXPECT_FALSE(collective.allreduce_async(std::span(integers)));
        EXPECT_TRUE(collective.finish());
    });
}

TEST(Collective, SeveralVectorsAreUnderWayAndEndInOrder) {
    const Job job(2);
    job.all([](Collective &collective, std::uint32_t rank) {
        std::vector<std::vector<float>> vectors;
        for (std::size_t size : {1U, 400U, 0U, 17U, 64U})
            vectors.emplace_back(size, 1.0F + static_cast<float>(rank));
        std::vector<Collective::Operation> operations;
        for (std::vector<float> &vector : vectors)
            operations.push_back(collective.allreduce_async(std::span(vector)).value());
        ASSERT_TRUE(operations[3].wait());
        EXPECT_TRUE(operations[0].done() && operations[1].done() && operations[2].done());
        for (const std::size_t i : {4, 0, 2, 1}) {
            const auto report = operations[i].wait();
            ASSERT_TRUE(report) << report.error().message();
        }
        EXPECT_FALSE(operations[3].wait()) << "it was waited for";
        for (const std::vector<float> &vector : vectors)
            EXPECT_EQ(vector, std::vector<float>(vector.size(), 3.0F));
    });
}

TEST(Collective, SurvivesLossAndANodeThatForgets) {
    Job job(3, 0.02);
    job.server.restart_after(700);
    job.all([](Collective &collective, std::uint32_t rank) {
        std::uint32_t spared = 0;
        for (std::int64_t round = 0; round < 30; round++) {
            std::vector<std::int64_t> vector(160, rank + 100 * round);
            sum_of(collective, vector);
            ASSERT_EQ(vector, std::vector<std::int64_t>(160, 3 + 300 * round));
            const float size = round % 7 == 0 ? 1024.0F : 1.0F; // now and then no guess is good
            std::vector<float> floats(70, size * static_cast<float>(rank));
            spared += sum_of(collective, floats).spared;
            ASSERT_EQ(floats, std::vector<float>(70, 3 * size));
        }
        EXPECT_GT(spared, 50U);
        EXPECT_EQ(collective.stats().agreed, 2U);
        EXPECT_GT(collective.stats().repeated, 0U);
        EXPECT_EQ(collective.stats().rejected.total(), 0U);
    });
}

// A job that goes on without a slow worker.
TEST(Collective, SaysWhoseSumsAreNotOfAll) {
    Job job(2);
    job.server.set_threshold(1);
    std::latch over(1);
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
        std::vector<std::int64_t> vector(16, rank + 1);
        if (rank == 1)
            over.wait();
        const auto report = collective.allreduce(std::span(vector));
        if (rank == 0)
            over.count_down();
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(vector, std::vector<std::int64_t>(16, 1)) << "of rank 0 alone";
        EXPECT_EQ(report->partial, 2U);
        EXPECT_EQ(report->late, 2 * rank);
        EXPECT_EQ(report->least_count, 1U);
    });
}

TEST(Collective, WhatTheOthersHaveLeftBehindFailsAlone) {
    Job job(2);
    job.server.set_threshold(1);
    std::latch over(1);
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
        std::vector<float> vector(160, 1.0F);
        if (rank == 1) {
            over.wait();
            const auto missed = collective.allreduce(std::span(vector));
            expect_fails(missed, "were summed without this worker");
            for (int round = 1; round < 9; round++)
                static_cast<void>(collective.allreduce(std::span(vector)));
            EXPECT_GT(collective.stats().late, 0U) << "it has caught up";
            return;
        }
        for (int round = 0; round < 9; round++)
            ASSERT_TRUE(collective.allreduce(std::span(vector)));
        over.count_down();
    });
}

TEST(Collective, ATimeoutNamesWhoIsMissing) {
    const Job job(3, 0, {.timeout = std::chrono::seconds(2)});
    std::atomic<unsigned> told = 0;
    job.all([&](Collective &collective, std::uint32_t rank) {
        std::vector<std::int64_t> vector(40, 1);
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        if (rank != 1) {
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_FALSE(report);
            EXPECT_EQ(report.error().code, ETIMEDOUT);
            EXPECT_NE(report.error().message().find("rank 1 hasn't asked"), std::string::npos)
                << report.error().message();
            told++;
            told.notify_all();
        } else {
            for (unsigned seen = told; seen < 2; seen = told)
                told.wait(seen);
        }
    });
}

TEST(Collective, AWorkerThatComesWhileTheOthersAskWhoIsMissingIsNone) {
    Job job(2, 0, {.timeout = std::chrono::seconds(3)});
    job.all([&](Collective &collective, std::uint32_t rank) {
        std::vector<std::int64_t> vector(40, 1);
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        if (rank == 1) {
            const auto before = job.server.counters().stopped;
            while (job.server.counters().stopped == before)
                std::this_thread::yield();
        }
        sum_of(collective, vector);
        EXPECT_EQ(vector, std::vector<std::int64_t>(40, 4));
    });
}

TEST(Collective, MistakesOfTheCallerAreErrors) {
    const CollectiveOptions good = {
        .node = Address::resolve("127.0.0.1").value(), .workers = 2, .run = "test"};
    EXPECT_TRUE(Collective::make(good));
    const auto refused = [&](auto change, const std::string &why) {
        CollectiveOptions options = good;
        change(options);
        expect_fails(Collective::make(options), why);
    };
    refused([](auto &o) { o.workers = 0; }, "how many workers");
    refused([](auto &o) { o.job = OLAF_EVERY_WORKER; }, "nobody's");
    refused([](auto &o) { o.rank = 256; }, "ranks are 0 to 255");
    refused([](auto &o) { o.format = static_cast<Format>(4); }, "unknown");
    refused([](auto &o) { o.lanes = 1; }, "room for");
    refused(
        [](auto &o) {
            o.mtu = 1500;
            o.lanes = 1000;
        },
        "room for 178");
    refused(
        [](auto &o) {
            o.format = Format::f32x2;
            o.mtu = 9000;
            o.lanes = 577;
        },
        "room for 576");
    refused([](auto &o) { o.ahead = 0; }, "ahead");
    refused([](auto &o) { o.node = {}; }, "");
    refused([](auto &o) { o.group = o.node; }, "it isn't a multicast address");
    refused([](auto &o) { o.group = Address::resolve("ff02::7").value(); },
            "it isn't of the IP version of the node");
    CollectiveOptions narrow = good;
    narrow.format = Format::i16x4;
    auto collective = Collective::make(narrow).value();
    std::vector<std::int32_t> integers(3);
    EXPECT_FALSE(collective.allreduce_async(std::span(integers)));
}

// A node tells the shape of its job: who wasn't told it takes it, and who was told another fails at
// once.

constexpr std::uint16_t kLanes = 40;

/// A job of two whose node tells its lanes.
class CollectiveShape : public testing::Test {
  protected:
    LoopbackNode node{{.children = 2, .max_count = 2, .pool = 3}, {.job = 5, .lanes = kLanes}};

    CollectiveOptions options(std::uint32_t rank) const {
        return {.node = node.address(), .job = 5, .rank = rank, .workers = 2, .run = "test"};
    }

    /// What start() says to the first member; the second has the job's shape, and waits for the first
    /// one until that has failed.
    Result<void> start_with(const CollectiveOptions &first) const {
        std::jthread second([&](const std::stop_token &over) {
            auto given = options(1);
            given.interrupted = [&] { return over.stop_requested(); };
            static_cast<void>(Collective::make(given).value().start());
        });
        return Collective::make(first).value().start();
    }
};

TEST_F(CollectiveShape, IsTheJobsForWhoIsToldNone) {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < 2; rank++)
        threads.emplace_back([&, rank] {
            auto collective = Collective::make(options(rank)).value();
            const auto started = collective.start();
            ASSERT_TRUE(started) << started.error().message();
            std::vector<std::int32_t> vector(1'000, static_cast<std::int32_t>(rank) + 1);
            const auto report = sum_of(collective, vector);
            EXPECT_EQ(vector, std::vector<std::int32_t>(1'000, 3));
            constexpr unsigned kEach = 2 * (kLanes - 2); // one lane checks them, one all
            EXPECT_EQ(report.chunks, (1'000 + kEach - 1) / kEach);
        });
}

TEST_F(CollectiveShape, OfOtherLanesThanTheJobsFailsAtOnce) {
    auto wrong = options(0);
    wrong.lanes = 41;
    expect_fails(start_with(wrong), "its contributions have 40 lanes of i32x2 with a checksum, and "
                                   "this worker's have 41 lanes");
}

TEST_F(CollectiveShape, OfAnotherFormatThanTheJobsFailsAtOnce) {
    auto wrong = options(0);
    wrong.format = Format::i16x4;
    expect_fails(start_with(wrong), "lanes of i16x4");
    wrong = options(0);
    wrong.checksum = false;
    expect_fails(start_with(wrong), "without a checksum");
}

TEST_F(CollectiveShape, ThatTheWayHasNoRoomForFailsAtOnce) {
    auto narrow = options(0);
    narrow.mtu = 300;
    expect_fails(start_with(narrow),
                 "are IP packets of 396 bytes, and the way to the node has an MTU of 300");
    expect_fails(start_with(narrow), "--lanes 28");
}

// Who stops needs to know that nobody needs it any more.

constexpr std::chrono::milliseconds kPatience(200);

std::vector<std::int64_t> ones(std::size_t elements = 40) {
    return std::vector<std::int64_t>(elements, 1);
}

// Rank 0 has its sum and goes, rank 1's is lost on its way, and the node is restarted. `go` is how
// rank 0 goes; returns what rank 1 gets.
Result<SumReport> sum_of_the_one_left_behind(const std::function<void(Collective &)> &go,
                                             std::chrono::nanoseconds timeout) {
    Job job(2, 0, {.timeout = timeout});
    job.server.lose_results_of(1);
    Result<SumReport> left_behind;
    job.all([&](Collective &collective, std::uint32_t rank) {
        auto vector = ones();
        const auto report = collective.allreduce(std::span(vector));
        if (rank == 1) {
            left_behind = report;
            EXPECT_TRUE(!report || vector == std::vector<std::int64_t>(40, 2));
            EXPECT_TRUE(!report || collective.finish().value_or(false));
            return;
        }
        EXPECT_TRUE(report) << report.error().message();
        job.server.restart();
        job.server.lose_results_of({});
        go(collective);
    });
    return left_behind;
}

TEST(CollectiveFinish, WhoGoesWithoutItMayLeaveAnotherWithoutItsSum) {
    const auto report = sum_of_the_one_left_behind([](Collective &) {}, kPatience);
    expect_fails(report, "rank 0 hasn't asked");
}

TEST(CollectiveFinish, WaitsUntilAllHaveTheirSums) {
    const auto report = sum_of_the_one_left_behind(
        [](Collective &collective) {
            const auto finished = collective.finish();
            ASSERT_TRUE(finished) << finished.error().message();
            EXPECT_TRUE(*finished);
        },
        kSoon);
    EXPECT_TRUE(report) << report.error().message();
}

TEST(CollectiveFinish, EndsWithVectorsUnderWay) {
    const Job job(3, 0.05);
    job.all([](Collective &collective, std::uint32_t) {
        auto first = ones(), second = ones(160);
        const auto a = collective.allreduce_async(std::span(first));
        const auto b = collective.allreduce_async(std::span(second));
        const auto finished = collective.finish();
        ASSERT_TRUE(finished) << finished.error().message();
        EXPECT_TRUE(a->done() && b->done());
        EXPECT_EQ(second, std::vector<std::int64_t>(160, 3));
        EXPECT_TRUE(collective.finish().value()) << "it has finished";
        const auto after = collective.allreduce(std::span(first));
        expect_fails(after, "has finished");
    });
}

TEST(CollectiveFinish, AllMayStartAgain) {
    const Job job(2);
    job.all([](Collective &collective, std::uint32_t) {
        for (int run = 0; run < 3; run++) {
            ASSERT_TRUE(collective.start());
            auto vector = ones();
            sum_of(collective, vector);
            ASSERT_TRUE(collective.finish().value());
        }
    });
}

TEST(CollectiveFinish, SaysWhoIsMissingAfterATimeout) {
    const Job job(2);
    std::latch over(1);
    job.all([&](Collective &collective, std::uint32_t rank) {
        auto vector = ones();
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        if (rank == 1)
            return over.wait();
        const auto finished = collective.finish(kPatience);
        over.count_down();
        ASSERT_FALSE(finished);
        EXPECT_EQ(finished.error().code, ETIMEDOUT);
        for (const auto *said : {"another member's farewell", "rank 1 hasn't asked"})
            EXPECT_NE(finished.error().message().find(said), std::string::npos)
                << finished.error().message();
    });
}

// It isn't added as if it were a vector of zeros.
TEST(CollectiveFinish, WhoFinishesBeforeTheOthersIsNoSum) {
    const Job job(2, 0, {.timeout = kPatience});
    std::atomic<unsigned> told = 0;
    job.all([&](Collective &collective, std::uint32_t rank) {
        auto vector = ones(8);
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        const auto told_of = [&](const Error &error) {
            told += error.message().find("finishes, but") != std::string::npos ? 1 : 0;
        };
        if (rank == 0) {
            if (const auto finished = collective.finish(); !finished)
                told_of(finished.error());
        } else if (const auto report = collective.allreduce(std::span(vector)); !report) {
            told_of(report.error());
        }
    });
    EXPECT_EQ(told, 2U);
}

// Nor where others than the job's children are to leave, of which no result says that it is PARTIAL.
TEST(CollectiveFinish, DoesNotClaimToKnowWhatAThresholdHides) {
    Job impatient(2), of_more(2);
    impatient.server.set_threshold(1);
    of_more.options.workers = 3;
    for (const Job *job : {&impatient, &of_more})
        job->all([](Collective &collective, std::uint32_t) {
            ASSERT_TRUE(collective.start());
            const auto finished = collective.finish();
            ASSERT_TRUE(finished) << finished.error().message();
            EXPECT_FALSE(*finished);
        });
}

TEST(CollectiveFinish, OfAJobThatNeverBeganIsDoneAtOnce) {
    const Job job(2);
    Collective collective = job.worker(0);
    EXPECT_TRUE(collective.finish().value());
}

// start() and finish() were called join() and leave(), which mean something else now.

TEST(CollectiveFormerCalls, JoinWhereNobodyHasStartedSaysStart) {
    const Job job(3, 0, {.timeout = kPatience});
    expect_fails(job.worker(0).join(), "if the job hasn't started, start() at every worker");
}

TEST(CollectiveFormerCalls, JoinAtEveryWorkerSaysStart) {
    const Job job(3, 0, {.timeout = kPatience});
    Collective first = job.worker(0), second = job.worker(1), last = job.worker(2);
    for (Collective *collective : {&first, &second})
        expect_fails(collective->join(), "start() at every worker");
    ASSERT_TRUE(last.join()) << "the job has no other member by now";
    auto vector = ones();
    expect_fails(last.allreduce(std::span(vector)), "start() at every worker");
    expect_fails(last.allreduce(std::span(vector)), "joined a job that hasn't started");
}

TEST(CollectiveFormerCalls, TheOnlyWorkerOfItsJobMayJoin) {
    const Job job(1);
    Collective collective = job.worker(0);
    ASSERT_TRUE(collective.join());
    auto vector = ones();
    EXPECT_EQ(sum_of(collective, vector).least_count, 1U);
}

TEST(CollectiveFormerCalls, SummingBeforeStartSaysStart) {
    const Job job(2, 0, {.timeout = kPatience});
    auto vector = ones();
    expect_fails(job.worker(0).allreduce(std::span(vector)), "start() again, at every worker");
}

TEST(CollectiveFormerCalls, LeaveAtEveryWorkerSaysFinish) {
    const Job job(2);
    job.all([](Collective &collective, std::uint32_t) {
        ASSERT_TRUE(collective.start());
        auto vector = ones();
        sum_of(collective, vector);
        EXPECT_TRUE(collective.leave(kSoon).value()) << "nobody needs it: all have left";
        expect_fails(collective.allreduce(std::span(vector)), "this worker has left it; join() it");
        expect_fails(collective.start(), "called leave() in place of finish()");
    });
}

// What a Collective says when something is missing.

TEST(CollectiveFaults, ANodeThatIsSilent) {
    const RawSocket nobody(Address::resolve("127.0.0.1", 0).value());
    auto collective = Collective::make({.node = nobody.address(),
                                        .job = 5,
                                        .workers = 2,
                                        .run = "test",
                                        .timeout = std::chrono::milliseconds(20)})
                          .value();
    const auto started = collective.start();
    expect_fails(started, "the node hasn't answered at all");
    expect_fails(started, "olaf job release DEV 5");
    EXPECT_EQ(started.error().code, ETIMEDOUT);
    std::vector<float> vector(4);
    const auto after = collective.allreduce(std::span(vector));
    expect_fails(after, "start() again");
}

TEST(CollectiveFaults, AMemberThatHasNotAsked) {
    const Job job(3, 0, {.timeout = std::chrono::seconds(1)});
    Collective first = job.worker(0);
    const auto started = first.start();
    expect_fails(started, "rank 1 hasn't asked where to begin yet, nor have 1 other");
}

// Its questions are answered: then either others are late, or longer frames don't get through.
TEST(CollectiveFaults, ContributionsOfWhichNoneIsEverAnswered) {
    const Job job(2, 0, {.timeout = std::chrono::seconds(1)});
    job.all([](Collective &collective, std::uint32_t rank) {
        while (!collective.start())
            continue; // the other thread may be slow to come
        if (rank == 1)
            return;
        std::vector<float> vector(40);
        const auto report = collective.allreduce(std::span(vector));
        expect_fails(report, "the sum of chunk 0 of round 0");
        expect_fails(report, "see that every worker sums");
        expect_fails(report, "lanes (olaf job list DEV)");
        expect_fails(report, "carries IP packets of ");
    });
}

// Both agree again and again where to begin. That is no sum, so neither waits for ever.
TEST(CollectiveFaults, ResultsOfOneMemberAreLostForGood) {
    Job job(2, 0, {.timeout = std::chrono::milliseconds(500)});
    std::latch lost(2);
    job.all([&](Collective &collective, std::uint32_t rank) {
        while (!collective.start())
            continue; // the other thread may be slow to come
        lost.arrive_and_wait();
        if (rank == 0)
            job.server.lose_results_of(1);
        std::vector<std::int64_t> vector(8, 1);
        Result<SumReport> report = SumReport{};
        while (report)
            report = collective.allreduce(std::span(vector));
        EXPECT_EQ(report.error().code, ETIMEDOUT) << report.error().message();
        expect_fails(report, "missing: the sum of chunk 0 of round ");
    });
}

TEST(CollectiveFaults, WithAStartThatIsOverNobodyAgrees) {
    const Job job(2, 0, {.timeout = std::chrono::milliseconds(100)});
    EXPECT_FALSE(job.worker(0).start());
    expect_fails(job.worker(1).start(), "rank 0 hasn't asked");
}

TEST(CollectiveFaults, AVectorOfFloatsThatFailedIsNotANumber) {
    for (const unsigned threads : {1U, 2U}) {
        const Job job(2, 0, {.threads = threads, .timeout = std::chrono::milliseconds(100)});
        auto collective = job.worker(0); // the other one never comes
        std::vector<float> vector(500, 1);
        auto operation = collective.allreduce_async(std::span(vector));
        ASSERT_TRUE(operation);
        EXPECT_FALSE(operation->wait());
        EXPECT_TRUE(std::ranges::all_of(vector, [](float each) { return std::isnan(each); }));
        std::ranges::fill(vector, 1);
        EXPECT_FALSE(collective.allreduce(std::span(vector))) << "until start()";
        EXPECT_EQ(vector, std::vector<float>(500, 1)) << "it wasn't begun";
    }
}

// Locks and threads are those of the process that forked: the other one neither uses nor ends them.
TEST(CollectiveFork, IsToldThatTheCollectiveIsNotItsOwn) {
    for (const unsigned threads : {1U, 2U}) {
        const Job job(1, 0, {.threads = threads});
        std::optional<Collective> collective = job.worker(0);
        ASSERT_TRUE(collective->start());
        std::vector<float> vector(500, 1);
        auto operation = collective->allreduce_async(std::span(vector));
        ASSERT_TRUE(operation);
        const pid_t child = fork();
        if (child == 0) {
            const auto is_told = [](const auto &result) {
                return !result && result.error().message().find("forked") != std::string::npos;
            };
            const bool told = is_told(collective->start()) && is_told(operation->wait()) &&
                              is_told(collective->allreduce(std::span(vector))) &&
                              is_told(collective->poll()) && is_told(collective->finish()) &&
                              collective->stats().sent == 0 && operation->done();
            collective.reset();
            _exit(told ? 7 : 8);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_EQ(WEXITSTATUS(status), 7) << status;
        EXPECT_TRUE(operation->wait());
        EXPECT_TRUE(collective->finish());
    }
}

// All are told at once, whoever came first, and each one names its own vector and the other one.
TEST(CollectiveFaults, VectorsOfDifferentSize) {
    const Job job(3, 0.1);
    job.all([&](Collective &collective, std::uint32_t rank) {
        const char *const eight = "the sum of 8 int64 among 3 workers";
        const char *const sixteen = "the sum of 16 int64 among 3 workers";
        std::vector<std::int64_t> vector(rank == 0 ? 8 : 16);
        const auto report = collective.allreduce(std::span(vector));
        expect_fails(report, std::string("in round 0 this member gives ") +
                                 (rank == 0 ? eight : sixteen) + ", and another one " +
                                 (rank == 0 ? sixteen : eight));
        EXPECT_EQ(report.error().code, 0) << "not behind a timeout";
    });
}

TEST(CollectiveFaults, AMemberThatBeginsAnewInTheMiddle) {
    const Job job(2);
    std::latch gone(1);
    job.all([&](Collective &collective, std::uint32_t rank) {
        std::vector<std::int64_t> vector(800, 1);
        for (int round = 0; round < 3; round++)
            ASSERT_TRUE(collective.allreduce(std::span(vector)));
        if (rank == 1) {
            collective = job.worker(1); // a new process
            gone.count_down();
        } else {
            gone.wait();
        }
        if (rank == 0) {
            expect_fails(collective.allreduce(std::span(vector)), "rank 1 has begun anew");
            ASSERT_TRUE(collective.start());
        }
        std::ranges::fill(vector, rank);
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        EXPECT_EQ(vector, std::vector<std::int64_t>(800, 1));
    });
}

// What others sum without a worker comes to it by itself.

// Three pieces, of which the exponents come first.
constexpr std::size_t elements = 40;

/// Worker 0 needs nobody: it sums until the other has had its fill.
void sum_alone(Collective &collective, const std::atomic<bool> &enough) {
    ASSERT_TRUE(collective.start());
    while (!enough) {
        std::vector<float> vector(elements, static_cast<float>(collective.next_round()));
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_TRUE(report || enough) << report.error().message();
    }
}

/// Runs worker 1 beside it.
void overhear(double loss, const std::function<void(Collective &)> &listen,
              const CollectiveOptions &options = {}) {
    Job job(2, loss, options);
    job.server.set_threshold(1);
    std::atomic<bool> enough = false;
    job.all([&](Collective &collective, std::uint32_t rank) {
        if (rank == 0)
            return sum_alone(collective, enough);
        ASSERT_TRUE(collective.start());
        listen(collective);
        enough = true;
    });
}

// Where all guess, and where exponents come before the data that they are for.
TEST(CollectiveOverhearing, ASumIsTakenOnlyWholeThoughMessagesAreLost) {
    const auto listen = [](Collective &collective) {
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
    };
    overhear(0.1, listen);
    overhear(0.1, listen, {.ahead = 1});
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

TEST(CollectiveOverhearing, TakesNothingWhileAVectorIsUnderWay) {
    overhear(0, [](Collective &collective) {
        std::vector<float> vector(elements), heard(elements);
        collective.overhear(elements);
        // Not each time has a whole vector been overheard just then.
        for (std::uint64_t turn = 1; turn <= 20; turn++) {
            while (collective.stats().unasked < 50 * turn) // of later rounds than the first
                ASSERT_TRUE(collective.poll());
            auto operation = collective.follow_async(vector).value();
            ASSERT_FALSE(collective.take_overheard(heard));
            static_cast<void>(operation.wait()); // over for long
        }
        while (!collective.take_overheard(heard))
            ASSERT_TRUE(collective.poll());
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

// A Collective of several threads, each with a range of every vector in a job of its own.

constexpr unsigned kThreads = 3;

std::vector<float> part_of(std::uint32_t rank, std::size_t elements) {
    std::vector<float> part(elements);
    for (std::size_t i = 0; i < elements; i++)
        part[i] = static_cast<float>(rank + 1) * std::sin(static_cast<float>(i)) * 1e-3F;
    return part;
}

// Lengths with as many chunks as threads, fewer, a last one that isn't full, and none.
const std::vector<std::size_t> kLengths = {1000, 1, 16, 17, 48, 50, 0, 333};

std::vector<std::vector<float>> sums_with(unsigned threads, double loss,
                                          CollectiveOptions options = {}) {
    options.threads = threads;
    const Job job(2, loss, options);
    std::vector<std::vector<float>> sums;
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
        for (const std::size_t length : kLengths) {
            auto vector = part_of(rank, length);
            const auto report = sum_of(collective, vector, Combine::sum);
            EXPECT_EQ(report.least_count, 2U);
            EXPECT_EQ(report.partial + report.late, 0U);
            if (rank == 0)
                sums.push_back(vector);
        }
        const auto finished = collective.finish();
        ASSERT_TRUE(finished) << finished.error().message();
        EXPECT_TRUE(*finished);
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
        ASSERT_TRUE(collective.start());
        std::vector<std::int64_t> vector(8 * 10 - 3, 1);
        const auto report = sum_of(collective, vector);
        EXPECT_EQ(report.chunks, 10U);
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
        ASSERT_TRUE(collective.start());
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
        EXPECT_TRUE(collective.finish());
    });
}

TEST(CollectiveThreads, AVectorFailsAsAWholeAndTheNextStartBeginsAnew) {
    const Job job(2, 0, {.threads = kThreads, .timeout = std::chrono::seconds(2)});
    std::latch failed(1);
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.start());
        auto vector = part_of(rank, 500);
        if (rank == 0) {
            const auto report = collective.allreduce(std::span(vector), Combine::sum);
            ASSERT_FALSE(report) << "the other one gave nothing";
            EXPECT_FALSE(collective.allreduce(std::span(vector), Combine::sum)) << "until start()";
            EXPECT_FALSE(collective.poll());
            failed.count_down();
        } else {
            failed.wait();
        }
        const auto started = collective.start();
        ASSERT_TRUE(started) << started.error().message();
        vector = part_of(rank, 500);
        sum_of(collective, vector, Combine::sum);
        EXPECT_NEAR(vector[1], 3e-3F * std::sin(1.0F), 1e-7F);
    });
}

TEST(CollectiveThreads, ACallerIsInterruptedWhereverThreadsWait) {
    std::atomic<bool> stop = false;
    const auto here = std::this_thread::get_id();
    const Job job(2, 0,
                  {.threads = kThreads, .timeout = std::chrono::seconds(60), .interrupted = [&] {
                       EXPECT_EQ(std::this_thread::get_id(), here)
                           << "what is the caller's is called by it";
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
    EXPECT_FALSE(collective.join());
    EXPECT_FALSE(collective.leave(std::chrono::seconds(1)));
    std::vector<std::int32_t> integers(100);
    for (const unsigned threads : {0U, 65U})
        EXPECT_FALSE(
            Collective::make({.node = job.server.address(), .workers = 1, .run = "test", .threads = threads}));
    EXPECT_FALSE(Collective::make(
        {.node = job.server.address(), .job = UINT32_MAX - 1, .workers = 1, .run = "test", .threads = 2}));
}

} // namespace
} // namespace olaf::test::collective_test
