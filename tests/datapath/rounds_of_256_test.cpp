// SPDX-License-Identifier: BSD-2-Clause
// A node of 256 children: a set of ranks is four words, and here are those at the ends of words.
#include <algorithm>
#include <array>

#include "rounds_clones.hpp"

namespace olaf::test::rounds_of_256_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

constexpr std::uint32_t everyone = OLAF_RANKS;
/// The first and last of words, but the first of all.
constexpr std::array<std::uint32_t, 4> picked = {63, 64, 191, 255};

Ranks all_but(const Ranks &left_out) {
    Ranks ranks;
    for (std::uint32_t rank = 0; rank < everyone; rank++)
        if (std::ranges::find(left_out, rank) == left_out.end())
            ranks.push_back(rank);
    return ranks;
}

class RoundsOf256 : public RoundsWithClones {
  protected:
    RoundsOf256() : RoundsWithClones(many()) {}
    static olaf_job_setup many() {
        auto setup = small_job();
        setup.children = setup.threshold = everyone;
        return setup;
    }
    /// Each contributes, and no frame carries anything.
    void gather(const Ranks &ranks, std::uint32_t chunk, std::uint32_t round = 0) {
        const auto before = counters().added;
        for (const auto rank : ranks)
            dropped(offer(contribution(rank, chunk, round)));
        EXPECT_EQ(counters().added, before + ranks.size());
    }
    /// The last one completes the chunk: all get the sum in clones, those in it and those that aren't.
    void complete_by(std::uint32_t last, const Ranks &in, std::uint32_t chunk, std::uint32_t round, const Ranks &owed) {
        const auto clones = clones_of(offer(flushing(contribution(last, chunk, round))));
        ASSERT_EQ(clones.size(), owed.size());
        for (std::size_t i = 0; i < owed.size(); i++)
            EXPECT_EQ(sent_to(owed[i], clones[i]), result(owed[i], in, chunk, round));
    }
    /// A CONTROL of the rank's is answered with that status.
    JobMessage order(std::uint32_t action, std::uint32_t rank, std::uint32_t round, std::uint32_t status) {
        const auto lanes = action == OLAF_CONTROL_JOIN ? process(rank) : std::vector<std::uint64_t>();
        if (action != OLAF_CONTROL_JOIN)
            bind(rank);
        const auto answer = sent_to(rank, offer({.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = round,
                                                 .count = action, .generated_ns = 5'000, .chunk = 0, .chunks = 0,
                                                 .generation = job_generation, .lanes = lanes}));
        EXPECT_EQ(answer.flags, OLAF_FLAG_ANSWER);
        EXPECT_EQ(answer.exponent, static_cast<int>(status)) << "rank " << rank;
        return answer;
    }
    /// What it contributes is answered as if it had left.
    void expect_gone(std::uint32_t rank, std::uint32_t chunk, std::uint32_t round) {
        const auto answer = sent_to(rank, offer(contribution(rank, chunk, round)));
        EXPECT_EQ(answer.type, OLAF_CONTROL);
        EXPECT_EQ(answer.exponent, OLAF_CONTROL_GONE) << "rank " << rank;
    }
};

TEST_F(RoundsOf256, AllGetTheSumAndNobodyTwice) {
    gather(all_but({255}), 0);
    EXPECT_EQ(sent_to(0, offer(contribution(255, 0))), result(0, all_but({}), 0));
    for (std::uint32_t rank = 1; rank < everyone; rank++)
        EXPECT_EQ(sent_to(rank, offer(contribution(rank - 1, 1))), result(rank, all_but({}), 0));
    EXPECT_EQ(counters().riding, 256u);
    dropped(offer(contribution(254, 1)));
}

TEST_F(RoundsOf256, ARepetitionIsInTheSumOnce) {
    gather(all_but({7}), 0);
    for (const auto rank : picked)
        dropped(offer(contribution(rank, 0)));
    EXPECT_EQ(counters().duplicate, picked.size());
    complete_by(7, all_but({}), 0, 0, all_but({}));
}

TEST_F(RoundsOf256, WhoAsksForTheSumIsntOwedItAnyMore) {
    gather(all_but({7}), 0);
    EXPECT_EQ(sent_to(0, offer(contribution(7, 0))), result(0, all_but({}), 0));
    for (const auto rank : picked)
        EXPECT_EQ(sent_to(rank, offer(contribution(rank, 0))), result(rank, all_but({}), 0));
    EXPECT_EQ(counters().riding, 1 + picked.size());
    const auto clones = clones_of(offer(flushing(contribution(1, 1))));
    const auto rest = all_but({0, 63, 64, 191, 255});
    ASSERT_EQ(clones.size(), rest.size());
    for (std::size_t i = 0; i < rest.size(); i++)
        EXPECT_EQ(sent_to(rest[i], clones[i]), result(rest[i], all_but({}), 0));
    for (const auto rank : picked)
        EXPECT_EQ(sent_to(rank, offer(contribution(rank, 0))), result(rank, all_but({}), 0));
    EXPECT_EQ(counters().repeated, picked.size());
}

