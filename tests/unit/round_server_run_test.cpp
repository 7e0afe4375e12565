// SPDX-License-Identifier: BSD-2-Clause
// Which run has a parameter server: docs/rounds.md, "Runs". First its root step by step, with a
// clock that a test turns; then workers over loopback.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <olaf/collective.hpp>
#include <olaf/round_server.hpp>

#include "endpoints/rounds/root.hpp"
#include "loopback.hpp"

namespace olaf::test::round_server_run_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kJob = 5, kChildren = 2;
constexpr std::uint16_t kLanes = 5;
constexpr olaf_run kFirst = {.training = 0xa, .number = 3}, kLater = {.training = 0xa, .number = 4},
                   kOther = {.training = 0xb, .number = 1};

/// A root of two children, and what it sends.
class RootRun : public testing::Test, private RoundRootUser {
  protected:
    explicit RootRun(const olaf_run &only = {}, std::uint32_t children = kChildren)
        : root_({.job = kJob,
                 .children = children,
                 .workers = children,
                 .lanes = kLanes,
                 .pool = 2,
                 .run_timeout = 60s},
                100, *this, only) {}

    /// What a rank of that run is answered to a new question.
    JobSync ask(const olaf_run &run, std::uint32_t rank, std::uint64_t incarnation = 7,
                std::uint64_t session = 0) {
        sent_.clear();
        EXPECT_TRUE(root_.sync({.job = kJob,
                                .rank = rank,
                                .stamp = ++stamp_,
                                .pool = 2,
                                .incarnation = incarnation,
                                .session = session,
                                .run = run,
                                .padding = kSyncLanes},
                               now_));
        return answered();
    }
    JobSync answered() {
        EXPECT_EQ(sent_.size(), 1U);
        return sent_.empty() ? JobSync{} : decode_sync(sent_.back().bytes).value();
    }
    /// All ranks of that run ask: the generation that they agree in.
    std::uint32_t agree(const olaf_run &run) {
        EXPECT_EQ(ask(run, 0).status, OLAF_CONTROL_WAIT);
        const JobSync done = ask(run, 1);
        EXPECT_EQ(done.status, OLAF_CONTROL_DONE);
        return done.generation;
    }
    void give(std::uint32_t generation, std::uint32_t rank, std::uint32_t round,
              std::uint32_t chunks = 1) {
        const std::vector<std::uint64_t> lanes(kLanes);
        sent_.clear();
        EXPECT_TRUE(root_.contribution({.job = kJob,
                                        .rank = rank,
                                        .round = round,
                                        .generated_ns = 9,
                                        .chunks = chunks,
                                        .generation = generation,
                                        .lanes = kLanes,
                                        .has_checksum = true},
                                       lanes, now_));
    }

    void abstain(std::uint32_t generation, std::uint32_t rank, std::uint32_t round) {
        EXPECT_TRUE(root_.contribution({.job = kJob,
                                        .rank = rank,
                                        .round = round,
                                        .generation = generation,
                                        .exponent = 9,
                                        .has_checksum = true,
                                        .partial = true},
                                       {}, now_));
    }

    struct Sent {
        std::vector<std::byte> bytes;
        bool replied; ///< to the source of the message, whosever the rank is
    };
    RoundRoot root_;
    RoundRoot::Time now_ = 1000s;
    std::int64_t stamp_ = 0;
    std::vector<Sent> sent_;
    unsigned begun_ = 0, answers_ = 0, admitted_ = 0;
    bool admits_ = true, knows_ = true;

  private:
    std::optional<VectorIdentity> wants(const VectorIdentity &) const override { return {}; }
    void answer(RoundTotal &, std::span<std::uint64_t>) override { answers_++; }
    void keep(const olaf_header &header, std::span<const std::uint64_t> lanes, bool replied) {
        std::vector<std::byte> bytes(message_size(lanes.size()));
        std::memcpy(bytes.data(), &header, sizeof header);
        if (!lanes.empty())
            std::memcpy(bytes.data() + sizeof header, lanes.data(), lanes.size_bytes());
        sent_.push_back({std::move(bytes), replied});
    }
    void send(std::uint32_t, const olaf_header &header,
              std::span<const std::uint64_t> lanes) override {
        keep(header, lanes, false);
    }
    void reply(std::uint32_t, const olaf_header &header,
               std::span<const std::uint64_t> lanes) override {
        keep(header, lanes, true);
    }
    bool admit(std::uint32_t) override {
        admitted_++;
        return admits_;
    }
    bool knows(std::uint32_t) const override { return knows_; }
    void begin_run() override { begun_++; }
};

