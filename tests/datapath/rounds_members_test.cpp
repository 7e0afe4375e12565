// SPDX-License-Identifier: BSD-2-Clause
// Who is a member of a job, and where all begin.

#include "rounds.hpp"

namespace olaf::test::rounds_members_test {
namespace {

// ---- Who is a member of a job of three: JOIN, LEAVE, and silence. The random tests beside the models send most orders.

constexpr std::uint64_t stamp = 5'000;

class RoundsMembers : public RoundsTest {
  protected:
    /// Shorter than a guest has been up: its clock starts at 0, and a silence must fit before now.
    static DatapathConfig with_short_timeout() {
        auto config = queue_with_rounds();
        config.member_timeout_ns = 10'000'000'000;
        return config;
    }
    RoundsMembers() : RoundsTest(job_of(3), with_short_timeout()) {
        identities_hold = false; // members change: a result isn't owed to all children
    }
    [[nodiscard]] olaf_child child(std::uint32_t rank) const {
        return queue.read<olaf_child>("olaf_children", rank);
    }
    void set_child(std::uint32_t rank, const olaf_child &value) {
        queue.write("olaf_children", rank, value);
    }
    /// The rank is no member yet, as `olaf job set --absent` has it.
    void without(std::uint32_t rank) {
        auto value = job();
        value.membership.away = 1;
        value.membership.absent[0].word[0] = value.membership.absent[1].word[0] = 1ull << rank;
        set_job(value);
    }
    JobMessage order(std::uint32_t action, std::uint32_t rank, std::uint32_t round = 0,
                     std::uint64_t at = stamp, std::uint32_t value = 0) {
        const std::vector<std::uint64_t> none;
        if (action != OLAF_CONTROL_JOIN)
            bind(rank);
        const auto ran = offer({.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = round,
                                .count = action, .generated_ns = at, .chunk = 0, .chunks = value,
                                .generation = job().generation,
                                .lanes = action == OLAF_CONTROL_JOIN ? process(rank) : none});
        const auto answer = sent_to(rank, ran);
        EXPECT_EQ(answer.type, OLAF_CONTROL);
        EXPECT_EQ(answer.flags, OLAF_FLAG_ANSWER);
        EXPECT_EQ(answer.count, action);
        EXPECT_EQ(answer.generated_ns, at);
        return answer;
    }
    /// How many contributions were added by offering this one.
    std::uint64_t added(std::uint32_t rank, std::uint32_t chunk, std::uint32_t round) {
        const auto before = counters().added;
        offer(contribution(rank, chunk, round));
        return counters().added - before;
    }
    /// The result of a chunk as a repetition of a rank's gets it.
    JobMessage asked_again(std::uint32_t rank, std::uint32_t chunk, std::uint32_t round) {
        return sent_to(rank, offer(contribution(rank, chunk, round)));
    }
    /// Two members sum twice as many chunks of a round as there are slots: what changed is settled then.
    void settle(std::uint32_t round) {
        for (std::uint32_t i = 0; i < 2 * setup.slots; i++) {
            EXPECT_NE(job().membership.unsettled, 0u) << "after " << i << " chunks";
            EXPECT_EQ(added(0, i, round), 1u);
            EXPECT_EQ(added(1, i, round), 1u);
        }
        EXPECT_EQ(job().membership.unsettled, 0u);
    }
};

TEST_F(RoundsMembers, AJoinWhoseAnswerWasLostNamesTheSameRoundAgain) {
    without(2);
    added(0, 0, 5);
    EXPECT_EQ(order(OLAF_CONTROL_JOIN, 2).round, 6u);
    added(1, 0, 5);
    added(0, 0, 6);
    const auto again = order(OLAF_CONTROL_JOIN, 2);
    EXPECT_EQ(again.exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(again.round, 6u);
    EXPECT_EQ(order(OLAF_CONTROL_JOIN, 2, 0, stamp - 1).exponent, OLAF_CONTROL_OLD);
    EXPECT_EQ(counters().controls, 3u);
}

TEST_F(RoundsMembers, AJoinWhoseAnswerWasLostBeforeTheJobWasStoppedIsToBeAskedAnew) {
    without(2);
    EXPECT_EQ(order(OLAF_CONTROL_JOIN, 2).exponent, OLAF_CONTROL_DONE);
    order(OLAF_CONTROL_RESET, 0);
    EXPECT_EQ(order(OLAF_CONTROL_JOIN, 2).exponent, OLAF_CONTROL_OLD)
        << "all members are waited for, and one that joins doesn't SYNC";
    EXPECT_EQ(order(OLAF_CONTROL_JOIN, 2, 0, stamp + 1).exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(job().membership.absent[0].word[0] & 4, 4u) << "the others agree without it first";
}

TEST_F(RoundsMembers, WhoIsSilentForLongIsNoMemberAnyMore) {
    order(OLAF_CONTROL_SETH, 0, 0, stamp, 2);
    const auto without_third = [&](std::uint32_t round) {
        added(0, 0, round);
        added(1, 0, round);
    };
    without_third(5);
    EXPECT_EQ(counters().silent, 0u) << "chunks have only begun to go without it";
    auto silent = child(2);
    ASSERT_NE(silent.waited_ns, 0u);
    be_up_for(queue.config().member_timeout_ns);
    silent.waited_ns = 1; // for longer than the member timeout
    set_child(2, silent);
    auto value = job();
    value.membership.judged_ns = 0;
    set_job(value);
    without_third(6);
    EXPECT_EQ(counters().silent, 1u);
    EXPECT_EQ(asked_again(0, 0, 6).flags & OLAF_FLAG_PARTIAL, OLAF_FLAG_PARTIAL);
    EXPECT_EQ(sent_to(2, offer(contribution(2, 0, 7))).exponent, OLAF_CONTROL_GONE);
    settle(7);
    without_third(8);
    EXPECT_EQ(asked_again(0, 0, 8).flags & OLAF_FLAG_PARTIAL, 0) << "two are all there are";
}

TEST_F(RoundsMembers, AJobThatAllHaveLeftBeginsAnewWithTheFirstThatJoins) {
    added(0, 0, 5);
    order(OLAF_CONTROL_RESET, 0);
    for (const std::uint32_t rank : {0u, 1u, 2u})
        order(OLAF_CONTROL_LEAVE, rank, 6);
    EXPECT_EQ(job().state, static_cast<unsigned>(OLAF_JOB_SYNCING)) << "nobody is left to be asked";
    const auto answer = order(OLAF_CONTROL_JOIN, 1);
    EXPECT_EQ(answer.exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(answer.round, 6u);
    auto sent = contribution(1, 0, 6);
    sent.generation = answer.generation;
    EXPECT_EQ(answer.generation, job_generation + 1);
    offer(sent);
    EXPECT_EQ(counters().completed, 1u);
}

TEST_F(RoundsMembers, WhoJoinsAJobThatAllLeftWhileItWasYoungIsTheFirst) {
    auto value = job();
    value.membership.unsettled = 2 * setup.slots;
    value.membership.flags = OLAF_MEMBERS_YOUNG;
    set_job(value);
    added(0, 0, 5);
    for (const std::uint32_t rank : {0u, 1u, 2u})
        order(OLAF_CONTROL_LEAVE, rank, 5);
    EXPECT_EQ(order(OLAF_CONTROL_JOIN, 1).exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(added(1, 0, 6), 1u);
}

// ---- Where to begin: SYNC messages of children, at a root.

class RoundsAgree : public RoundsTest {
  protected:
    explicit RoundsAgree(std::uint32_t children = 3) : RoundsTest(job_of(children)) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        set_job(waiting);
    }
    JobMessage sync(std::uint32_t rank, std::uint64_t stamp) {
        return {.type = OLAF_CONTROL, .flags = 0, .rank = rank, .count = OLAF_CONTROL_SYNC,
                .generated_ns = stamp, .chunks = 0, .generation = job_generation - 1, .pool = 10,
                .lanes = process(rank)};
    }
    /// The answer, whoever it names.
    JobMessage ask(const JobMessage &message) {
        const auto ran = offer(message);
        EXPECT_STREQ(verdict_name(ran.verdict), "XDP_TX");
        std::string why;
        const auto answer = parse_job_message(ran.bytes, &why);
        EXPECT_TRUE(answer) << why;
        if (!answer)
            return {};
        EXPECT_EQ(answer->port, 41000 + message.rank);
        EXPECT_EQ(answer->message.type, OLAF_CONTROL);
        EXPECT_EQ(answer->message.flags, OLAF_FLAG_ANSWER);
        EXPECT_EQ(answer->message.count, OLAF_CONTROL_SYNC);
        EXPECT_EQ(answer->message.generated_ns, message.generated_ns);
        return answer->message;
    }
    void expect_wait(const JobMessage &answer, std::uint32_t missing, std::uint32_t lowest) {
        EXPECT_EQ(answer.exponent, OLAF_CONTROL_WAIT);
        EXPECT_EQ(answer.chunks, missing);
        EXPECT_EQ(answer.rank, lowest);
    }
};

TEST_F(RoundsAgree, TheGenerationBehindTheLastIsNotZero) {
    auto last = job();
    last.generation = 0xffffffff;
    last.state = OLAF_JOB_RUNNING;
    set_job(last);
    ask(sync(1, 51));
    EXPECT_EQ(job().generation, 1u);
}

TEST_F(RoundsAgree, AStrangerCannotAskForAMember) {
    ask(sync(0, 50));
    dropped(offer(sync(0, 99), path_of(5)));
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE], 1u);
    expect_wait(ask(sync(0, 50)), 2, 1);
}

/// All four have agreed, and are in one session.
class RoundsAgreeInSession : public RoundsAgree {
  protected:
    RoundsAgreeInSession() : RoundsAgree(4) {
        for (std::uint32_t rank = 0; rank < 4; rank++) {
            ask(sync(rank, 50));
            session += process(rank)[OLAF_SYNC_INCARNATION];
        }
    }
    JobMessage in_session(std::uint32_t rank) {
        auto message = sync(rank, 60);
        message.lanes = process(rank, session);
        return message;
    }
    JobMessage begun_anew(std::uint32_t rank) {
        auto message = sync(rank, 60);
        message.lanes[OLAF_SYNC_INCARNATION]++;
        return message;
    }
    std::uint64_t session = 0;
};

TEST_F(RoundsAgreeInSession, WhoAsksIsToldAtOnceThatAMemberHasBegunAnew) {
    expect_wait(ask(begun_anew(1)), 3, 0);
    const auto told = ask(in_session(2));
    EXPECT_EQ(told.exponent, OLAF_CONTROL_OVER);
    EXPECT_EQ(told.rank, 1u);
    expect_wait(ask(begun_anew(1)), 2, 0);
    EXPECT_EQ(ask(in_session(0)).exponent, OLAF_CONTROL_OVER);
}

TEST_F(RoundsAgreeInSession, AllAreToldOfTheFirstThoughOthersThatWereToldBeginAnewToo) {
    ask(begun_anew(1));
    ask(in_session(2));
    auto anew = begun_anew(2);
    anew.generated_ns++;
    expect_wait(ask(anew), 2, 0);
    const auto told = ask(in_session(0));
    EXPECT_EQ(told.exponent, OLAF_CONTROL_OVER);
    EXPECT_EQ(told.rank, 1u);
}

TEST_F(RoundsAgreeInSession, WhoWasNotAnsweredHasNotBegunAnew) {
    ask(sync(1, 60));
    expect_wait(ask(in_session(2)), 2, 0);
    expect_wait(ask(in_session(0)), 1, 3);
    EXPECT_EQ(ask(in_session(3)).exponent, OLAF_CONTROL_DONE);
}

TEST_F(RoundsAgreeInSession, NobodyIsToldOfAMemberThatHasLeft) {
    ask(begun_anew(1));
    offer({.type = OLAF_CONTROL, .flags = 0, .rank = 1, .count = OLAF_CONTROL_LEAVE, .generated_ns = 70,
           .chunks = 0, .generation = job().generation});
    expect_wait(ask(in_session(2)), 2, 0);
}

TEST_F(RoundsAgreeInSession, NobodyIsToldByANodeThatForgot) {
    begin(setup);
    ask(begun_anew(1));
    expect_wait(ask(in_session(2)), 2, 0);
}

class RoundsAgreeOf256 : public RoundsAgree {
  protected:
    RoundsAgreeOf256() : RoundsAgree(OLAF_RANKS) {}
};

/// A set of ranks is four words.
TEST_F(RoundsAgreeOf256, TheLowestRankThatIsMissingIsNamed) {
    JobMessage answer;
    for (std::uint32_t rank = 0; rank < OLAF_RANKS; rank++)
        if (rank != 5 && rank != 70 && rank != 255)
            answer = ask(sync(rank, 50));
    expect_wait(answer, 3, 5);
    expect_wait(ask(sync(5, 50)), 2, 70);
    expect_wait(ask(sync(70, 50)), 1, 255);
    EXPECT_EQ(ask(sync(255, 50)).exponent, OLAF_CONTROL_DONE);
}

/// Nor do their incarnations get lost beyond the first word.
TEST_F(RoundsAgreeOf256, TheLowestThatHasBegunAnewIsNamedAndTheLowestThatMust) {
    const auto as = [&](std::uint32_t rank, std::uint64_t at, std::uint64_t session) {
        auto message = sync(rank, at);
        message.lanes = process(rank, session);
        return message;
    };
    std::uint64_t session = 0;
    for (std::uint32_t rank = 0; rank < OLAF_RANKS; rank++)
        session += process(rank)[OLAF_SYNC_INCARNATION];
    JobMessage answer;
    for (std::uint32_t rank = 0; rank < OLAF_RANKS; rank++)
        answer = ask(as(rank, 50, 0));
    EXPECT_EQ(answer.exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(answer.lanes, (std::vector<std::uint64_t>{0, session, some_run.training, some_run.number}));
    for (std::uint32_t rank = 0; rank < OLAF_RANKS; rank++) {
        auto message = as(rank, 60, rank == 70 || rank == 255 ? 0 : session);
        message.lanes[OLAF_SYNC_INCARNATION] += rank == 255 ? 1 : 0;
        answer = parse_job_message(offer(message).bytes)->message;
    }
    EXPECT_EQ(answer.exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(answer.flags, OLAF_FLAG_ANSWER | OLAF_FLAG_ANEW);
    EXPECT_EQ(answer.chunks, 254u);
    EXPECT_EQ(answer.rank, 0u);
    answer = ask(as(254, 60, session));
    EXPECT_EQ(answer.exponent, OLAF_CONTROL_OVER);
    EXPECT_EQ(answer.rank, 70u);
    EXPECT_EQ(answer.lanes, (std::vector<std::uint64_t>{0, 0, some_run.training, some_run.number}));
}

// ---- Exponents agreed on anew: a member that wasn't told where the others began.

/// A sum waits for one member of two.
class RoundsAgreeAnew : public RoundsTest {
  protected:
    explicit RoundsAgreeAnew(std::uint32_t threshold = 1) : RoundsTest(with_threshold(threshold)) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        set_job(waiting);
        identities_hold = false;
    }
    static olaf_job_setup with_threshold(std::uint32_t threshold) {
        auto setup = job_of(2);
        setup.threshold = threshold;
        return setup;
    }
    /// The rank was told DONE last in that generation, and lacks that chunk. The answer.
    JobMessage ask(std::uint32_t rank, std::uint32_t generation, std::uint32_t chunk,
                   std::uint64_t named = session) {
        const auto ran = offer({.type = OLAF_CONTROL, .flags = 0, .rank = rank, .count = OLAF_CONTROL_SYNC,
                                .generated_ns = ++stamp, .chunk = chunk, .chunks = 0, .generation = generation,
                                .pool = 10, .lanes = process(rank, named)});
        EXPECT_STREQ(verdict_name(ran.verdict), "XDP_TX");
        const auto answer = parse_job_message(ran.bytes);
        return answer ? answer->message : JobMessage{};
    }
    void sum(std::uint32_t rank, std::uint32_t chunk) {
        auto message = contribution(rank, chunk);
        message.generation = job().generation;
        const auto before = counters().completed;
        offer(message);
        EXPECT_EQ(counters().completed, before + 1);
    }
    /// All begin with chunk 0, in the generation that this returns.
    std::uint32_t begin_both() {
        ask(0, 0, 0, 0);
        EXPECT_EQ(ask(1, 0, 0, 0).exponent, OLAF_CONTROL_DONE);
        return job().generation;
    }
    /// Where all begin.
    void expect_begun_at(const JobMessage &answer, std::uint32_t chunk) const {
        EXPECT_EQ(answer.exponent, OLAF_CONTROL_DONE);
        EXPECT_EQ(answer.chunk, chunk);
    }

    static inline const std::uint64_t session =
        process(0)[OLAF_SYNC_INCARNATION] + process(1)[OLAF_SYNC_INCARNATION];
    std::uint64_t stamp = 50;
};

TEST_F(RoundsAgreeAnew, AllBeginWhereSumsWereMadeWithoutAMemberThatWasNotTold) {
    const auto first = begin_both();
    sum(0, 0);
    ask(0, first, 2);
    expect_begun_at(ask(1, first - 1, 3), 0);
}

TEST_F(RoundsAgreeAnew, AllGoOnWhereAllWereTold) {
    const auto first = begin_both();
    sum(0, 0);
    ask(0, first, 2);
    expect_begun_at(ask(1, first, 3), 2);
}

TEST_F(RoundsAgreeAnew, AllGoOnWhereNoSumWasMade) {
    const auto first = begin_both();
    ask(0, first, 2);
    expect_begun_at(ask(1, first - 1, 3), 2);
}

/// Nor was it told of the next one, in which no sum was made.
TEST_F(RoundsAgreeAnew, WhatAMemberWasNotToldIsNotForgottenUntilItIs) {
    const auto first = begin_both();
    sum(0, 0);
    ask(0, first, 2);
    ask(1, first - 1, 3);
    ask(0, job().generation, 2);
    expect_begun_at(ask(1, first - 1, 3), 0);
    const auto last = job().generation;
    ask(0, last, 2);
    expect_begun_at(ask(1, last, 3), 2);
    ask(0, job().generation, 2);
    expect_begun_at(ask(1, last, 3), 2);
}

/// A process that has begun anew knows no exponents.
TEST_F(RoundsAgreeAnew, WhoHasNoSessionWasToldNothingThatMatters) {
    const auto first = begin_both();
    sum(0, 0);
    ask(0, first, 2);
    expect_begun_at(ask(1, 0, 3, 0), 2);
}

TEST_F(RoundsAgreeAnew, ANodeThatHasForgottenWhereTheyBeganEndsTheSession) {
    ask(0, 77, 2);
    EXPECT_EQ(ask(1, 76, 3).exponent, OLAF_CONTROL_OVER);
}

TEST_F(RoundsAgreeAnew, ANodeThatHasForgottenGoesOnWithMembersThatWereToldTheSame) {
    ask(0, 77, 2);
    expect_begun_at(ask(1, 77, 3), 2);
}

class RoundsAgreeAnewWithoutHaste : public RoundsAgreeAnew {
  protected:
    RoundsAgreeAnewWithoutHaste() : RoundsAgreeAnew(2) {}
};

/// No sum was ever made without the one or the other.
TEST_F(RoundsAgreeAnewWithoutHaste, ANodeThatHasForgottenGoesOn) {
    ask(0, 77, 2);
    expect_begun_at(ask(1, 76, 3), 2);
}

} // namespace
} // namespace olaf::test::rounds_members_test
