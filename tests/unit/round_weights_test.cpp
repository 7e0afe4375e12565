// SPDX-License-Identifier: BSD-2-Clause
// olaf::RoundServer with workers over loopback: they get weights, and exactly those.
#include <cmath>
#include <limits>
#include <stdexcept>

#include <olaf/round_server.hpp>

#include "round_server.hpp"

namespace olaf::test::round_weights_test {
namespace {

constexpr std::uint32_t kJob = 5, kWorkers = 3;
constexpr std::size_t kElements = 157; // 10 pieces of 16, the last one short

/// A server in a thread. Its rule adds the sum; so all numbers stay whole, and exact.
class Weights {
  public:
    explicit Weights(Address bind = Address::resolve("127.0.0.1", 0).value(),
                     std::vector<float> begin = std::vector<float>(kElements, 1.0F),
                     std::chrono::nanoseconds member_timeout = kSoon, unsigned throws_at = 0)
        : server_(
              RoundServer::make({.bind = bind,
                                 .job = kJob,
                                 .children = kWorkers,
                                 .workers = kWorkers,
                                 .lanes = 9,
                                 .ahead = 4,
                                 .pool = 4,
                                 .member_timeout = member_timeout},
                                std::move(begin),
                                [this, throws_at](const RoundSum &sum, std::span<float> weights) {
                                    if (++calls_ == throws_at)
                                        throw std::runtime_error("as asked for");
                                    for (std::size_t i = 0; i < weights.size(); i++)
                                        weights[i] += sum.sum[i];
                                })
                  .value()),
          thread_([this](const std::stop_token &stop) {
              try {
                  const auto served = server_.serve(stop);
                  EXPECT_TRUE(served) << served.error().message();
              } catch (const std::runtime_error &) {
                  thrown_ = true;
                  thrown_.notify_all();
              }
          }) {}

    [[nodiscard]] Address address() const { return server_.local_address().value(); }
    [[nodiscard]] unsigned calls() const { return calls_; }
    void await_throw() const { thrown_.wait(false); }
    /// Ends it. What it has then.
    std::pair<std::vector<float>, RoundServerStats> end() {
        thread_.request_stop();
        thread_.join();
        return {copy(server_.weights()), server_.stats()};
    }