TEST_F(RootRun, RefusesAnotherTrainingAndTellsItWhose) {
    agree(kFirst);
    now_ += 20s;
    const JobSync refused = ask(kOther, 0);
    EXPECT_TRUE(sent_.back().replied) << "the rank is another one's";
    EXPECT_EQ(refused.status, OLAF_CONTROL_OTHER);
    EXPECT_EQ(refused.stamp, stamp_);
    EXPECT_EQ(refused.generation, 0U) << "which only members are told";
    EXPECT_EQ(refused.run.training, olaf_training_alias(kFirst.training))
        << "by which it can't ask";
    EXPECT_EQ(refused.run.number, 0U);
    EXPECT_EQ(refused.rank, 0U);
    EXPECT_EQ(refused.missing, 2U);
    EXPECT_EQ(refused.kept_for(), 40s);
    EXPECT_EQ(begun_, 1U);
}

TEST_F(RootRun, TellsOnlyOfRanksThatAreThere) {
    const auto generation = agree(kFirst);
    now_ += 50s;
    give(generation, 1, 0);
    now_ += 20s;
    const JobSync refused = ask(kOther, 0);
    EXPECT_EQ(refused.status, OLAF_CONTROL_OTHER);
    EXPECT_EQ(refused.rank, 1U);
    EXPECT_EQ(refused.missing, 1U);
    EXPECT_EQ(refused.kept_for(), 40s);
}

TEST_F(RootRun, GoesOnWhereAnotherIsRefused) {
    const auto generation = agree(kFirst);
    ask(kOther, 0);
    give(generation, 0, 0);
    give(generation, 1, 0);
    EXPECT_EQ(sent_.size(), 2U) << "the sum";
    EXPECT_EQ(answers_, 1U);
}

TEST_F(RootRun, IsTakenByAnotherTrainingOnceAllRanksWereSilent) {
    const auto generation = agree(kFirst);
    now_ += 60s - 1ns;
    EXPECT_EQ(ask(kOther, 0).status, OLAF_CONTROL_OTHER) << "which keeps nobody there";
    now_ += 1ns;
    const JobSync taken = ask(kOther, 0);
    EXPECT_EQ(taken.status, OLAF_CONTROL_WAIT);
    EXPECT_EQ(taken.missing, 1U);
    EXPECT_NE(taken.generation, generation);
    EXPECT_EQ(begun_, 2U) << "the ranks are free";
    EXPECT_EQ(ask(kFirst, 1).status, OLAF_CONTROL_OTHER);
    EXPECT_EQ(ask(kOther, 1).status, OLAF_CONTROL_DONE);
}

TEST_F(RootRun, IsTakenByALaterRunAtOnceAndAllBefore) {
    const auto generation = agree(kFirst);
    give(generation, 0, 0);
    EXPECT_EQ(ask(kLater, 1).status, OLAF_CONTROL_WAIT);
    EXPECT_EQ(begun_, 2U);
    const JobSync done = ask(kLater, 0);
    EXPECT_EQ(done.status, OLAF_CONTROL_DONE);
    EXPECT_NE(done.generation, generation);
    give(generation, 1, 0);
    ASSERT_EQ(sent_.size(), 1U);
    EXPECT_TRUE(decode_result(sent_[0].bytes).value().stale) << "it may no longer sum";
    EXPECT_TRUE(sent_[0].replied) << "and hears of it where it is";
    EXPECT_EQ(decode_result(sent_[0].bytes).value().generation, done.generation);
    EXPECT_EQ(ask(kFirst, 1).status, OLAF_CONTROL_OTHER);
}

TEST_F(RootRun, AStaleContributionTakesNoRank) {
    const auto generation = agree(kFirst);
    agree(kLater);
    const unsigned before = admitted_;
    give(generation, 1, 0);
    EXPECT_EQ(admitted_, before);
}

// What a member of a job with a threshold below may have missed.
TEST_F(RootRun, WaitsForNobodyWhoHasNothingToGive) {
    const auto generation = agree(kFirst);
    abstain(generation, 1, 0);
    give(generation, 0, 0);
    EXPECT_EQ(answers_, 0U) << "nothing was open when it said so";
    abstain(generation, 1, 0);
    EXPECT_EQ(answers_, 1U);
    ASSERT_EQ(sent_.size(), kChildren);
    const auto sum = decode_result(sent_.back().bytes).value();
    EXPECT_TRUE(sum.partial);
    EXPECT_EQ(sum.count, 1U);
    EXPECT_EQ(sum.exponent, 0);
}

