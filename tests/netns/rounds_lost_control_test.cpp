// SPDX-License-Identifier: BSD-2-Clause
// Questions and answers about who is a member are lost: who asks asks again, and the job goes on as if
// nothing were lost; or who asks is told that nobody answered.
#include <gtest/gtest.h>

#include "losing.hpp"
#include "round_members.hpp"

namespace olaf::test::rounds_lost_control_test {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr unsigned workers = 3, comes = 2; // who comes and goes
constexpr unsigned others = 0b011, all = 0b111;

struct Lost {
    const char *name;
    std::uint32_t action;
    Losing::Direction direction; ///< of the workers' device
};

constexpr Lost losses[] = {
    {"TheQuestionWhereToBegin", OLAF_CONTROL_SYNC, Losing::sent},
    {"TheAnswerWhereToBegin", OLAF_CONTROL_SYNC, Losing::received},
    {"AJoin", OLAF_CONTROL_JOIN, Losing::sent},
    {"AJoinsAnswer", OLAF_CONTROL_JOIN, Losing::received},
    {"ALeave", OLAF_CONTROL_LEAVE, Losing::sent},
    {"ALeavesAnswer", OLAF_CONTROL_LEAVE, Losing::received},
};

class RoundsLosingControl : public testing::TestWithParam<Lost> {
  protected:
    RoundsLosingControl() {
        bed.attach({"--round-slots", "64"});
        set_job(bed, workers, member_lanes, {"--format", "i64x1", "--absent", "2"});
    }
    Collective joiner(std::chrono::nanoseconds timeout = seconds(30)) const {
        auto options = member_options(bed, comes, workers);
        options.timeout = timeout;
        return Collective::make(options).value();
    }
    LosingFirst lose(std::uint32_t first) const {
        return {bed.worker, "eth0", GetParam().direction, {OLAF_CONTROL, GetParam().action}, first};
    }
    Testbed bed{{.way = Way::local, .place = Place::kernel}};
};

TEST_P(RoundsLosingControl, AWorkerComesAndGoesAllTheSame) {
    constexpr unsigned first = 5;
    const LosingFirst losing = lose(first);
    Summing summing(bed, 2, workers);
    summing.await_sum_of(others);
    const Inside inside(bed.worker);
    auto collective = joiner();
    const auto round = collective.join_running();
    ASSERT_TRUE(round) << round.error().message();
    EXPECT_GT(*round, 0u);
    for (unsigned own = 0; own < 20; own++) {
        const auto sum = sum_as_member(collective, comes);
        EXPECT_EQ(sum.ranks, all);
        EXPECT_EQ(sum.report.partial, 0u);
    }
    const auto gone = collective.depart(seconds(20));
    ASSERT_TRUE(gone) << gone.error().message();
    EXPECT_TRUE(*gone);
    summing.await_sum_of(others);
    summing.stop();
    EXPECT_TRUE(summing.errors().empty()) << summing.errors().begin()->second;
    EXPECT_GT(losing.seen(), first);
    EXPECT_EQ(job_status(bed).at("absent"), nlohmann::json::array({comes}));
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsLosingControl, testing::ValuesIn(losses),
                         [](const auto &info) { return info.param.name; });

/// Where no question gets there, or no answer comes back, at all.
class RoundsLosingAllControl : public RoundsLosingControl {};

TEST_P(RoundsLosingAllControl, WhoAsksIsToldThatNobodyAnswers) {
    Summing summing(bed, 2, workers);
    summing.await_sum_of(others);
    const LosingFirst losing = lose(LosingFirst::all);
    const Inside inside(bed.worker);
    auto collective = joiner(milliseconds(500));
    const auto round = collective.join_running();
    ASSERT_FALSE(round);
    EXPECT_NE(round.error().message().find("the node hasn't answered at all"), std::string::npos)
        << round.error().message();
    EXPECT_GT(losing.seen(), 1u);
    // If the node heard of it, all others would wait for it: an operator takes it out.
    EXPECT_EQ(bed.olaf({"job", "leave", "in", std::to_string(rounds_job), "2"}).status, 0);
    summing.await_sum_of(others);
    summing.stop();
    EXPECT_TRUE(summing.errors().empty()) << summing.errors().begin()->second;
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsLosingAllControl, testing::Values(losses[2], losses[3]),
                         [](const auto &info) { return info.param.name; });

class RoundsLosingAllLeaves : public RoundsLosingControl {};

TEST_P(RoundsLosingAllLeaves, WhoLeavesDoesNotKnowThatNobodyNeedsIt) {
    Summing summing(bed, 2, workers);
    summing.await_sum_of(others);
    const Inside inside(bed.worker);
    auto collective = joiner();
    ASSERT_TRUE(collective.join_running());
    const LosingFirst losing = lose(LosingFirst::all);
    EXPECT_EQ(sum_as_member(collective, comes).ranks, all);
    const auto gone = collective.depart(milliseconds(500));
    ASSERT_TRUE(gone) << gone.error().message();
    EXPECT_FALSE(*gone);
    EXPECT_GT(losing.seen(), 1u);
    EXPECT_EQ(bed.olaf({"job", "leave", "in", std::to_string(rounds_job), "2"}).status, 0);
    summing.await_sum_of(others);
    summing.stop();
    EXPECT_TRUE(summing.errors().empty()) << summing.errors().begin()->second;
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsLosingAllLeaves, testing::Values(losses[4], losses[5]),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_lost_control_test
