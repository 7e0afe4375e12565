// SPDX-License-Identifier: BSD-2-Clause
// Members and nodes that fall silent, in the middle of rounds: a worker that is slow, killed or stopped, a
// node that is emptied, set anew, restarted, replaced, or gone for good. Nothing hangs, no sum is wrong,
// and an error says who it was.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <bit>
#include <cerrno>
#include <csignal>
#include <latch>
#include <numeric>

#include "olaf/run.h"
#include "rounds.hpp"

namespace olaf::test::rounds_gone_test {
namespace {

void give_up_soon(CollectiveOptions &options) {
    options.timeout = std::chrono::seconds(1);
}

/// Who is in each chunk of a sum, a bit each.
std::vector<unsigned> members_by_chunk(const std::vector<std::int64_t> &sum, unsigned round) {
    std::vector<unsigned> members;
    for (std::size_t i = 0; i < sum.size(); i++) {
        const auto in = members_in(sum, i, round);
        EXPECT_NE(in, ~0u) << "element " << i << " of round " << round << ": " << sum[i];
        if (i % in_chunk == 0)
            members.push_back(in);
        EXPECT_EQ(in, members.back()) << "element " << i << " of round " << round;
    }
    return members;
}

// ---- a worker's process is killed in the middle of a round ----
// Its job has a deadline: the others get that sum with the part of the dead where it had come, the next
// ones without it, as PARTIAL, and whole ones once it is no member any more.

// A member has contributed to `pool` chunks of a round when the others still have to.
constexpr unsigned pool = 8, rounds_before = 4, whole_rounds = 5;
static_assert(pool < member_chunks);

/// Long enough for others to get results before these give way to newer ones.
const std::vector<std::string> with_deadline = {"--pool", std::to_string(pool), "--deadline",
                                                "100ms"};

struct Scene {
    const JobWorkers &all;
    std::vector<unsigned> workers;        ///< of them the last one dies
    std::function<nlohmann::json()> job;  ///< of the node that the dead one contributes to
    std::function<void()> take_out = {};  ///< when some sums lacked it
};

unsigned bits(const std::vector<unsigned> &workers) {
    return std::accumulate(workers.begin(), workers.end(), 0u,
                           [](unsigned sum, unsigned worker) { return sum | 1u << worker; });
}

/// Sums some rounds, contributes to the next one what it may without the others, and waits to be
/// killed.
void stop_midway(const Scene &scene) {
    const Inside inside(scene.all.netns_of_workers());
    const unsigned worker = scene.workers.back();
    auto collective = Collective::make(scene.all.options(worker)).value();
    bool goes_on = collective.start().has_value();
    for (unsigned round = 0; round < rounds_before && goes_on; round++) {
        auto vector = member_part(worker, round);
        goes_on = collective.allreduce(std::span(vector)).has_value();
    }
    auto vector = member_part(worker, rounds_before);
    if (goes_on && collective.allreduce_async(std::span(vector)) && collective.poll())
        for (;;)
            pause();
}

struct Sum {
    SumReport report;
    std::vector<unsigned> workers; ///< in each chunk, a bit each

    [[nodiscard]] std::ptrdiff_t chunks_without(unsigned some) const {
        return std::ranges::count_if(workers, [=](unsigned in) { return (in & some) != some; });
    }
};

/// One vector, and exactly who is in its sum, which is what the report says.
Sum sum(Collective &collective, unsigned worker, unsigned round) {
    auto vector = member_part(worker, round);
    const auto report = collective.allreduce(std::span(vector));
    if (!report)
        throw std::runtime_error(report.error().message());
    Sum sum{.report = *report, .workers = members_by_chunk(vector, round)};
    const auto least = std::ranges::min(sum.workers, {}, [](auto in) { return std::popcount(in); });
    EXPECT_EQ(report->least_count, std::popcount(least)) << "round " << round;
    EXPECT_EQ(report->late, sum.chunks_without(1u << worker)) << "round " << round;
    return sum;
}

/// What the workers that live on have in common: each round begins when all have the last one's sum.
class Living {
  public:
    explicit Living(const Scene &scene)
        : scene_(scene), dead_(1u << scene.workers.back()), all_(bits(scene.workers)),
          together_(static_cast<std::ptrdiff_t>(scene.workers.size()) - 1),
          dying_([&scene] { stop_midway(scene); }) {}

