// SPDX-License-Identifier: BSD-2-Clause
// Workers that come and go while others sum: one or two at once, below the leaves of a tree, where
// a node forgets them, where questions and answers are lost, and as another process after they were
// killed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <csignal>
#include <optional>

#include "rounds.hpp"

namespace olaf::test::rounds_members_test {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

constexpr std::size_t elements = member_elements;

// Of most jobs here, ranks 0 and 1 are there from the beginning. Rank 2 comes and goes.
constexpr unsigned comes = 2, others = 0b011, all = 0b111;

JobSetting two_of_three(const std::vector<std::string> &attach = {}) {
    return {.workers = 3, .attach = attach, .set = {"--absent", "2"}};
}

/// Takes part in so many whole sums of all.
void be_in_sums(Collective &collective, unsigned sums) {
    for (unsigned own = 0; own < sums; own++) {
        const auto sum = sum_as_member(collective, comes);
        EXPECT_EQ(sum.members, all);
        EXPECT_EQ(sum.report.partial, 0u);
    }
}

// ---- whose sums these are, by what reports say ----

/// One vector; its sum is that of as many workers, the lowest ranks, as the report says.
SumReport sum_of_those_told(Collective &collective, unsigned rank, unsigned round) {
    auto vector = part_of(rank, round, elements);
    const auto report = collective.allreduce(std::span(vector));
    if (!report)
        throw std::runtime_error(report.error().message());
    if (report->partial == 0) {
        EXPECT_EQ(vector, sum_of(report->least_count, round, elements)) << "round " << round;
    }
    return *report;
}

TEST(RoundsMembers, AWorkerThatJoinsIsInEverySumFromItsFirstRoundOn) {
    const RoundsBed bed(two_of_three());
    std::atomic<unsigned> last = UINT_MAX, first = UINT_MAX;
    std::jthread those_there([&] {
        bed.for_each_of(2, [&](Collective &collective, unsigned rank) {
            for (unsigned round = 0; round < last; round++) {
                const auto report = sum_of_those_told(collective, rank, round);
                EXPECT_EQ(report.least_count, round < first ? 2u : 3u) << "round " << round;
                EXPECT_EQ(report.partial, 0u);
            }
        });
    });
    const Inside inside(bed.worker);
    auto joiner = Collective::make(bed.options(comes)).value();
    const auto round = joiner.join();
    ASSERT_TRUE(round) << round.error().message();
    EXPECT_GT(*round, 0u);
    first = *round; // nobody has its sum before this one contributes to it
    last = *round + 30;
    for (unsigned own = *round; own < last; own++)
        EXPECT_EQ(sum_of_those_told(joiner, comes, own).least_count, 3u);
}

TEST(RoundsMembers, AWorkerThatLeavesIsNotWaitedFor) {
    const RoundsBed bed({.workers = 3});
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < (rank == 2 ? 10u : 60u); round++) {
            const auto report = sum_of_those_told(collective, rank, round);
            EXPECT_EQ(report.least_count, round < 10 ? 3u : 2u) << "round " << round;
            EXPECT_EQ(report.partial, 0u);
        }
        if (rank == 2) {
            const auto gone = collective.leave(seconds(20));
            ASSERT_TRUE(gone) << gone.error().message();
            EXPECT_TRUE(*gone) << "the others went on, so nobody needs it";
        }
    });
    EXPECT_EQ(bed.job().at("absent"), nlohmann::json::array({2}));
}

TEST(RoundsMembers, AWorkerThatDiesIsLeftOutByTheDeadlineAndThenIsNoMember) {
    const RoundsBed bed(
        {.workers = 3, .attach = {"--member-timeout", "1s"}, .set = {"--deadline", "20ms"}});
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        bool whole = false; // without the third, and yet nobody is missing
        for (unsigned round = 0; round < 10 || (rank < 2 && !whole); round++) {
            const auto report = sum_of_those_told(collective, rank, round);
            whole = report.least_count == 2 && report.partial == 0;
        }
    });
    const auto job = bed.job();
    EXPECT_EQ(job.at("silent"), 1);
    EXPECT_EQ(job.at("absent"), nlohmann::json::array({2}));
    EXPECT_GT(job.at("chunks").at("partial"), 0);
}

