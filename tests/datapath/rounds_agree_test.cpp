// SPDX-License-Identifier: BSD-2-Clause
// Where to begin: SYNC messages of children, at a root.
#include "rounds_test.hpp"

namespace olaf::test::rounds_agree_test {
namespace {

class RoundsAgree : public RoundsTest {
  protected:
    RoundsAgree() : RoundsTest(three()) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        set_job(waiting);
    }
    static olaf_job_setup three() {
        auto setup = small_job();
        setup.children = setup.threshold = 3;
        return setup;
    }
    JobMessage sync(std::uint32_t rank, std::uint64_t stamp, std::uint32_t round = 0,
                    std::uint32_t chunk = 0, std::uint8_t pool = 10) {
        return {.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = round,
                .count = OLAF_CONTROL_SYNC, .generated_ns = stamp, .chunk = chunk, .chunks = 0,
                .generation = job_generation - 1, .pool = pool};
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

TEST_F(RoundsAgree, AllBeginAtTheLowestThatAMemberNames) {
    expect_wait(ask(sync(1, 50, 8, 3)), 2, 0);
    expect_wait(ask(sync(0, 60, 7, 9)), 1, 2);
    const auto last = ask(sync(2, 70, 8, 0));
    EXPECT_EQ(last.exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(last.chunks, static_cast<std::uint32_t>(setup.lanes) << 16 | setup.shape)
        << "all are told the job's shape";
    EXPECT_EQ(last.round, 7u);
    EXPECT_EQ(last.chunk, 9u);
    EXPECT_EQ(last.generation, job_generation);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    // Who repeats its question learns it too.
    const auto again = ask(sync(1, 50, 8, 3));
    EXPECT_EQ(again.exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(again.round, 7u);
    EXPECT_EQ(again.chunk, 9u);
    EXPECT_EQ(counters().syncs, 4u);
}

TEST_F(RoundsAgree, RoundsAreComparedAcrossTheirWrap) {
    ask(sync(0, 50, 0, 1));
    ask(sync(1, 50, 0xffffffff, 5));
    EXPECT_EQ(ask(sync(2, 50, 1, 0)).round, 0xffffffffu);
}

TEST_F(RoundsAgree, TheSmallestPoolIsEveryones) {
    EXPECT_EQ(ask(sync(0, 50)).pool, 2) << "this node's own is smaller";
    ask(sync(1, 50, 0, 0, 1));
    EXPECT_EQ(ask(sync(2, 50)).pool, 1);
    EXPECT_EQ(offer(contribution(0, 0)).verdict, std::uint32_t{XDP_DROP});
    offer(contribution(1, 0));
    EXPECT_EQ(sent_to(0, offer(contribution(2, 0))).pool, 1);
}

TEST_F(RoundsAgree, NothingIsAddedUntilAllHaveAsked) {
    ask(sync(0, 50));
    const auto answer = sent_to(0, offer(contribution(0, 0)));
    EXPECT_EQ(answer.flags & OLAF_FLAG_STALE, OLAF_FLAG_STALE);
    EXPECT_EQ(answer.round, 0u);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_FREE);
}

TEST_F(RoundsAgree, ANewQuestionStopsTheJobAndWhatWasUnderWayIsVoid) {
    for (const std::uint32_t rank : {0u, 1u, 2u})
        ask(sync(rank, 50));
    dropped(offer(contribution(0, 0)));
    ask(sync(1, 51));
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
    EXPECT_EQ(job().generation, job_generation + 1);
    const auto answer = sent_to(0, offer(contribution(0, 0)));
    EXPECT_EQ(answer.flags & OLAF_FLAG_STALE, OLAF_FLAG_STALE);
    EXPECT_EQ(answer.generation, job_generation + 1);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_FREE);
    // Who was asked for the last time before it stopped asks anew.
    EXPECT_EQ(ask(sync(0, 50)).exponent, OLAF_CONTROL_OLD);
    expect_wait(ask(sync(0, 52)), 1, 2);
    EXPECT_EQ(ask(sync(2, 52)).exponent, OLAF_CONTROL_DONE);
    EXPECT_EQ(job().generation, job_generation + 1) << "one generation for one agreement";
}

TEST_F(RoundsAgree, AnOldQuestionThatComesLateStopsNothing) {
    for (const std::uint32_t rank : {0u, 1u, 2u})
        ask(sync(rank, 50));
    EXPECT_EQ(ask(sync(1, 49)).exponent, OLAF_CONTROL_OLD);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(job().generation, job_generation);
}

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

} // namespace
} // namespace olaf::test::rounds_agree_test