    void run(Collective &collective, unsigned worker) {
        const bool is_first = worker == scene_.workers.front();
        const Leaving leaving{*this, is_first};
        for (unsigned round = 0; round < rounds_before; round++)
            sum(collective, worker, round);
        together_.arrive_and_wait();
        if (is_first)
            kill();
        together_.arrive_and_wait();
        expect_midway(sum(collective, worker, rounds_before));
        for (unsigned round = rounds_before + 1; !over_; round++) {
            const auto next = sum(collective, worker, round);
            expect_without_the_dead(next, round);
            if (is_first)
                decide(next);
            together_.arrive_and_wait();
        }
    }

  private:
    /// However a worker ends, nobody waits for it, nor without end for the first one's decision.
    struct Leaving {
        Living &living;
        bool is_first;
        ~Leaving() {
            living.over_ = living.over_ || is_first;
            living.together_.arrive_and_drop();
        }
    };

    /// The node has all that it contributed, and nothing of the others.
    void kill() {
        await(
            [&] {
                if (!dying_.running())
                    throw std::runtime_error("it isn't midway: " + scene_.job().dump());
                return scene_.job()["chunks"]["open"] == pool;
            },
            [&] { return "the middle of a sum: " + scene_.job().dump(); });
        dying_.kill(SIGKILL);
        EXPECT_EQ(dying_.wait().status, 128 + SIGKILL);
    }
    void expect_midway(const Sum &sum) const {
        for (unsigned chunk = 0; chunk < member_chunks; chunk++)
            EXPECT_EQ((sum.workers[chunk] & dead_) != 0, chunk < pool) << "chunk " << chunk;
        EXPECT_EQ(sum.report.partial, sum.chunks_without(all_));
    }
    void expect_without_the_dead(const Sum &sum, unsigned round) const {
        for (const unsigned in : sum.workers)
            EXPECT_EQ(in & dead_, 0u) << "round " << round;
        EXPECT_GE(sum.report.partial, sum.chunks_without(all_ & ~dead_)) << "round " << round;
    }
    void decide(const Sum &sum) {
        if (sum.report.partial == 0)
            whole_++;
        else if (partial_++ == 0 && scene_.take_out)
            scene_.take_out();
        over_ = over_ || whole_ == whole_rounds;
    }

    const Scene &scene_;
    const unsigned dead_, all_;
    std::atomic<bool> over_ = false;
    unsigned partial_ = 0, whole_ = 0; // the first one's
    std::barrier<> together_;
    Process dying_; // before there are threads
};

void kill_one_midway(const Scene &scene) {
    Living living(scene);
    auto living_ones = scene.workers;
    living_ones.pop_back();
    run_workers(
        scene.all.netns_of_workers(), living_ones,
        [&](unsigned worker) { return scene.all.options(worker); },
        [&](Collective &collective, unsigned worker) { living.run(collective, worker); });
    scene.all.expect_books_to_add_up();
    const auto job = scene.job();
    SCOPED_TRACE(job.dump(1));
    EXPECT_EQ(job["state"], "running");
    EXPECT_EQ(job["silent"], scene.take_out ? 0 : 1);
    EXPECT_GE(job["chunks"]["partial"], member_chunks - pool);
}

class RoundsKilled : public testing::TestWithParam<bool> {};

TEST_P(RoundsKilled, TheOthersGoOnWithoutItByTheDeadlineAndThenAreAllThereAre) {
    const bool by_order = GetParam();
    const RoundsBed bed({.workers = 3,
                         .attach = {"--member-timeout", by_order ? "3600s" : "2s"},
                         .set = with_deadline});
    Scene scene{.all = bed, .workers = {0, 1, 2}, .job = [&] { return bed.job(); }};
    if (by_order)
        scene.take_out = [&] { bed.order("leave", {"2"}); };
    kill_one_midway(scene);
    EXPECT_EQ(bed.job()["absent"], nlohmann::json::array({2}));
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsKilled, testing::Bool(), [](const auto &info) {
    return info.param ? "WhoIsTakenOutByOrder" : "WhoIsTakenOutForItsSilence";
});

// Worker 0 is the root's, 1 and 2 are of a leaf, 3 of the other one. Only the leaf has a deadline.
TEST(RoundsKilledInATree, BelowALeafTheDeadIsMissedByAllUntilTheLeafHasNoSuchMember) {
    RoundTree tree({{0, 1, {}, {}, {"--pool", std::to_string(pool)}},
                    {0, 2, {}, {"--member-timeout", "2s"}, with_deadline},
                    {0, 1, {}, {}, {"--pool", std::to_string(pool)}}});
    kill_one_midway({.all = tree, .workers = {0, 1, 3, 2}, .job = [&] { return tree.job(1); }});
    EXPECT_EQ(tree.job(1)["absent"], nlohmann::json::array({1}));
    EXPECT_TRUE(tree.job(0)["absent"].empty()) << "it's the leaf's worker, and none of the root's";
}

// ---- workers that aren't alike: what the others get is what the job was set to ----

TEST(RoundsUnequal, ASlowWorkerHoldsTheOthersUpAndChangesNoSum) {
    const RoundsBed bed;
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < 10; round++) {
            if (rank == 3) { // it contributes when the others have
                nlohmann::json job;
                await(
                    [&] {
                        job = bed.job();
                        return job["contributions"]["added"] == (4 * round + 3) * member_chunks;
                    },
                    [&] { return "what the others contribute: " + job.dump(); });
                EXPECT_EQ(job["chunks"]["completed"], round * member_chunks);
            }
            sum_round(collective, rank, 4, round, member_elements);
        }
    });
    expect_job_identities(bed.job());
    EXPECT_EQ(bed.job()["chunks"]["partial"], 0);
}

