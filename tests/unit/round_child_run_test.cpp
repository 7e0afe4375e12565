// SPDX-License-Identifier: BSD-2-Clause
// A worker's side of a job that another run has: docs/rounds.md, "Runs".
#include <gtest/gtest.h>

#include <string>

#include "round_child.hpp"

namespace olaf::test::round_child_run_test {
namespace {

constexpr olaf_run kOwn = {.training = 0xabc, .number = 4};

struct RoundChildRun : RoundChildSession {
    RoundChildRun() { be({.job = 3, .rank = 1, .lanes = 2, .pool = 5, .run = kOwn}); }

    void be(const RoundChildOptions &options) { child = RoundChild(options, vectors); }
    /// The job is that run's, of whom rank 2 and so many others are there, for 12.3 s more.
    static JobSync of(JobSync asked, const olaf_run &run, std::uint32_t missing) {
        asked.rank = missing == 0 ? OLAF_EVERY_RANK : 2;
        asked.run = run;
        asked.missing = missing;
        asked.session = std::chrono::nanoseconds(12'300ms).count();
        return asked;
    }
    /// Its first question is answered so: why it fails.
    std::string refused(const olaf_run &run, std::uint32_t missing, bool above = false) {
        child.start();
        JobSync other = of(question().value(), run, missing);
        other.above = above;
        answer(other, OLAF_CONTROL_OTHER);
        return child.failure() ? child.failure()->message() : "no failure";
    }
};

TEST_F(RoundChildRun, IsInEachQuestion) {
    child.start();
    const JobSync sync = question().value();
    EXPECT_EQ(sync.run.training, kOwn.training);
    EXPECT_EQ(sync.run.number, kOwn.number);
    be({.job = 3, .rank = 1, .lanes = 2, .pool = 5, .run = kOwn});
    child.join();
    const JobSync join = question().value();
    EXPECT_EQ(join.action, OLAF_CONTROL_JOIN);
    EXPECT_EQ(join.run.training, kOwn.training);
    EXPECT_EQ(join.run.number, kOwn.number);
}

TEST_F(RoundChildRun, IsOverOnceALaterOneHasTheJob) {
    EXPECT_EQ(refused({.training = kOwn.training, .number = 9}, 0),
              "cannot sum vectors of job 3: a later run of this training (number 9, this process "
              "is of number 4) has taken the job over; end this process");
    EXPECT_FALSE(child.next(now + 1s, 2000)) << "it asks no more";
    EXPECT_TRUE(child.is_refused());
}

TEST_F(RoundChildRun, IsToldWhichOtherTrainingHasTheJobAndForHowLong) {
    EXPECT_EQ(refused({.training = 0xdef, .number = 0}, 3),
              "cannot sum vectors of job 3: the job is in use by another run (id:0000000000000def; "
              "this process is of id:867a048b8032ba7c number 4): rank 2 and 2 others, "
              "for 13 s more unless they are heard again; give each training a job of its own, or "
              "end that one, or release the job (olaf job release DEV 3)");
}

TEST_F(RoundChildRun, OfOneWorkerIsToldWithoutOthers) {
    const std::string said = refused({.training = 0xdef, .number = 0}, 1);
    EXPECT_NE(said.find("(id:0000000000000def; this"), std::string::npos) << said;
    EXPECT_NE(said.find("rank 2, for 13 s more"), std::string::npos) << said;
}

TEST_F(RoundChildRun, OfANodeAboveIsToldSo) {
    const std::string said = refused({.training = 0xdef, .number = 7}, 2, true);
    EXPECT_NE(said.find("number 4): rank 2 of a node above and 1 other, for"), std::string::npos)
        << said;
    EXPECT_FALSE(child.is_refused()) << "its own node has its question";
}

TEST_F(RoundChildRun, ThatTheJobWasSetForIsNamedAsThisOneIsWhereTheTrainingIsTheSame) {
    const std::string said = refused({.training = kOwn.training, .number = 3}, 0);
    EXPECT_NE(
        said.find("the job was set for another run (id:867a048b8032ba7c number 3; this process "
                  "is of id:867a048b8032ba7c number 4)"),
        std::string::npos)
        << said;
}

TEST_F(RoundChildRun, ThatTheJobWasNotSetForIsToldSo) {
    const std::string said = refused({.training = 0xdef, .number = 0}, 0);
    EXPECT_NE(said.find("the job was set for another run (id:0000000000000def; "),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("olaf job set --run"), std::string::npos) << said;
    EXPECT_EQ(said.find("start() again"), std::string::npos) << said;
}

TEST_F(RoundChildRun, OfAnotherIsNoNewsInAnAnswerToAnEarlierQuestion) {
    child.start();
    const JobSync earlier = question().value();
    answer(earlier, OLAF_CONTROL_OLD);
    ASSERT_NE(question().value().stamp, earlier.stamp);
    answer(of(earlier, {.training = 0xdef, .number = 0}, 1), OLAF_CONTROL_OTHER);
    EXPECT_FALSE(child.failure());
}

TEST_F(RoundChildRun, ThatLacksASumFailsWhenAnotherTakesTheJob) {
    sum_one_of_two();
    answer(of(asked_anew(), {.training = kOwn.training, .number = 5}, 1), OLAF_CONTROL_OTHER);
    EXPECT_TRUE(child.failure());
    EXPECT_EQ(child.session(), 99U) << "the answer has a time there";
}

TEST_F(RoundChildRun, ThatLacksOnlyTheFarewellIsFinishedWhenAnotherTakesTheJob) {
    sum_one_of_two();
    child.add_farewell(0);
    RoundResult second = result(0, 1);
    second.round = 1;
    give(encode(second), {9, 9});
    ASSERT_EQ(contribution().value().chunks, kFarewellChunks);
    answer(of(asked_anew(), {.training = 0xdef, .number = 0}, 1), OLAF_CONTROL_OTHER);
    EXPECT_FALSE(child.failure());
    EXPECT_EQ(vectors.missed, std::vector<std::uint32_t>{0});
    EXPECT_FALSE(child.next(now + 1s, 2000));
}

} // namespace
} // namespace olaf::test::round_child_run_test