TEST(RoundsMembers, WorkersThatJoinAJobThatHasNotStartedAreToldToStart) {
    RoundsBed bed({.workers = 3});
    {
        const Inside inside(bed.worker);
        for (const unsigned worker : {0u, 1u, 2u}) {
            auto options = bed.options(worker);
            options.timeout = milliseconds(300);
            auto collective = Collective::make(options).value();
            const auto round = collective.join();
            EXPECT_EQ(round.has_value(), worker == 2) << "the last one finds no other member";
            auto vector = part_of(worker, 0, elements);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_FALSE(report);
            EXPECT_TRUE(says(report.error().message(), "start() at every worker"));
        }
    }
    bed.set_anew(3);
    bed.for_each_worker([](Collective &collective, unsigned rank) {
        EXPECT_EQ(sum_of_those_told(collective, rank, 0).least_count, 3u);
    });
}

TEST(RoundsMembers, AJobThatAllHaveLeftStartsOnceItIsSetAnew) {
    RoundsBed bed({.workers = 2});
    bed.for_each_worker([](Collective &collective, unsigned rank) {
        sum_of_those_told(collective, rank, 0);
        EXPECT_TRUE(collective.leave(seconds(20)).value_or(false)) << "all have left";
        const auto started = collective.start();
        ASSERT_FALSE(started);
        EXPECT_TRUE(says(started.error().message(), "called leave() in place of finish()"));
    });
    bed.set_anew(2);
    bed.for_each_worker([](Collective &collective, unsigned rank) {
        EXPECT_EQ(sum_of_those_told(collective, rank, 0).least_count, 2u);
    });
}

// ---- two that join at once, and one that joins while its node forgets, or all must agree anew
// ----

TEST(RoundsJoining, TwoAtOnceAreBothInTheSums) {
    const RoundsBed bed({.workers = 4, .set = {"--absent", "2", "--absent", "3"}});
    Summing summing(bed, {0, 1});
    summing.await_sum_of(0b0011);
    { const auto one = guest(bed, 2, 0b1111), other = guest(bed, 3, 0b1111); }
    summing.await_sum_of(0b0011);
    summing.expect_to_end_well();
}

/// What happens while one joins, after the node has heard of it or before.
struct Interrupted {
    const char *name;
    void (*happens)(RoundsBed &);
    std::uint32_t questions_lost, answers_lost;
};

void reset(RoundsBed &bed) {
    bed.order("reset");
}
void set_anew(RoundsBed &bed) {
    bed.set_anew(3);
}
void restart(RoundsBed &bed) {
    bed.olaf.detach();
    bed.start();
}

class RoundsJoiningInterrupted : public testing::TestWithParam<Interrupted> {};

TEST_P(RoundsJoiningInterrupted, IsInTheSumsAllTheSame) {
    RoundsBed bed(two_of_three());
    Summing summing(bed, {0, 1});
    summing.await_sum_of(others);
    {
        const Messages joins = {OLAF_CONTROL, OLAF_CONTROL_JOIN};
        std::optional<LosingFirst> there, back;
        there.emplace(bed.worker, "eth0", Losing::sent, joins, GetParam().questions_lost);
        back.emplace(bed.worker, "eth0", Losing::received, joins, GetParam().answers_lost);
        const auto joining = guest(bed, comes, all);
        (GetParam().questions_lost != 0 ? there : back)->await_seen(2);
        GetParam().happens(bed);
        there.reset();
        back.reset();
    }
    summing.expect_to_end_well();
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsJoiningInterrupted,
    testing::Values(Interrupted{"ByAResetBeforeItIsHeard", reset, LosingFirst::all, 0},
                    Interrupted{"ByAResetBeforeItIsAnswered", reset, 0, LosingFirst::all},
                    Interrupted{"ByAJobSetAnewBeforeItIsHeard", set_anew, LosingFirst::all, 0},
                    Interrupted{"ByAJobSetAnewBeforeItIsAnswered", set_anew, 0, LosingFirst::all},
                    Interrupted{"ByARestartBeforeItIsAnswered", restart, 0, LosingFirst::all}),
    by_name);

// ---- questions and answers are lost: who asks asks again, or is told that nobody answered ----