TEST(RoundsUnequal, WithADeadlineTheOthersGoOnWithoutOneThatDiedInTheMiddle) {
    const RoundsBed bed({.set = {"--deadline", "20ms"}});
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < 8; round++) {
            auto vector = member_part(rank, round);
            if (rank == 3 && round == 4) { // some of its chunks are under way when it dies
                ASSERT_TRUE(collective.allreduce_async(std::span(vector)));
                ASSERT_TRUE(collective.poll());
                return;
            }
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            const auto members = members_by_chunk(vector, round);
            if (round > 4) {
                for (const unsigned in : members)
                    EXPECT_EQ(in & 8, 0u);
                EXPECT_EQ(report->partial, member_chunks);
                EXPECT_LE(report->least_count, 3u);
            }
        }
    });
    EXPECT_GE(bed.job()["chunks"]["partial"], 3 * member_chunks);
}

TEST(RoundsUnequal, WithAThresholdASlowOneIsLateAndKnowsIt) {
    const RoundsBed bed({.set = {"--threshold", "3"}});
    // The slow one begins a round when the others have ended it, and they wait for it then: a
    // result that is too old is gone.
    std::atomic<unsigned> quick = 0, slow = 0, late = 0;
    const auto reaches = [](std::atomic<unsigned> &count, unsigned wanted) {
        for (unsigned seen = count; seen < wanted; seen = count)
            count.wait(seen);
    };
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < 10; round++) {
            if (rank == 3)
                reaches(quick, 3 * (round + 1));
            auto vector = member_part(rank, round);
            const auto report = collective.allreduce(std::span(vector));
            auto &ended = rank == 3 ? slow : quick;
            ended++;
            ended.notify_all();
            ASSERT_TRUE(report) << report.error().message();
            for (const unsigned in : members_by_chunk(vector, round))
                ASSERT_EQ(in, 7u) << "round " << round;
            EXPECT_EQ(report->least_count, 3u);
            if (rank == 3) {
                late += report->late;
            } else {
                EXPECT_EQ(report->late, 0u);
                reaches(slow, round + 1);
            }
        }
    });
    EXPECT_EQ(late, 10 * member_chunks);
}

TEST(RoundsUnequal, WithoutEitherOneThatDiesIsNamed) {
    const RoundsBed bed;
    bed.for_each_worker(
        [&](Collective &collective, unsigned rank) {
            sum_round(collective, rank, 4, 0, member_elements);
            if (rank == 2)
                return;
            auto vector = part_of(rank, 1, member_elements);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_FALSE(report);
            EXPECT_TRUE(gave_up(report.error().message(), "rank 2 hasn't asked"));
        },
        give_up_soon);
}

// ---- a member that lives but says nothing, in a job that waits for all: the others are told who it is ----

TEST(RoundsSilent, AStoppedProcessIsNamedToAllOthersWhenTheirTimeoutIsOver) {
    const RoundsBed bed({.workers = 3});
    Process third([&] {
        const Inside inside(bed.worker);
        auto collective = Collective::make(bed.options(2)).value();
        for (bool goes_on = collective.start().has_value(); goes_on;)
            sum_as_member(collective, 2);
    });
    Summing summing(bed, {0, 1}, give_up_soon);
    summing.await_sum_of(0b111);
    third.kill(SIGSTOP);
    const auto errors = summing.errors();
    ASSERT_EQ(errors.size(), 2u);
    for (const auto &[rank, error] : errors)
        EXPECT_TRUE(gave_up(error, "rank 2 hasn't asked where to begin yet")) << rank;
}

