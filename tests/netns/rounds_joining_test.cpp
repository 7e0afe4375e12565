// SPDX-License-Identifier: BSD-2-Clause
// Two workers that join at once, and one that joins while its node forgets, or all must agree anew.
#include <gtest/gtest.h>

#include <optional>

#include "losing.hpp"
#include "round_members.hpp"

namespace olaf::test::rounds_joining_test {
namespace {

constexpr unsigned others = 0b0011;

TEST(RoundsJoining, TwoAtOnceAreBothInTheSums) {
    constexpr unsigned workers = 4;
    Testbed bed{{.way = Way::local, .place = Place::kernel}};
    bed.attach({"--round-slots", "64"});
    set_job(bed, workers, member_lanes, {"--format", "i64x1", "--absent", "2", "--absent", "3"});
    Summing summing(bed, 2, workers);
    summing.await_sum_of(others);
    {
        std::vector<std::jthread> joining;
        for (const unsigned rank : {2u, 3u})
            joining.emplace_back([&bed, rank] {
                const Inside inside(bed.worker);
                try {
                    come_and_go(member_options(bed, rank, workers), rank, 0b1111);
                } catch (const std::exception &error) {
                    ADD_FAILURE() << "rank " << rank << ": " << error.what();
                }
            });
    }
    summing.await_sum_of(others);
    summing.stop();
    EXPECT_TRUE(summing.errors().empty()) << summing.errors().begin()->second;
}

/// What happens while one joins, after the node has heard of it or before.
struct Interrupted {
    const char *name;
    void (*happens)(Testbed &);
    std::uint32_t questions_lost, answers_lost;
};

void set(const Testbed &bed) {
    set_job(bed, 3, member_lanes, {"--format", "i64x1", "--absent", "2"});
}
void reset(Testbed &bed) {
    EXPECT_EQ(bed.olaf({"job", "reset", "in", std::to_string(rounds_job)}).status, 0);
}
void set_anew(Testbed &bed) {
    EXPECT_EQ(bed.olaf({"job", "remove", "in", std::to_string(rounds_job)}).status, 0);
    set(bed);
}
void restart(Testbed &bed) {
    bed.olaf.detach();
    bed.attach({"--round-slots", "64"});
    set(bed);
}

class RoundsJoiningInterrupted : public testing::TestWithParam<Interrupted> {};

TEST_P(RoundsJoiningInterrupted, IsInTheSumsAllTheSame) {
    Testbed bed{{.way = Way::local, .place = Place::kernel}};
    bed.attach({"--round-slots", "64"});
    set(bed);
    Summing summing(bed, 2, 3);
    summing.await_sum_of(others);
    {
        const Messages joins = {OLAF_CONTROL, OLAF_CONTROL_JOIN};
        std::optional<LosingFirst> there, back;
        there.emplace(bed.worker, "eth0", Losing::sent, joins, GetParam().questions_lost);
        back.emplace(bed.worker, "eth0", Losing::received, joins, GetParam().answers_lost);
        const std::jthread joining([&] {
            const Inside inside(bed.worker);
            try {
                come_and_go(member_options(bed, 2, 3), 2, 0b111);
            } catch (const std::exception &error) {
                ADD_FAILURE() << error.what();
            }
        });
        (GetParam().questions_lost != 0 ? there : back)->await_seen(2);
        GetParam().happens(bed);
        there.reset();
        back.reset();
    }
    summing.stop();
    EXPECT_TRUE(summing.errors().empty()) << summing.errors().begin()->second;
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsJoiningInterrupted,
    testing::Values(Interrupted{"ByAResetBeforeItIsHeard", reset, LosingFirst::all, 0},
                    Interrupted{"ByAResetBeforeItIsAnswered", reset, 0, LosingFirst::all},
                    Interrupted{"ByAJobSetAnewBeforeItIsHeard", set_anew, LosingFirst::all, 0},
                    Interrupted{"ByAJobSetAnewBeforeItIsAnswered", set_anew, 0, LosingFirst::all},
                    Interrupted{"ByARestartBeforeItIsAnswered", restart, 0, LosingFirst::all}),
    [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_joining_test