struct Lost {
    const char *name;
    std::uint32_t action;
    TcFilter::Direction direction; ///< of the workers' device
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
    Collective joiner(std::chrono::nanoseconds timeout = seconds(30)) const {
        auto options = bed.options(comes);
        options.timeout = timeout;
        return Collective::make(options).value();
    }
    LosingFirst lose(std::uint32_t first) const {
        return {bed.worker, "eth0", GetParam().direction, {OLAF_CONTROL, GetParam().action}, first};
    }
    /// If the node heard of it, all others would wait for it: an operator takes it out.
    static void expect_others_go_on_once_it_is_out(const RoundsBed &bed, Summing &summing) {
        bed.order("leave", {"2"});
        summing.await_sum_of(others);
        summing.expect_to_end_well();
    }
    RoundsBed bed{two_of_three()};
};

TEST_P(RoundsLosingControl, AWorkerComesAndGoesAllTheSame) {
    constexpr unsigned first = 5;
    const LosingFirst losing = lose(first);
    Summing summing(bed, {0, 1});
    summing.await_sum_of(others);
    const Inside inside(bed.worker);
    auto collective = joiner();
    const auto round = collective.join();
    ASSERT_TRUE(round) << round.error().message();
    EXPECT_GT(*round, 0u);
    be_in_sums(collective, 20);
    const auto gone = collective.leave(seconds(20));
    ASSERT_TRUE(gone) << gone.error().message();
    EXPECT_TRUE(*gone);
    summing.await_sum_of(others);
    summing.expect_to_end_well();
    EXPECT_GT(losing.seen(), first);
    EXPECT_EQ(bed.job().at("absent"), nlohmann::json::array({comes}));
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsLosingControl, testing::ValuesIn(losses), by_name);

/// Where no question gets there, or no answer comes back, at all.
class RoundsLosingAllControl : public RoundsLosingControl {};

TEST_P(RoundsLosingAllControl, WhoAsksIsToldThatNobodyAnswers) {
    Summing summing(bed, {0, 1});
    summing.await_sum_of(others);
    const LosingFirst losing = lose(LosingFirst::all);
    const Inside inside(bed.worker);
    auto collective = joiner(milliseconds(500));
    const auto round = collective.join();
    ASSERT_FALSE(round);
    EXPECT_TRUE(says(round.error().message(), "the node hasn't answered at all"));
    EXPECT_GT(losing.seen(), 1u);
    expect_others_go_on_once_it_is_out(bed, summing);
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsLosingAllControl, testing::Values(losses[2], losses[3]),
                         by_name);

class RoundsLosingAllLeaves : public RoundsLosingControl {};

TEST_P(RoundsLosingAllLeaves, WhoLeavesDoesNotKnowThatNobodyNeedsIt) {
    Summing summing(bed, {0, 1});
    summing.await_sum_of(others);
    const Inside inside(bed.worker);
    auto collective = joiner();
    ASSERT_TRUE(collective.join());
    const LosingFirst losing = lose(LosingFirst::all);
    be_in_sums(collective, 1);
    const auto gone = collective.leave(milliseconds(500));
    ASSERT_TRUE(gone) << gone.error().message();
    EXPECT_FALSE(*gone);
    EXPECT_GT(losing.seen(), 1u);
    expect_others_go_on_once_it_is_out(bed, summing);
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsLosingAllLeaves, testing::Values(losses[4], losses[5]), by_name);

// ---- a process that is killed while it joins, and comes again from another port ----

/// When the first process is killed: where its JOINs, or their answers, end.
struct Moment {
    const char *name;
    std::uint32_t questions_lost, answers_lost;
    TcFilter::Direction seen; ///< it is killed when so many of these were seen
    std::uint32_t times = 1;  ///< the first answer only tells the generation to ask in
};

