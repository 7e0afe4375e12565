// SPDX-License-Identifier: BSD-2-Clause
// What happens to a node in the middle of rounds: it is emptied, set anew, restarted, its programs
// are replaced. Nothing hangs, and every sum stays exact.
#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <mutex>

#include "rounds.hpp"

namespace olaf::test::rounds_interrupted_test {
namespace {

constexpr unsigned workers = 4, lanes = 64, before = 20, after = 20;
constexpr std::size_t elements = 63 * 20;

class RoundsInterrupted : public testing::Test {
  protected:
    Testbed bed{{.way = Way::local}};

    void attach() { bed.attach({"--round-slots", "64"}); }
    void set() { set_job(bed, workers, lanes, {"--format", "i64x1"}); }

    /// All workers sum; `interrupt` is run after some rounds, and some more follow it.
    void sum_through(const std::function<void()> &interrupt) {
        std::atomic<unsigned> done = 0;
        std::mutex lock;
        unsigned begun = 0, last = UINT_MAX; // of any worker; under the lock
        const auto goes_on = [&](unsigned round) {
            const std::scoped_lock held(lock);
            begun = std::max(begun, round);
            return round < last;
        };
        std::jthread all([&] {
            for_each_worker(
                bed, workers,
                [&](Collective &collective, unsigned rank) {
                    for (unsigned round = 0; goes_on(round); round++) {
                        auto vector = part_of(rank, round, elements);
                        const auto report = collective.allreduce(std::span(vector));
                        ASSERT_TRUE(report) << report.error().message();
                        ASSERT_EQ(vector, sum_of(workers, round, elements)) << "round " << round;
                        if (rank == 0) {
                            done = round + 1;
                            done.notify_all();
                        }
                    }
                    agreed += collective.stats().agreed;
                },
                [](CollectiveOptions &options) {
                    options.format = Format::i64x1;
                    options.lanes = lanes;
                });
            done = UINT_MAX; // also where a worker failed
            done.notify_all();
        });
        for (unsigned seen = done; seen < before; seen = done)
            done.wait(seen);
        interrupt();
        ASSERT_NE(done, UINT_MAX);
        const std::scoped_lock held(lock); // so nobody begins a round that another one won't
        last = begun + after;
    }
    std::atomic<std::uint64_t> agreed = 0; ///< times that workers agreed on where to begin
};

TEST_F(RoundsInterrupted, ByAResetWorkersAgreeAnewAndGoOn) {
    attach();
    set();
    sum_through([&] { EXPECT_EQ(bed.olaf({"job", "reset", "in", "7"}).status, 0); });
    EXPECT_GE(agreed, 2 * workers);
    expect_job_identities(job_status(bed));
}

TEST_F(RoundsInterrupted, ByANodeThatForgotAllTheyBeginWhereTheLastOneIs) {
    attach();
    set();
    sum_through([&] {
        EXPECT_EQ(bed.olaf({"job", "remove", "in", "7"}).status, 0);
        set();
    });
    EXPECT_GE(agreed, 2 * workers);
}

TEST_F(RoundsInterrupted, ByARestartOfTheQueueTheyGoOnAsSoonAsItIsBack) {
    attach();
    set();
    sum_through([&] {
        bed.olaf.detach();
        attach();
        set();
    });
    EXPECT_GE(agreed, 2 * workers);
}

TEST_F(RoundsInterrupted, ByNewProgramsNobodyNotices) {
    attach();
    set();
    sum_through([&] { bed.olaf.replace(); });
    EXPECT_EQ(agreed, workers);
    expect_job_identities(job_status(bed));
}

TEST_F(RoundsInterrupted, WhileHaltedTheyWait) {
    attach();
    set();
    sum_through([&] {
        EXPECT_EQ(bed.olaf({"job", "halt", "in", "7"}).status, 0);
        bed.olaf.await([](const Status &status) {
            return status.json.at("jobs").at(0).at("contributions").at("halted") > 0;
        });
        EXPECT_EQ(bed.olaf({"job", "resume", "in", "7"}).status, 0);
    });
    EXPECT_EQ(agreed, workers);
}

} // namespace
} // namespace olaf::test::rounds_interrupted_test
