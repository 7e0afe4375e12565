// SPDX-License-Identifier: BSD-2-Clause
// Who may order, and who takes a rank: a frame that names another generation than the job's, or that isn't from where
// its rank is, changes nothing. docs/rounds.md, "Members"; the table is bpf/rounds/child.bpf.h's.

#include <cstring>

#include "rounds.hpp"

namespace olaf::test::rounds_strangers_test {
namespace {

constexpr olaf_run run = some_run, other_run = {.training = 0xbbbb, .number = 9};

class RoundsStrangers : public RoundsTest {
  protected:
    /// So that a silence that frees a port is far from one that frees a rank.
    static DatapathConfig with_long_timeout() {
        auto config = queue_with_rounds();
        config.member_timeout_ns = 86'400'000'000'000;
        return config;
    }
    explicit RoundsStrangers(const olaf_job_setup &given = job_of(2)) : RoundsTest(given, with_long_timeout()) {
        identities_hold = false;
        auto one = job();
        one.tenancy.run = run;
        one.tenancy.in.word[0] = 3;
        set_job(one);
        for (const std::uint32_t rank : {0u, 1u})
            RoundsTest::bind(rank);
        before = state();
    }

    /// Of the job and of who its children are, all that a message may change.
    struct State {
        olaf_job job;
        std::array<olaf_child, 2> children;
    };
    [[nodiscard]] State state() const {
        return {.job = job(),
                .children = {queue.read<olaf_child>("olaf_children", 0), queue.read<olaf_child>("olaf_children", 1)}};
    }
    void expect_unchanged() {
        auto now = state();
        EXPECT_EQ(std::memcmp(&now.job, &before.job, sizeof now.job), 0);
        for (std::size_t rank = 0; rank < 2; rank++) {
            now.children[rank].member.sequence = before.children[rank].member.sequence; // it was locked meanwhile
            EXPECT_EQ(std::memcmp(&now.children[rank], &before.children[rank], sizeof(olaf_child)), 0) << rank;
        }
    }
    void set_child(std::uint32_t rank, const olaf_child &value) {
        queue.write("olaf_children", rank, value);
        before = state();
    }
    /// Nothing was heard of it for ten seconds: its port is held for one.
    void goes_silent(std::uint32_t rank) {
        constexpr std::uint64_t silence_ns = 10'000'000'000;
        auto child = before.children[rank];
        child.member.last_seen_ns = time_before_ns(silence_ns);
        set_child(rank, child);
    }

    static Path elsewhere() {
        Path path(4);
        return path.source(60).source_port(51000).from({2, 0, 0, 9, 0, 1});
    }
    /// Another process of the rank's host.
    static Path other_port(std::uint32_t rank) { return path_of(rank).source_port(52000); }

    JobMessage control(std::uint32_t action, std::uint32_t rank, std::uint32_t generation) const {
        const bool asks = action == OLAF_CONTROL_JOIN || action == OLAF_CONTROL_SYNC;
        return {.type = OLAF_CONTROL, .flags = 0, .job = setup.id, .rank = rank, .round = 1, .count = action,
                .generated_ns = 5'000, .chunk = 0, .chunks = action == OLAF_CONTROL_SETH ? 1u : 0u,
                .generation = generation, .pool = 2,
                .lanes = asks ? process(rank, 0, run) : std::vector<std::uint64_t>{}};
    }
    /// The answer, which goes back to where the frame came from.
    JobMessage answer(const JobMessage &message, const Path &from) {
        const auto asked = from.carrying(message);
        const auto received = sent_back(queue.offer(asked));
        if (!received)
            return {};
        EXPECT_EQ(received->port, get_be(asked.bytes, asked.l4, 2));
        EXPECT_TRUE(std::equal(asked.bytes.begin() + 6, asked.bytes.begin() + 12, received->frame.bytes.begin()));
        return received->message;
    }
    void expect_old(const JobMessage &got, std::uint32_t generation) {
        EXPECT_EQ(got.type, OLAF_CONTROL);
        EXPECT_EQ(got.flags, OLAF_FLAG_ANSWER);
        EXPECT_EQ(got.exponent, OLAF_CONTROL_OLD);
        EXPECT_EQ(got.generation, generation);
        expect_unchanged();
    }
    std::uint64_t refused() { return queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE]; }