  private:
    std::atomic<unsigned> calls_ = 0;
    std::atomic<bool> thrown_ = false;
    RoundServer server_;
    std::jthread thread_;
};

Collective worker(const Address &server, std::uint32_t rank) {
    return Collective::make({.node = server,
                             .job = kJob,
                             .rank = rank,
                             .workers = kWorkers,
                             .run = "test",
                             .lanes = 9,
                             .ahead = 4,
                             .timeout = kSoon})
        .value();
}

/// What a worker gives in a round: whole numbers, whose sum needs all bits that there are.
std::vector<float> given(std::uint32_t rank, unsigned round) {
    std::vector<float> vector(kElements);
    for (std::size_t i = 0; i < kElements; i++)
        vector[i] =
            static_cast<float>((static_cast<int>(i) * 7 + static_cast<int>(rank + round)) % 127) -
            63.0F;
    return vector;
}

std::vector<float> weights_after(unsigned rounds) {
    std::vector<float> weights(kElements, 1.0F);
    for (unsigned round = 0; round < rounds; round++)
        for (std::uint32_t rank = 0; rank < kWorkers; rank++)
            for (std::size_t i = 0; i < kElements; i++)
                weights[i] += given(rank, round)[i];
    return weights;
}

void all(const std::function<void(std::uint32_t rank)> &work) {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < kWorkers; rank++)
        threads.emplace_back([&, rank] { work(rank); });
}

void train(Collective &collective, std::uint32_t rank, unsigned begin, unsigned end) {
    for (unsigned round = begin; round < end; round++) {
        auto vector = given(rank, round);
        sum_of(collective, vector);
        ASSERT_EQ(vector, weights_after(round + 1)) << "rank " << rank << ", round " << round;
    }
}

TEST(RoundServer, AnswersTheWeightsThatItsRuleMakesOfSums) {
    Weights server;
    all([&](std::uint32_t rank) {
        auto collective = worker(server.address(), rank);
        train(collective, rank, 0, 20);
        EXPECT_TRUE(collective.finish().value_or(false));
    });
    const auto [weights, stats] = server.end();
    EXPECT_EQ(weights, weights_after(20));
    EXPECT_EQ(server.calls(), 20 * 10U) << "once a piece and round";
    EXPECT_EQ(stats.answered, 20 * 14U + 1U) << "exponents, pieces and a farewell";
    EXPECT_EQ(stats.agreed, 1U);
    EXPECT_EQ(stats.clipped + stats.not_finite + stats.rejected.total(), 0U);
}

// Its workers guess, and what they have guessed isn't taken for the answer.
TEST(RoundServer, AnswersShortVectorsWithWeightsToo) {
    constexpr std::size_t few = 40;
    Weights server(Address::resolve("127.0.0.1", 0).value(), std::vector<float>(few, 1.0F));
    all([&](std::uint32_t rank) {
        auto collective = worker(server.address(), rank);
        for (int round = 1; round <= 4; round++) {
            std::vector<float> vector(few, 2.0F);
            sum_of(collective, vector);
            ASSERT_EQ(vector, std::vector<float>(few, 1.0F + 6.0F * static_cast<float>(round)));
        }
    });
}

// It dies in the middle of a round, and is begun again with the weights of before: from a file,
// say.
TEST(RoundServer, ThatIsRestartedGetsTheRoundThatWasUnderWayOnceMore) {
    auto first = std::make_unique<Weights>(Address::resolve("127.0.0.1", 0).value(),
                                           weights_after(0), kSoon, 5 * 10 + 4);
    const Address address = first->address();
    std::jthread workers([&] {
        all([&](std::uint32_t rank) {
            auto collective = worker(address, rank);
            train(collective, rank, 0, 10);
            EXPECT_EQ(collective.stats().agreed, 2U);
        });
    });
    first->await_throw();
    first.reset();
    Weights second(address, weights_after(5));
    workers.join();
    EXPECT_EQ(second.end().first, weights_after(10));
    EXPECT_EQ(second.calls(), 5 * 10U);
}

TEST(RoundServer, WhoseRuleThrewCallsItAgain) {
    auto server =
        RoundServer::make({.bind = Address::resolve("127.0.0.1", 0).value(),
                           .job = kJob,
                           .workers = 1,
                           .lanes = 9},
                          {3.0F},
                          [calls = 0](const RoundSum &sum, std::span<float> weights) mutable {
                              if (++calls == 1)
                                  throw std::runtime_error("as asked for");
                              weights[0] += sum.sum[0];
                          })
            .value();
    std::jthread worker([&] {
        auto collective =
            Collective::make(
                {.node = server.local_address().value(), .job = kJob, .workers = 1, .run = "test", .lanes = 9})
                .value();
        float weight = 1.0F;
        const auto report = collective.allreduce(std::span(&weight, 1));
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(weight, 4.0F);
    });
    EXPECT_THROW(while (true) ASSERT_TRUE(server.receive(kSoon)), std::runtime_error);
    while (server.stats().answered < 2)
        ASSERT_TRUE(server.receive(kSoon));
}

TEST(RoundServer, AnswersNewWorkersAnewThoughTheirRoundsHaveTheOldNumbers) {
    Weights server(Address::resolve("127.0.0.1", 0).value(), weights_after(0), {});
    for (unsigned run = 0; run < 3; run++)
        all([&](std::uint32_t rank) {
            auto collective = worker(server.address(), rank);
            ASSERT_TRUE(collective.start());
            train(collective, rank, run, run + 1);
            EXPECT_TRUE(collective.finish().value_or(false));
        });
    EXPECT_EQ(server.end().first, weights_after(3));
}

TEST(RoundServer, TakesARankFromOneSourceOnly) {
    Weights server;
    all([&](std::uint32_t rank) {
        auto collective = worker(server.address(), rank);
        train(collective, rank, 0, 1);
        CollectiveOptions options = {.node = server.address(),
                                     .job = kJob,
                                     .rank = rank,
                                     .workers = kWorkers,
                                     .run = "test",
                                     .lanes = 9,
                                     .timeout = std::chrono::milliseconds(50)};
        EXPECT_FALSE(Collective::make(options).value().start());
        train(collective, rank, 1, 2);
    });
    EXPECT_GE(server.end().second.rejected[Reject::not_addressed], kWorkers);
}

TEST(RoundServer, LetsItsRuleSeeNoSumThatIsNotFinite) {
    Weights server;
    all([&](std::uint32_t rank) {
        auto collective = worker(server.address(), rank);
        auto vector = given(rank, 0);
        if (rank == 1)
            vector[20] = std::numeric_limits<float>::infinity();
        const auto report = sum_of(collective, vector);
        EXPECT_EQ(report.not_finite, 16U);
        EXPECT_TRUE(std::isnan(vector[16]) && std::isnan(vector[31]));
        EXPECT_EQ(vector[15], weights_after(1)[15]);
        std::vector<float> zeros(kElements);
        ASSERT_TRUE(collective.allreduce(std::span(zeros)));
        EXPECT_EQ(zeros[20], 1.0F) << "as it was";
    });
    EXPECT_EQ(server.end().second.not_finite, 16U);
}

TEST(RoundServer, MistakesOfTheCallerAreErrors) {
    const RoundServerOptions good = {
        .bind = Address::resolve("127.0.0.1", 0).value(), .job = kJob, .workers = 1, .lanes = 9};
    const RoundRule rule = [](const RoundSum &, std::span<float>) {};
    EXPECT_TRUE(RoundServer::make(good, {1.0F}, rule));
    const auto refused = [&](auto change, const std::string &why) {
        RoundServerOptions options = good;
        change(options);
        expect_fails(RoundServer::make(options, {1.0F}, rule), why);
    };
    refused([](auto &o) { o.children = 0; }, "1 to 256 children");
    refused([](auto &o) { o.workers = 0; }, "at least one of its workers");
    refused([](auto &o) { o.lanes = 1; }, "how many lanes");
    refused([](auto &o) { o.pool = 18; }, "2^17");
    refused([](auto &o) { o.job = OLAF_EVERY_WORKER; }, "nobody's");
    EXPECT_FALSE(RoundServer::make(good, {}, rule));
    EXPECT_FALSE(RoundServer::make(good, {1.0F}, {}));
}

} // namespace
} // namespace olaf::test::round_weights_test