class RoundsRejoin : public testing::TestWithParam<Moment> {
  protected:
    /// A process joins and is killed, something happens, and another one with its rank joins.
    static void rejoin(const RoundsBed &bed, const std::function<void()> &happens = {}) {
        Summing summing(bed, {0, 1});
        summing.await_sum_of(others);
        join_and_die(bed);
        if (happens)
            happens();
        join_again(bed);
        summing.await_sum_of(others);
        summing.expect_to_end_well();
    }
    static void join_and_die(const RoundsBed &bed) {
        const Messages joins = {OLAF_CONTROL, OLAF_CONTROL_JOIN};
        const LosingFirst there(bed.worker, "eth0", Losing::sent, joins, GetParam().questions_lost);
        const LosingFirst back(bed.worker, "eth0", Losing::received, joins,
                               GetParam().answers_lost);
        Process first([&] {
            const Inside inside(bed.worker);
            auto collective = Collective::make(bed.options(comes)).value();
            static_cast<void>(collective.join());
            pause();
        });
        (GetParam().seen == Losing::sent ? there : back).await_seen(GetParam().times);
        first.kill(SIGKILL);
        (void)first.wait();
    }
    static void join_again(const RoundsBed &bed) {
        const Inside inside(bed.worker);
        auto collective = Collective::make(bed.options(comes)).value();
        const auto round = collective.join();
        ASSERT_TRUE(round) << round.error().message() << bed.olaf.status().json.dump(1);
        for (unsigned own = 0; own < 10; own++)
            EXPECT_EQ(sum_as_member(collective, comes).members, all);
        EXPECT_TRUE(collective.leave(seconds(20)).value());
    }
    /// The rank is still that of the process that died, and the error says what to do.
    static void expect_refused(const RoundsBed &bed) {
        const Inside inside(bed.worker);
        auto options = bed.options(comes);
        options.timeout = milliseconds(500);
        const auto round = Collective::make(options).value().join();
        ASSERT_FALSE(round);
        EXPECT_TRUE(says(round.error().message(), "olaf job leave DEV 7 2"));
        EXPECT_GT(bed.olaf.status().json.at("not_allowed_by_reason").at("job_source"), 0);
    }
};

TEST_P(RoundsRejoin, ANewProcessWithItsRankIsInTheSumsOnceTheOldOneWasSilentForLongEnough) {
    rejoin(RoundsBed(two_of_three({"--member-timeout", "1s"})));
}

TEST_P(RoundsRejoin, ANewProcessWithItsRankIsInTheSumsAsSoonAsSomebodyTookTheOldOneOut) {
    const RoundsBed bed(two_of_three({"--member-timeout", "3600s"}));
    rejoin(bed, [&] {
        if (GetParam().answers_lost == 0 && GetParam().questions_lost == 0)
            expect_refused(bed);
        bed.order("leave", {"2"});
    });
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsRejoin,
    testing::Values(Moment{"KilledWhenItsJoinWasSent", LosingFirst::all, 0, Losing::sent},
                    Moment{"KilledBeforeTheAnswerCame", 0, LosingFirst::all, Losing::received},
                    Moment{"KilledWhenItWasAnswered", 0, 0, Losing::received, 2}),
    by_name);

// ---- below both leaves of a tree: every sum is of those that it says, at every worker ----

struct Circumstances {
    const char *name;
    unsigned loss;      ///< in a hundred, on each link and each way
    unsigned resets_at; ///< the node at which all must agree anew; 3: nowhere
    unsigned turns;
};

class RoundsInTreeMembers : public testing::TestWithParam<Circumstances> {
  protected:
    void disturb() {
        if (GetParam().resets_at < 3)
            tree.reset(GetParam().resets_at);
    }
    // Workers 0, 1 and 2 are below node 1, and 3 and 4 below node 2. The last of each come and go.
    static constexpr unsigned others = 0b01011, all = 0b11111;
    RoundTree tree{{{0, 0}, {0, 3, {2}}, {0, 2, {1}}}};
};

TEST_P(RoundsInTreeMembers, AreInTheSumsFromJoiningToDeparting) {
    tree.lose(GetParam().loss);
    Summing summing(tree, {0, 1, 3});
    summing.await_sum_of(others);
    for (unsigned turn = 0; turn < GetParam().turns; turn++) {
        {
            const auto below_one = guest(tree, 2, all), below_other = guest(tree, 4, all);
            summing.await_sum_of(all);
            disturb();
        }
        summing.await_sum_of(others);
        disturb();
    }
    {
        const auto alone = guest(tree, 4, others | 0b10000);
        summing.await_sum_of(others | 0b10000);
    }
    summing.await_sum_of(others);
    summing.expect_to_end_well();
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsInTreeMembers,
                         testing::Values(Circumstances{"GoodLinks", 0, 3, 3},
                                         Circumstances{"LinksThatLose", 5, 3, 1},
                                         Circumstances{"ARootThatIsReset", 0, 0, 3},
                                         Circumstances{"ALeafThatIsReset", 0, 1, 3}),
                         by_name);

} // namespace
} // namespace olaf::test::rounds_members_test