    State before;
};

// ---- Orders.

class RoundsOrders : public RoundsStrangers, public testing::WithParamInterface<olaf_control_action> {
  protected:
    [[nodiscard]] JobMessage order(std::uint32_t generation) const { return control(GetParam(), 0, generation); }
};

std::string name_of(const testing::TestParamInfo<olaf_control_action> &info) {
    switch (info.param) {
    case OLAF_CONTROL_LEAVE: return "Leave";
    case OLAF_CONTROL_SETH: return "Seth";
    case OLAF_CONTROL_FBCAST: return "Fbcast";
    case OLAF_CONTROL_HALT: return "Halt";
    case OLAF_CONTROL_RESUME: return "Resume";
    default: return "Reset";
    }
}

INSTANTIATE_TEST_SUITE_P(Each, RoundsOrders,
                         testing::Values(OLAF_CONTROL_LEAVE, OLAF_CONTROL_SETH, OLAF_CONTROL_FBCAST, OLAF_CONTROL_HALT,
                                         OLAF_CONTROL_RESUME, OLAF_CONTROL_RESET),
                         name_of);

TEST_P(RoundsOrders, CountFromWhereTheRankIsInTheJobsGeneration) {
    auto halted = before.job;
    halted.halted = GetParam() == OLAF_CONTROL_RESUME;
    set_job(halted);
    const auto got = answer(order(job_generation), path_of(0));
    EXPECT_TRUE(got.exponent == OLAF_CONTROL_DONE || got.exponent == OLAF_CONTROL_WAIT) << got.exponent;
    const auto now = job();
    EXPECT_EQ(got.generation, now.generation);
    EXPECT_EQ(now.generation, job_generation + (GetParam() == OLAF_CONTROL_RESET ? 1 : 0));
    EXPECT_EQ(now.setup.threshold, GetParam() == OLAF_CONTROL_SETH ? 1u : 2u);
    EXPECT_EQ(now.halted, GetParam() == OLAF_CONTROL_HALT ? 1u : 0u);
    EXPECT_EQ(now.membership.sealed_ns != 0, GetParam() == OLAF_CONTROL_FBCAST);
    EXPECT_EQ(now.membership.absent[0].word[0], GetParam() == OLAF_CONTROL_LEAVE ? 1u : 0u);
    EXPECT_EQ(refused(), 0u);
}

/// So a member learns it, and orders again; who writes its address and port into a frame doesn't.
TEST_P(RoundsOrders, OfAnotherGenerationAreOldAndTheMemberIsToldTheRightOne) {
    for (const auto wrong : {0u, job_generation - 1, job_generation + 1})
        expect_old(answer(order(wrong), path_of(0)), job_generation);
    EXPECT_EQ(counters().controls, 3u);
    EXPECT_EQ(refused(), 0u);
}

TEST_P(RoundsOrders, OfAnotherGenerationDoNotSayThatTheMemberLives) {
    goes_silent(0);
    expect_old(answer(order(0), path_of(0)), job_generation);
}

TEST_P(RoundsOrders, FromElsewhereAreRefusedWithoutAWord) {
    std::uint64_t all = 0;
    for (const auto generation : {0u, job_generation}) {
        dropped(offer(order(generation), elsewhere()));
        dropped(offer(order(generation), other_port(0)));
        EXPECT_EQ(refused(), all += 2);
        goes_silent(0); // its rank is its own for longer
        dropped(offer(order(generation), elsewhere()));
        EXPECT_EQ(refused(), all += 1);
        expect_unchanged();
        RoundsTest::bind(0);
        before = state();
    }
    EXPECT_EQ(counters().controls, 0u);
}

TEST_P(RoundsOrders, OfAnotherProcessOfASilentMembersHostBindNothingAndTellNothing) {
    goes_silent(0);
    for (const auto generation : {0u, job_generation})
        expect_old(answer(order(generation), other_port(0)), 0);
    EXPECT_EQ(refused(), 2u);
}

TEST_P(RoundsOrders, OfARankThatIsFreeBindNothingAndTellNothing) {
    set_child(0, {});
    for (const auto generation : {0u, job_generation})
        expect_old(answer(order(generation), path_of(0)), 0);
    EXPECT_EQ(refused(), 2u);
}

// ---- JOIN: its sender can't know the generation.

class RoundsStrangersJoin : public RoundsStrangers {
  protected:
    RoundsStrangersJoin() {
        auto without = job();
        without.membership.away = 1;
        without.membership.absent[0].word[0] = without.membership.absent[1].word[0] = 2;
        without.tenancy.in.word[0] = 1;
        set_job(without);
        set_child(1, {});
    }
};

TEST_F(RoundsStrangersJoin, IsToldTheGenerationWhereItCameFromAndJoinsByIt) {
    for (const auto wrong : {0u, job_generation - 1})
        expect_old(answer(control(OLAF_CONTROL_JOIN, 1, wrong), elsewhere()), job_generation);
    EXPECT_EQ(answer(control(OLAF_CONTROL_JOIN, 1, job_generation), elsewhere()).exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(job().membership.absent[job().membership.joining >> 32 & 1].word[0], 0u);
    EXPECT_EQ(counters().controls, 3u);
    EXPECT_EQ(refused(), 0u);
}

TEST_F(RoundsStrangersJoin, OfAMemberThatIsThereIsToldItToo) {
    expect_old(answer(control(OLAF_CONTROL_JOIN, 0, 0), path_of(0)), job_generation);
}

TEST_F(RoundsStrangersJoin, OfARankThatIsThereIsRefusedWithoutAWord) {
    for (const auto generation : {0u, job_generation})
        dropped(offer(control(OLAF_CONTROL_JOIN, 0, generation), elsewhere()));
    EXPECT_EQ(refused(), 2u);
    expect_unchanged();
}

TEST_F(RoundsStrangersJoin, OfAnotherTrainingIsToldNeitherTheGenerationNorTheTraining) {
    for (const auto generation : {0u, job_generation}) {
        auto join = control(OLAF_CONTROL_JOIN, 1, generation);
        join.lanes = process(1, 0, other_run);
        const auto got = answer(join, elsewhere());
        EXPECT_EQ(got.exponent, OLAF_CONTROL_OTHER);
        EXPECT_EQ(got.generation, 0u);
        EXPECT_EQ(got.lanes[OLAF_SYNC_TRAINING], olaf_training_alias(run.training));
        EXPECT_EQ(got.lanes[OLAF_SYNC_RUN], 0u);
        expect_unchanged();
    }
}

// ---- What else may bind a rank or its port: a SYNC of the run, and a contribution of the generation.

class RoundsStrangersFloats : public RoundsStrangers {
  protected:
    RoundsStrangersFloats() : RoundsStrangers(of_floats(job_of(2))) {}
};

class RoundsStrangersBind : public RoundsStrangers {
  protected:
    [[nodiscard]] JobMessage contribution_in(std::uint32_t generation, bool is_probe = false) const {
        auto message = contribution(0, 0);
        message.generation = generation;
        if (is_probe)
            message.lanes.clear();
        return message;
    }
    void expect_stale(const JobMessage &got, std::uint32_t generation) {
        EXPECT_EQ(got.type, OLAF_RESULT);
        EXPECT_TRUE(got.flags & OLAF_FLAG_STALE);
        EXPECT_EQ(got.count, job_generation - 1);
        EXPECT_EQ(got.generation, generation);
    }
};

TEST_F(RoundsStrangersBind, AContributionOfAnotherGenerationTakesNoPortAndIsToldNoGeneration) {
    goes_silent(0);
    for (const bool is_probe : {false, true})
        expect_stale(answer(contribution_in(job_generation - 1, is_probe), other_port(0)), 0);
    expect_unchanged();
    EXPECT_EQ(counters().stale, 1u);
    dropped(offer(contribution_in(job_generation), other_port(0)));
    EXPECT_EQ(counters().added, 1u);
    EXPECT_NE(state().children[0].member.port_be, before.children[0].member.port_be);
}

TEST_F(RoundsStrangersBind, NorARankThatIsFree) {
    set_child(0, {});
    expect_stale(answer(contribution_in(job_generation - 1), path_of(0)), 0);
    expect_unchanged();
    EXPECT_EQ(refused(), 0u);
}

TEST_F(RoundsStrangersBind, NorIsAStrangerToldItWhoseRankIsAnothers) {
    expect_stale(answer(contribution_in(job_generation - 1), elsewhere()), 0);
    EXPECT_EQ(refused(), 1u);
    expect_unchanged();
}

TEST_F(RoundsStrangersBind, AMemberIsToldIt) {
    expect_stale(answer(contribution_in(job_generation - 1), path_of(0)), job_generation);
    goes_silent(0);
    expect_stale(answer(contribution_in(job_generation - 1), path_of(0)), job_generation);
    expect_unchanged();
}

TEST_F(RoundsStrangersBind, AQuestionOfAnotherTrainingDoesNotSayThatTheMemberLives) {
    goes_silent(0);
    auto sync = control(OLAF_CONTROL_SYNC, 0, 0);
    sync.lanes = process(0, 0, other_run);
    const auto got = answer(sync, path_of(0));
    EXPECT_EQ(got.exponent, OLAF_CONTROL_OTHER);
    EXPECT_EQ(got.generation, 0u);
    expect_unchanged();
}

TEST_F(RoundsStrangersBind, AQuestionOfTheRunTakesThePort) {
    goes_silent(0);
    EXPECT_EQ(answer(control(OLAF_CONTROL_SYNC, 0, 0), other_port(0)).exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
}

TEST_F(RoundsStrangersFloats, OfAnotherGenerationTakeNoPortEither) {
    goes_silent(0);
    auto message = contribution(0, 0);
    message.lanes.assign(setup.lanes, 0);
    message.generation = job_generation - 1;
    EXPECT_EQ(answer(message, other_port(0)).generation, 0u);
    expect_unchanged();
}

} // namespace
} // namespace olaf::test::rounds_strangers_test
