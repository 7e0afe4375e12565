// SPDX-License-Identifier: BSD-2-Clause
// A process that is killed while it joins, and comes again as another one, from another port.
#include <gtest/gtest.h>

#include <csignal>

#include "losing.hpp"
#include "round_members.hpp"

namespace olaf::test::rounds_rejoin_test {
namespace {

constexpr unsigned workers = 3, comes = 2;
constexpr unsigned others = 0b011, all = 0b111;

/// When the first process is killed: where its JOINs, or their answers, end.
struct Moment {
    const char *name;
    std::uint32_t questions_lost, answers_lost;
    Losing::Direction seen; ///< it is killed when one of these was seen
};

class RoundsRejoin : public testing::TestWithParam<Moment> {
  protected:
    void start(const std::string &member_timeout) {
        bed.attach({"--round-slots", "64", "--member-timeout", member_timeout});
        set_job(bed, workers, member_lanes, {"--format", "i64x1", "--absent", "2"});
    }
    /// A process that joins, and is killed.
    void join_and_die() const {
        const Messages joins = {OLAF_CONTROL, OLAF_CONTROL_JOIN};
        const LosingFirst there(bed.worker, "eth0", Losing::sent, joins, GetParam().questions_lost);
        const LosingFirst back(bed.worker, "eth0", Losing::received, joins, GetParam().answers_lost);
        Process first([&] {
            const Inside inside(bed.worker);
            auto collective = Collective::make(member_options(bed, comes, workers)).value();
            static_cast<void>(collective.join_running());
            pause();
        });
        (GetParam().seen == Losing::sent ? there : back).await_seen(1);
        first.kill(SIGKILL);
        (void)first.wait();
    }
    /// The rank is still that of the process that died, and the error says what to do.
    void expect_refused() const {
        const Inside inside(bed.worker);
        auto options = member_options(bed, comes, workers);
        options.timeout = std::chrono::milliseconds(500);
        const auto round = Collective::make(options).value().join_running();
        ASSERT_FALSE(round);
        EXPECT_NE(round.error().message().find("olaf job leave DEV 7 2"), std::string::npos)
            << round.error().message();
        EXPECT_GT(bed.olaf.status().json.at("not_allowed_by_reason").at("job_source"), 0);
    }
    void join_again() const {
        const Inside inside(bed.worker);
        auto collective = Collective::make(member_options(bed, comes, workers)).value();
        const auto round = collective.join_running();
        ASSERT_TRUE(round) << round.error().message() << bed.olaf.status().json.dump(1);
        for (unsigned own = 0; own < 10; own++)
            EXPECT_EQ(sum_as_member(collective, comes).ranks, all);
        EXPECT_TRUE(collective.depart(std::chrono::seconds(20)).value());
    }
    Testbed bed{{.way = Way::local, .place = Place::kernel}};
};

TEST_P(RoundsRejoin, ANewProcessWithItsRankIsInTheSumsOnceTheOldOneWasSilentForLongEnough) {
    start("1s");
    Summing summing(bed, 2, workers);
    summing.await_sum_of(others);
    join_and_die();
    join_again();
    summing.await_sum_of(others);
    summing.stop();
    EXPECT_TRUE(summing.errors().empty()) << summing.errors().begin()->second;
}

TEST_P(RoundsRejoin, ANewProcessWithItsRankIsInTheSumsAsSoonAsSomebodyTookTheOldOneOut) {
    start("3600s");
    Summing summing(bed, 2, workers);
    summing.await_sum_of(others);
    join_and_die();
    if (GetParam().answers_lost == 0 && GetParam().questions_lost == 0)
        expect_refused();
    const auto out = bed.olaf({"job", "leave", "in", std::to_string(rounds_job), "2"});
    EXPECT_EQ(out.status, 0) << out.err;
    join_again();
    summing.await_sum_of(others);
    summing.stop();
    EXPECT_TRUE(summing.errors().empty()) << summing.errors().begin()->second;
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsRejoin,
    testing::Values(Moment{"KilledWhenItsJoinWasSent", LosingFirst::all, 0, Losing::sent},
                    Moment{"KilledBeforeTheAnswerCame", 0, LosingFirst::all, Losing::received},
                    Moment{"KilledWhenItWasAnswered", 0, 0, Losing::received}),
    [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_rejoin_test
