// SPDX-License-Identifier: BSD-2-Clause
// That frames as long as a contribution reach the node and come back.
#include <random>

#include "round_child_test.hpp"

namespace olaf::test::round_child_proof_test {
namespace {

using namespace olaf;
using namespace olaf::test;

struct RoundChildProof : RoundChildTest {
    RoundChildProof() {
        child.join();
        run(0);
        child.prove_way();
    }
    /// The next question, if it is time for one; its padding is what its length says.
    std::optional<JobSync> probe() {
        const auto sending = child.next(now, 1000);
        if (!sending)
            return {};
        std::vector<std::byte> bytes(message_size(sending->lanes.size()));
        std::memcpy(bytes.data(), &sending->header, sizeof(sending->header));
        return decode_sync(bytes).value();
    }
    /// A node's answer to it, as long as the question.
    void answer_in_full(JobSync question, olaf_control_status status = OLAF_CONTROL_DONE) {
        question.answer = true;
        question.status = status;
        give(encode(question), std::vector<std::uint64_t>(question.padding));
    }
    /// Until a question would be sent.
    void wait() { now = std::max(now, child.wakes_at()); }
};

TEST_F(RoundChildProof, IsOneLongQuestionWhereNothingIsLost) {
    const auto question = probe().value();
    EXPECT_EQ(question.padding, child.lanes());
    EXPECT_FALSE(probe()) << "before its time";
    EXPECT_FALSE(child.is_way_proven());
    answer_in_full(question);
    EXPECT_TRUE(child.is_way_proven());
    EXPECT_TRUE(child.is_running());
    EXPECT_EQ(child.generation(), 50U) << "nobody began anew";
    EXPECT_FALSE(probe());
    EXPECT_EQ(child.wakes_at(), RoundChild::kNever);
}

TEST_F(RoundChildProof, RepeatsTheLastQuestionSoThatNothingChanges) {
    const auto question = probe().value();
    wait();
    auto second = probe().value();
    EXPECT_EQ(second.padding, 0U) << "long and short ones in turn";
    second.padding = question.padding;
    EXPECT_EQ(second.stamp, question.stamp);
    EXPECT_EQ(second.action, OLAF_CONTROL_SYNC);
    EXPECT_EQ(std::tie(second.round, second.chunk, second.generation),
              std::tie(question.round, question.chunk, question.generation));
    EXPECT_EQ(child.stats().asked, 1U);
}

// The job was stopped meanwhile: that is told by the next STALE.
TEST_F(RoundChildProof, IsGivenByAnyAnswerOfThatLength) {
    answer_in_full(probe().value(), OLAF_CONTROL_OLD);
    EXPECT_TRUE(child.is_way_proven());
    EXPECT_TRUE(child.is_running());
}

TEST_F(RoundChildProof, IsNotGivenByAnAnswerToAnotherQuestion) {
    auto other = probe().value();
    other.stamp--;
    answer_in_full(other);
    EXPECT_FALSE(child.is_way_proven());
}

TEST_F(RoundChildProof, FailsWhereOnlyShortQuestionsAreAnswered) {
    const auto began = now;
    for (int sent = 0; !child.is_way_too_narrow(); sent++) {
        ASSERT_LT(sent, 40);
        wait();
        if (const auto question = probe(); question->padding == 0)
            answer_in_full(*question);
    }
    EXPECT_FALSE(child.is_way_proven());
    EXPECT_LT(now - began, 2s) << "long before time is up";
}

TEST_F(RoundChildProof, WaitsForANodeThatIsSilent) {
    for (int sent = 0; sent < 1000; sent++) {
        wait();
        ASSERT_TRUE(probe());
    }
    EXPECT_FALSE(child.is_way_too_narrow());
    EXPECT_FALSE(child.is_way_proven());
    EXPECT_NE(child.missing(now).find("silent"), std::string::npos) << child.missing(now);
}

TEST_F(RoundChildProof, IsNotDeniedByLoss) {
    std::mt19937 random(1);
    for (int world = 0; world < 10'000; world++) {
        child.prove_way();
        while (!child.is_way_proven()) {
            wait();
            const auto question = probe();
            ASSERT_TRUE(question);
            if (random() % 100 < 64) // 20 % are lost there, and 20 % back
                answer_in_full(*question);
            ASSERT_FALSE(child.is_way_too_narrow()) << "world " << world;
        }
    }
}

TEST_F(RoundChildProof, HoldsNoContributionUp) {
    child.add(2, 0, 0);
    ASSERT_TRUE(probe());
    EXPECT_EQ(contribution().value().chunk, 0U);
    wait();
    ASSERT_TRUE(probe());
    give_result(0, 2);
    EXPECT_EQ(contribution().value().chunk, 1U);
}

} // namespace
} // namespace olaf::test::round_child_proof_test