// Worker 0 is the root's, 1 and 2 are of a node below, 3 of another one.
TEST(RoundsSilent, InATreeEachWorkerIsToldWhichRankOfWhichNodeItIs) {
    constexpr unsigned silent = 2;
    const RoundTree tree({{0, 1}, {0, 2}, {0, 1}});
    std::latch told(3);
    tree.for_each_worker(
        [&](Collective &collective, unsigned worker) {
            std::vector<std::int64_t> vector(100, worker);
            ASSERT_TRUE(collective.allreduce(std::span(vector)));
            if (worker == silent) {
                told.wait();
                return;
            }
            const auto report = collective.allreduce(std::span(vector));
            told.count_down();
            ASSERT_FALSE(report);
            const std::string expected[] = {"rank 1 hasn't asked", "rank 1 hasn't asked", "",
                                            "rank 1 of a node above hasn't asked"};
            EXPECT_TRUE(gave_up(report.error().message(), expected[worker])) << worker;
        },
        give_up_soon);
}

// ---- a process whose clock was ahead, or somebody at its address, has asked in a rank's name ----

TEST(RoundsClock, AStampFromTheFutureLocksNobodyOut) {
    const RoundsBed bed({.workers = 2});
    {
        const UdpSocket ahead(bed.worker, Testbed::worker_peer(4));
        ahead.send(message(JobMessage{.type = OLAF_CONTROL,
                                      .flags = 0,
                                      .count = OLAF_CONTROL_SYNC,
                                      .generated_ns = 1ULL << 62,
                                      .chunks = 0,
                                      .generation = 0,
                                      .pool = 6,
                                      .lanes = {1, 0, olaf_training_id("test", 4), 0}}),
                   bed.target(4));
        ASSERT_EQ(ahead.receive().payload.at(3), OLAF_CONTROL) << "it was heard";
    }
    bed.order("reset"); // nobody agrees with it, and its stamp is still known
    bed.sum_exactly(3, member_elements);
    EXPECT_LT(bed.job()["syncs"], 200);
}

// ---- all agree where to begin, again and again, and no sum comes: nobody waits beyond the timeout ----

/// What keeps sums away from then on, until it is destroyed.
struct Hindrance {
    const char *name;
    std::function<std::shared_ptr<void>(const RoundsBed &)> begin;
};

std::shared_ptr<void> lose_all(const RoundsBed &bed, TcFilter::Direction direction, std::uint8_t type) {
    return std::make_shared<LosingFirst>(bed.worker, "eth0", direction, Messages{type}, LosingFirst::all);
}

const Hindrance hindrances[] = {
    {"AHaltedJob",
     [](const RoundsBed &bed) {
         bed.order("halt");
         return std::shared_ptr<void>();
     }},
    {"LostContributions",
     [](const RoundsBed &bed) { return lose_all(bed, TcFilter::sent, OLAF_CONTRIBUTION); }},
    {"LostResults",
     [](const RoundsBed &bed) { return lose_all(bed, TcFilter::received, OLAF_RESULT); }},
};

class RoundsHindered : public testing::TestWithParam<std::tuple<Hindrance, unsigned>> {};

TEST_P(RoundsHindered, EndsEachWaitAndTheErrorSaysThatAllAreThere) {
    const auto &[hindrance, sums_before] = GetParam();
    const RoundsBed bed({.workers = 3});
    std::barrier<> all(3);
    std::shared_ptr<void> hindered;
    bed.for_each_worker(
        [&](Collective &collective, unsigned rank) {
            Together together(all);
            for (unsigned round = 0; round < sums_before; round++)
                sum_round(collective, rank, 3, round, member_elements);
            together.wait();
            if (rank == 0)
                hindered = hindrance.begin(bed);
            together.wait();
            auto vector = part_of(rank, sums_before, member_elements);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_FALSE(report);
            EXPECT_EQ(report.error().code, ETIMEDOUT);
            const auto error = report.error().message();
            EXPECT_TRUE(gave_up(error, "all members have asked where to begin, and no sum has come since"));
            EXPECT_TRUE(says(error, "that the job isn't halted and has 64 lanes"));
        },
        give_up_soon);
}

INSTANTIATE_TEST_SUITE_P(By, RoundsHindered,
                         testing::Combine(testing::ValuesIn(hindrances), testing::Values(0u, 3u)),
                         [](const auto &each) {
                             return std::string(std::get<0>(each.param).name) +
                                    (std::get<1>(each.param) ? "InTheMiddle" : "FromTheFirstOn");
                         });