TEST_F(RootRun, ItsGenerationIsToldToNobodyElse) {
    const auto generation = agree(kFirst);
    knows_ = false;
    give(generation - 1, 1, 0);
    ASSERT_EQ(sent_.size(), 1U);
    EXPECT_TRUE(sent_[0].replied);
    EXPECT_EQ(decode_result(sent_[0].bytes).value().generation, 0U);
}

// A repetition gets its earlier answer, which is known by its time. It is no repetition here.
TEST_F(RootRun, AnswersALaterRunAnew) {
    for (const olaf_run &run : {kFirst, kLater}) {
        const auto generation = agree(run);
        give(generation, 0, 0);
        give(generation, 1, 0);
    }
    EXPECT_EQ(answers_, 2U);
}

TEST_F(RootRun, RefusesAnEarlierRunEvenIfTheLaterOneIsSilent) {
    agree(kLater);
    now_ += 1000s;
    const JobSync refused = ask(kFirst, 0);
    EXPECT_EQ(refused.status, OLAF_CONTROL_OTHER);
    EXPECT_EQ(refused.run.number, kLater.number);
    EXPECT_EQ(refused.missing, 0U);
}

TEST_F(RootRun, IsFreeOnceAllHaveSaidFarewell) {
    const auto generation = agree(kFirst);
    give(generation, 0, 0, kFarewellChunks);
    EXPECT_EQ(ask(kOther, 0).status, OLAF_CONTROL_OTHER) << "one hasn't";
    give(generation, 1, 0, kFarewellChunks);
    give(generation, 1, 0, kFarewellChunks);
    EXPECT_EQ(sent_.size(), 1U) << "who lost the farewell's result gets it";
    agree(kOther);
}

TEST_F(RootRun, IsNotTakenWhereTheRankIsBound) {
    agree(kFirst);
    admits_ = false;
    sent_.clear();
    const auto asked = root_.sync({.job = kJob,
                                   .rank = 1,
                                   .stamp = ++stamp_,
                                   .pool = 2,
                                   .run = kFirst,
                                   .padding = kSyncLanes},
                                  now_ + 1000s);
    EXPECT_EQ(asked.error(), Reject::not_addressed);
    EXPECT_TRUE(sent_.empty());
}

struct RootOfThree : RootRun {
    RootOfThree() : RootRun({}, 3) {}
};

TEST_F(RootOfThree, TellsAtOnceThatAMemberHasBegunAnew) {
    ask(kFirst, 0);
    ask(kFirst, 1);
    const std::uint64_t session = ask(kFirst, 2).session;
    EXPECT_EQ(ask(kFirst, 1, 8).status, OLAF_CONTROL_WAIT);
    const JobSync told = ask(kFirst, 2, 7, session);
    EXPECT_EQ(told.status, OLAF_CONTROL_OVER);
    EXPECT_EQ(told.rank, 1U);
    EXPECT_EQ(ask(kFirst, 1, 8).status, OLAF_CONTROL_WAIT) << "rank 0 hasn't asked";
}

TEST_F(RootOfThree, TellsNobodySoOfOneThatWasNotAnswered) {
    ask(kFirst, 0);
    ask(kFirst, 1);
    const std::uint64_t session = ask(kFirst, 2).session;
    EXPECT_EQ(ask(kFirst, 1).status, OLAF_CONTROL_WAIT);
    EXPECT_EQ(ask(kFirst, 2, 7, session).status, OLAF_CONTROL_WAIT);
    EXPECT_EQ(ask(kFirst, 0, 7, session).status, OLAF_CONTROL_DONE);
}

struct PinnedRootRun : RootRun {
    PinnedRootRun() : RootRun({.training = olaf_training_alias(kFirst.training), .number = 0}) {}
};

TEST_F(PinnedRootRun, ServesNoOtherTraining) {
    const JobSync refused = ask(kOther, 0);
    EXPECT_EQ(refused.status, OLAF_CONTROL_OTHER);
    EXPECT_EQ(refused.run.training, olaf_training_alias(kFirst.training));
    EXPECT_EQ(refused.missing, 0U);
    EXPECT_EQ(refused.kept_for(), 0s);
    agree(kFirst);
    agree(kLater);
}