TEST_F(RoundsOf256, ClonesTellWhoIsLate) {
    auto job = this->job();
    job.setup.threshold = everyone - picked.size();
    set_job(job);
    const auto in = all_but({picked.begin(), picked.end()});
    gather(all_but({7, 63, 64, 191, 255}), 0);
    for (const auto rank : picked) { // by a probe each is known
        auto probe = contribution(rank, 0);
        probe.lanes.clear();
        dropped(offer(probe));
    }
    const auto clones = clones_of(offer(flushing(contribution(7, 0))));
    ASSERT_EQ(clones.size(), everyone);
    for (std::uint32_t rank = 0; rank < everyone; rank++) {
        auto expected = result(rank, in, 0);
        expected.flags |= OLAF_FLAG_PARTIAL;
        if (std::ranges::find(picked, rank) != picked.end())
            expected.flags |= OLAF_FLAG_LATE;
        EXPECT_EQ(sent_to(rank, clones[rank]), expected);
    }
}

TEST_F(RoundsOf256, WhoComesLateIsToldAndIsntInTheSum) {
    auto job = this->job();
    job.setup.threshold = everyone - picked.size();
    set_job(job);
    const auto in = all_but({picked.begin(), picked.end()});
    gather(all_but({7, 63, 64, 191, 255}), 0);
    sent_to(0, offer(contribution(7, 0)));
    for (const auto rank : picked) {
        auto expected = result(rank, in, 0);
        expected.flags |= OLAF_FLAG_PARTIAL | OLAF_FLAG_LATE;
        EXPECT_EQ(sent_to(rank, offer(contribution(rank, 0))), expected);
    }
    EXPECT_EQ(counters().late, picked.size());
    auto expected = result(1, in, 0);
    expected.flags |= OLAF_FLAG_PARTIAL;
    EXPECT_EQ(sent_to(1, offer(contribution(1, 0))), expected);
}

class RoundsOf256WhoComeAndGo : public RoundsOf256 {
  protected:
    RoundsOf256WhoComeAndGo() { identities_hold = false; } // a result isn't owed to all children
    /// As `olaf job set --absent` has it.
    void without(const Ranks &ranks) {
        auto value = job();
        value.membership.away = 1;
        for (auto &set : value.membership.absent)
            for (const auto rank : ranks)
                set.word[rank / 64] |= 1ull << rank % 64;
        set_job(value);
    }
};

TEST_F(RoundsOf256WhoComeAndGo, WhoJoinsIsInTheNextRound) {
    without({64, 255});
    const auto members = all_but({64, 255});
    expect_gone(64, 0, 0);
    gather(all_but({0, 64, 255}), 0, 0);
    expect_gone(255, 0, 0);
    complete_by(0, members, 0, 0, members);
    for (const std::uint32_t rank : {64u, 255u})
        EXPECT_EQ(order(OLAF_CONTROL_JOIN, rank, 0, OLAF_CONTROL_DONE).round, 1u);
    expect_gone(64, 1, 0);
    gather(members, 0, 1);
    gather({255}, 0, 1);
    complete_by(64, all_but({}), 0, 1, all_but({}));
}

TEST_F(RoundsOf256WhoComeAndGo, NobodyWaitsForWhoLeaves) {
    gather(all_but({0, 63, 191}), 0, 0);
    for (const std::uint32_t rank : {63u, 191u}) {
        order(OLAF_CONTROL_LEAVE, rank, 0, OLAF_CONTROL_WAIT);
        expect_gone(rank, 0, 0);
    }
    const auto members = all_but({63, 191});
    complete_by(0, members, 0, 0, members);
    EXPECT_EQ(counters().partial, 0u);
    for (std::uint32_t i = 1; i <= 2 * setup.slots; i++) // so many chunks later nobody can need what they had
        gather({1}, i % setup.slots, i / setup.slots);
    order(OLAF_CONTROL_LEAVE, 191, 0, OLAF_CONTROL_DONE);
}

TEST_F(RoundsOf256WhoComeAndGo, TheLastOneThatStaysNeedsNobody) {
    gather({255}, 0, 0);
    for (std::uint32_t rank = 0; rank < 255; rank++)
        order(OLAF_CONTROL_LEAVE, rank, 0, OLAF_CONTROL_WAIT);
    EXPECT_EQ(sent_to(255, offer(contribution(255, 0))), result(255, {255}, 0));
    EXPECT_EQ(order(OLAF_CONTROL_LEAVE, 255, 0, OLAF_CONTROL_DONE).generation, job_generation);
    EXPECT_EQ(order(OLAF_CONTROL_JOIN, 191, 0, OLAF_CONTROL_DONE).round, 1u);
    EXPECT_EQ(sent_to(191, offer(contribution(191, 0, 1))), result(191, {191}, 0, 1));
}

} // namespace
} // namespace olaf::test::rounds_of_256_test
