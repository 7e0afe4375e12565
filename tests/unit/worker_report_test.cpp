// SPDX-License-Identifier: BSD-2-Clause
// What a worker holds back, and what it reports of its updates and their answers.
#include "fake_server.hpp"

#include <olaf/clock.hpp>

#include "own_updates.hpp"

namespace olaf::test::worker_report_test {
namespace {

using namespace olaf;
using namespace olaf::test;

const std::vector<float> kGradient(4, 1.0F);

const Ack kCongested = {.cluster = 4,
                        .worker = 8,
                        .active_clusters = 10,
                        .queue_capacity = 4,
                        .queue_length = 3,
                        .model_version = 5,
                        .stamped = true,
                        .congested = true};

TEST(WorkerSending, IsHeldBackByWhatStampedAcksSay) {
    std::vector<QueueState> asked;
    double probability = 0;
    FakeServer fake({.send_rule =
                         [&](const QueueState &state) {
                             asked.push_back(state);
                             return probability;
                         },
                     .random = uniform_random(1)});
    fake.ack(kCongested, 1.0F);
    const auto before_ack = OwnUpdates::Clock::now();
    ASSERT_TRUE(fake.worker.wait(kSoon).value());

    EXPECT_EQ(fake.worker.push(kGradient, 0, 5)->outcome, PushOutcome::held);
    const std::chrono::duration<double> since_before = OwnUpdates::Clock::now() - before_ack;
    EXPECT_LT(asked[0].since_ack_s, since_before.count()) << "the ACK started it anew";
    EXPECT_FALSE(fake.worker.should_send());
    probability = 1;
    EXPECT_TRUE(fake.worker.should_send());
    const auto sent = fake.worker.push(kGradient, 0, 5);
    EXPECT_EQ(sent->outcome, PushOutcome::sent);
    EXPECT_EQ(sent->sequence, 1U) << "what was held never counts as lost";
    EXPECT_EQ(fake.update().sequence, 1U) << "nothing came before it";
    EXPECT_EQ(fake.worker.stats().held, 2U);
    EXPECT_EQ(fake.worker.stats().updates, 1U);

    ASSERT_EQ(asked.size(), 3U);
    EXPECT_EQ(asked[0].active_clusters, 10U);
    EXPECT_EQ(asked[0].capacity, 4U);
    EXPECT_EQ(asked[0].length, 3U);
    EXPECT_GT(asked[0].since_ack_s, 0);
    EXPECT_LT(asked[0].since_ack_s, asked[2].since_ack_s);
}

TEST(WorkerSending, FollowsThePapersRule) {
    FakeServer fake({.send_rule = TransmissionControl::with_slope(3600, 0).value(),
                     .random = uniform_random(2)});
    constexpr int pushes = 2000;
    for (int i = 0; i < 10; i++)
        EXPECT_EQ(fake.worker.push(kGradient, 0, 0)->outcome, PushOutcome::sent) << "nothing known";
    fake.ack(kCongested, 1.0F);
    ASSERT_TRUE(fake.worker.wait(kSoon).value());
    for (int i = 0; i < pushes; i++)
        ASSERT_TRUE(fake.worker.push(kGradient, 0, 5));
    EXPECT_NEAR(static_cast<double>(fake.worker.stats().held) / pushes, 0.6, 0.05);
    Ack relieved = kCongested;
    relieved.active_clusters = 4;
    relieved.model_version = 6;
    fake.ack(relieved, 1.0F);
    ASSERT_TRUE(fake.worker.wait(kSoon).value());
    EXPECT_EQ(fake.worker.push(kGradient, 0, 6)->outcome, PushOutcome::sent);
}

TEST(WorkerSending, StopsAtTheStalenessBound) {
    FakeServer fake({.staleness_bound = 2});
    EXPECT_EQ(fake.worker.push(kGradient, 0, 900)->outcome, PushOutcome::sent)
        << "without weights nothing is stale";
    fake.ack({.cluster = 4, .worker = 8, .model_version = 1}, 1.0F);
    ASSERT_TRUE(fake.worker.wait(kSoon).value());
    const std::vector<std::pair<std::uint32_t, PushOutcome>> rows = {
        {1, PushOutcome::sent},
        {0, PushOutcome::sent},
        {0xffffffff, PushOutcome::sent}, // two versions older: they wrap
        {0xfffffffe, PushOutcome::too_stale},
        {2, PushOutcome::sent}, // newer than ours: no business of the bound
    };
    for (const auto &[version, outcome] : rows)
        EXPECT_EQ(fake.worker.push(kGradient, 0, version)->outcome, outcome) << version;
    EXPECT_EQ(fake.worker.stats().too_stale, 1U);
    EXPECT_EQ(fake.worker.stats().updates, 5U);
}

TEST(WorkerSending, APermissionOutlivesAStaleUpdate) {
    int draws = 0;
    FakeServer fake({.send_rule =
                         [&](const QueueState &) {
                             draws++;
                             return 1.0;
                         },
                     .staleness_bound = 0});
    fake.ack({.cluster = 4, .worker = 8, .model_version = 3}, 1.0F);
    ASSERT_TRUE(fake.worker.wait(kSoon).value());
    EXPECT_TRUE(fake.worker.should_send());
    EXPECT_EQ(fake.worker.push(kGradient, 0, 2)->outcome, PushOutcome::too_stale);
    EXPECT_EQ(fake.worker.push(kGradient, 0, 3)->outcome, PushOutcome::sent);
    EXPECT_EQ(draws, 1);
}

TEST(WorkerReport, MeasuresTheAnswerOfAnUpdate) {
    FakeServer fake;
    const std::int64_t computed_ns = tai_now_ns() - 1'000'000'000;
    ASSERT_TRUE(fake.worker.push(kGradient, 0, 7, computed_ns));
    EXPECT_EQ(fake.worker.report().answered, 0U);
    const Update update = fake.update();
    const Ack answer = {.cluster = 4,
                        .worker = 8,
                        .sequence = update.sequence,
                        .generated_ns = update.generated_ns,
                        .model_version = 12};
    fake.ack(answer, 1.0F);
    ASSERT_TRUE(fake.worker.wait(kSoon).value());
    const WorkerReport report = fake.worker.report();
    EXPECT_EQ(report.answered, 1U);
    EXPECT_EQ(report.version_lag, 5U);
    EXPECT_GT(report.round_trip_ns, 0);
    EXPECT_GE(report.update_age_ns, 1'000'000'000 + report.round_trip_ns);
    EXPECT_EQ(report.smoothed_round_trip_ns, report.round_trip_ns);
    EXPECT_EQ(report.least_round_trip_ns, report.round_trip_ns);

    Ack of_another = answer; // its sequence, but not its time
    of_another.generated_ns++;
    of_another.model_version = 13;
    fake.ack(of_another, 1.0F);
    ASSERT_TRUE(fake.worker.wait(kSoon).value());
    EXPECT_EQ(fake.worker.report().answered, 1U);
    EXPECT_EQ(fake.worker.report().acks_lost, 0U) << "it may have been for the sender only";
}

TEST(WorkerReport, CountsLostAcksOnceTheyGoToAll) {
    FakeServer fake;
    ASSERT_TRUE(fake.worker.push(kGradient, 0, 0));
    const auto ack = [&](std::uint32_t sequence, std::uint32_t version, std::uint32_t worker) {
        fake.ack({.cluster = 4, .worker = worker, .sequence = sequence, .model_version = version},
                 1.0F);
        ASSERT_TRUE(fake.worker.wait(kSoon).value());
    };
    ack(1, 1, 8);
    ack(1, 5, 8);
    EXPECT_EQ(fake.worker.report().acks_lost, 0U) << "nobody can tell yet";
    ack(2, 6, 8); // an update that this worker hasn't sent
    ack(1, 9, 8);
    EXPECT_EQ(fake.worker.report().acks_lost, 2U);

    FakeServer other;
    other.ack({.cluster = 4, .worker = OLAF_EVERY_WORKER, .model_version = 3}, 1.0F);
    other.ack({.cluster = 4, .worker = OLAF_EVERY_WORKER, .model_version = 5}, 1.0F);
    while (other.worker.model_version() != 5)
        ASSERT_TRUE(other.worker.wait(kSoon).value());
    EXPECT_EQ(other.worker.report().acks_lost, 1U);
}

} // namespace
} // namespace olaf::test::worker_report_test