// ---- over loopback ----

/// A server in a thread, whose rule adds the sum. All workers are its children.
class Server {
  public:
    explicit Server(std::uint32_t workers, const std::string &run = {},
                    const std::string &bind = "127.0.0.1")
        : workers_(workers),
          server_(RoundServer::make({.bind = Address::resolve(bind, 0).value(),
                                     .job = kJob,
                                     .children = workers,
                                     .workers = workers,
                                     .lanes = 9,
                                     .run = run,
                                     .member_timeout = 1h},
                                    {1.0F},
                                    [](const RoundSum &sum, std::span<float> weights) {
                                        weights[0] += sum.sum[0];
                                    })
                      .value()),
          thread_([this](const std::stop_token &stop) { EXPECT_TRUE(server_.serve(stop)); }) {}

    [[nodiscard]] Collective worker(const std::string &run, std::uint64_t number,
                                    std::uint32_t rank = 0,
                                    const std::string &host = "127.0.0.1") const {
        const auto port = server_.local_address().value().port();
        return Collective::make({.node = Address::resolve(host, port).value(),
                                 .job = kJob,
                                 .rank = rank,
                                 .workers = workers_,
                                 .run = run,
                                 .run_number = number,
                                 .lanes = 9,
                                 .timeout = kSoon})
            .value();
    }

  private:
    std::uint32_t workers_;
    RoundServer server_;
    std::jthread thread_;
};

float weight_after(Collective &collective, float gradient) {
    const auto sum = collective.allreduce(std::span(&gradient, 1));
    EXPECT_TRUE(sum) << sum.error().message();
    return gradient;
}

TEST(RoundServerRun, OfOneTrainingKeepsItsWeightsFromAnother) {
    const Server server(1);
    auto first = server.worker("first", 0);
    EXPECT_EQ(weight_after(first, 2.0F), 3.0F);
    auto other = server.worker("other", 0);
    const auto refused = other.start();
    expect_fails(refused, "the job is in use by another run (id:");
    expect_fails(refused, ": rank 0, for 60 s more");
    EXPECT_EQ(weight_after(first, 2.0F), 5.0F) << "and the first one goes on";
    EXPECT_EQ(first.finish().value(), true);
    EXPECT_TRUE(other.start()) << "once the first has finished";
    EXPECT_EQ(weight_after(other, 2.0F), 7.0F) << "on the weights as they are";
}

TEST(RoundServerRun, IsTakenOverByALaterRunWhoseRanksAreFree) {
    const Server server(1);
    auto first = server.worker("name", 1);
    EXPECT_EQ(weight_after(first, 2.0F), 3.0F);
    auto second = server.worker("name", 2);
    ASSERT_TRUE(second.start()) << "from another port at once";
    EXPECT_EQ(weight_after(second, 2.0F), 5.0F);
    float vector = 1;
    const auto ended = first.allreduce(std::span(&vector, 1));
    expect_fails(ended, "a later run of this training (number 2, this process is of number 1)");
    EXPECT_EQ(weight_after(second, 2.0F), 7.0F) << "the first one has taken no rank";
    expect_fails(first.start(), "end this process");
}

// Routing would answer both from the first address of the host.
TEST(RoundServerRun, AnswersFromTheAddressThatWasAsked) {
    const Server server(2, {}, "::");
    auto first = server.worker("name", 1, 0, "127.0.0.2");
    auto second = server.worker("name", 1, 1, "127.0.0.3");
    std::jthread other([&second] { EXPECT_EQ(weight_after(second, 2.0F), 5.0F); });
    EXPECT_EQ(weight_after(first, 2.0F), 5.0F);
}

TEST(RoundServerRun, IsTheOneThatItWasMadeFor) {
    const Server server(1, "mine");
    auto other = server.worker("other", 5);
    expect_fails(other.start(), "the job was set for another run (id:");
    auto mine = server.worker("mine", 5);
    EXPECT_EQ(weight_after(mine, 2.0F), 3.0F);
}

TEST(RoundServerRun, ThatIsNoHashIsAnError) {
    expect_fails(RoundServer::make({.bind = Address::resolve("127.0.0.1", 0).value(),
                                    .job = kJob,
                                    .workers = 1,
                                    .lanes = 9,
                                    .run = "id:7"},
                                   {1.0F}, [](const RoundSum &, std::span<float>) {}),
                 "16 hexadecimal digits");
}

} // namespace
} // namespace olaf::test::round_server_run_test