// ---- a node that is gone for good, or never answers: every worker gives up and says what is silent ----

TEST(RoundsGone, ANodeThatIsDetachedInTheMiddleIsSilentToEveryWorker) {
    RoundsBed bed({.workers = 3});
    Summing summing(bed, {0, 1, 2}, give_up_soon);
    summing.await_sum_of(0b111);
    bed.olaf.detach();
    const auto errors = summing.errors();
    ASSERT_EQ(errors.size(), 3u);
    for (const auto &[rank, error] : errors)
        EXPECT_TRUE(gave_up(error, "the node has been silent for")) << rank;
}

// Workers 0 and 1 are of the middle node, 2 and 3 of the leaf below it. Where the node that is gone isn't a
// worker's own, that one is told of it by its own node, or that its node's parent may be silent.
class RoundsChainGone : public testing::TestWithParam<unsigned> {};

TEST_P(RoundsChainGone, IsMissedByAllWorkersWhenTheirTimeoutIsOver) {
    RoundTree chain({{0, 0}, {0, 2}, {1, 2}});
    std::latch summed(4), gone(1);
    std::jthread stops([&] {
        summed.wait();
        chain.stop(GetParam());
        gone.count_down();
    });
    chain.for_each_worker(
        [&](Collective &collective, unsigned worker) {
            std::vector<std::int64_t> vector(100, worker);
            EXPECT_TRUE(collective.allreduce(std::span(vector)));
            summed.count_down();
            gone.wait();
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_FALSE(report);
            const auto error = report.error().message();
            if ((worker < 2 ? 1 : 2) == GetParam())
                EXPECT_TRUE(gave_up(error, "the node has been silent for")) << worker;
            else
                EXPECT_TRUE(gave_up(error, "its parent") ||
                            gave_up(error, "hasn't asked where to begin") ||
                            gave_up(error, "other nodes"))
                    << worker << ": " << error;
        },
        give_up_soon);
}

INSTANTIATE_TEST_SUITE_P(Its, RoundsChainGone, testing::Values(0, 1, 2), [](const auto &info) {
    return std::string(info.param == 0 ? "Root" : info.param == 1 ? "MiddleNode" : "Leaf");
});

TEST(RoundsGone, AParentThatNeverAnswersIsThoughtOfWhenWorkersBegin) {
    RoundTree tree({{0, 0}, {0, 2}});
    tree.stop(0);
    for (const auto &error : failed_joins(tree, give_up_soon))
        EXPECT_TRUE(gave_up(error.message(), "its parent"));
}

// ---- what happens to a node in the middle of rounds ----

class RoundsInterrupted : public testing::Test {
  protected:
    /// All workers sum; `interrupt` is run after some rounds, and some more follow it. Returns how often
    /// workers agreed on where to begin.
    std::uint64_t sum_through(const std::function<void()> &interrupt) {
        EndlessSums sums(bed, member_elements);
        sums.await_more(20);
        interrupt();
        EXPECT_TRUE(sums.running());
        sums.stop(20);
        return sums.agreed();
    }
    RoundsBed bed;
};

TEST_F(RoundsInterrupted, ByAResetWorkersAgreeAnewAndGoOn) {
    EXPECT_GE(sum_through([&] { bed.order("reset"); }), 2 * bed.workers());
    expect_job_identities(bed.job());
}

TEST_F(RoundsInterrupted, ByANodeThatForgotAllTheyBeginWhereTheLastOneIs) {
    EXPECT_GE(sum_through([&] { bed.set_anew(bed.workers()); }), 2 * bed.workers());
}

TEST_F(RoundsInterrupted, ByARestartOfTheQueueTheyGoOnAsSoonAsItIsBack) {
    const auto agreed = sum_through([&] {
        bed.olaf.detach();
        bed.start();
    });
    EXPECT_GE(agreed, 2 * bed.workers());
}

TEST_F(RoundsInterrupted, ByNewProgramsNobodyNotices) {
    EXPECT_EQ(sum_through([&] { bed.olaf.replace(); }), bed.workers());
    expect_job_identities(bed.job());
}

TEST_F(RoundsInterrupted, WhileHaltedTheyWait) {
    const auto agreed = sum_through([&] {
        bed.order("halt");
        bed.olaf.await([](const Status &status) {
            return status.json.at("jobs").at(0).at("contributions").at("halted") > 0;
        });
        bed.order("resume");
    });
    EXPECT_EQ(agreed, bed.workers());
}

} // namespace
} // namespace olaf::test::rounds_gone_test
