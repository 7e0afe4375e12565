// SPDX-License-Identifier: BSD-2-Clause
// A worker with a server that a test plays: loss, damage and strangers, what it holds back and what
// it reports; and the parts of it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <olaf/clock.hpp>

#include "loopback.hpp"
#include "endpoints/async/ack_tracking.hpp"
#include "endpoints/async/replica.hpp"

namespace olaf::test::worker_test {
namespace {

using std::chrono::milliseconds;
using Taken = Replica::Taken;

// A worker whose server is a test's own socket.
struct FakeServer {
    RawSocket socket{Address::resolve("127.0.0.1", 0).value()};
    Worker worker;
    Address worker_address;

    explicit FakeServer(WorkerOptions options = {}) : worker(make(std::move(options))) {
        EXPECT_TRUE(worker.join());
        Frame frame;
        worker_address = socket.receive(frame).second;
    }

    Worker make(WorkerOptions options) const {
        options.server = socket.address();
        options.cluster = 4;
        options.worker = 8;
        options.elements = 4;
        return Worker::make(options).value();
    }

    // The next update that the worker sent. Fails after 10 s.
    Update update() const {
        Frame frame;
        const std::size_t size = socket.receive(frame).first;
        const auto update = decode_update(frame.bytes(size));
        EXPECT_TRUE(update);
        return update.value_or(Update{});
    }

    // An ACK with weights of `value`.
    void ack(Ack ack, float value, std::size_t cut = 0) const {
        Frame frame{};
        const std::vector<float> weights(4, value);
        ack.lanes = 2;
        EXPECT_TRUE(pack_weights(weights, std::span(frame.lanes).first(2)));
        if (ack.has_checksum)
            frame.lanes[ack.lanes++] = 12345;
        frame.header = encode(ack);
        socket.send(frame.bytes(message_size(ack.lanes) - cut), worker_address);
    }
};

// Loss, damage and strangers at the worker.

TEST(WorkerFaults, ForeignAndMalformedAcksAreCountedAndIgnored) {
    FakeServer fake;
    const Ack good = {.cluster = 4, .worker = 8, .model_version = 5};
    Ack other_cluster = good, other_worker = good, bad_checksum = good, bad_segment = good;
    other_cluster.cluster = 5;
    other_worker.worker = 9;
    bad_checksum.has_checksum = true;
    bad_segment.segments = 2;
    fake.ack(other_cluster, 1.0F);
    fake.ack(other_worker, 1.0F);
    fake.ack(bad_checksum, 1.0F);
    fake.ack(bad_segment, 1.0F);
    fake.ack(good, 1.0F, 1);
    const Frame huge{};
    fake.socket.send(std::as_bytes(std::span(&huge, 1)), fake.worker_address);
    fake.socket.send({}, fake.worker_address);
    fake.ack(good, 2.0F);

    ASSERT_TRUE(fake.worker.wait(kSoon).value());
    EXPECT_EQ(copy(fake.worker.weights()), std::vector<float>(4, 2.0F));
    const WorkerStats &stats = fake.worker.stats();
    EXPECT_EQ(stats.acks, 1U);
    EXPECT_EQ(stats.rejected[Reject::unknown_cluster], 1U);
    EXPECT_EQ(stats.rejected[Reject::not_addressed], 1U);
    EXPECT_EQ(stats.rejected[Reject::wrong_checksum], 1U);
    EXPECT_EQ(stats.rejected[Reject::wrong_segment], 1U);
    EXPECT_EQ(stats.rejected[Reject::wrong_length], 2U) << "one cut short, one too long";
    EXPECT_EQ(stats.rejected[Reject::too_short], 1U) << "the empty datagram";
    EXPECT_EQ(stats.rejected.total(), 7U);
}

TEST(WorkerFaults, FeedbackComesFromStampedAcks) {
    FakeServer fake;
    fake.ack({.cluster = 4,
              .worker = OLAF_EVERY_WORKER,
              .sequence = 77,
              .active_clusters = 9,
              .queue_capacity = 8,
              .queue_length = 7,
              .model_version = 5,
              .stamped = true,
              .congested = true},
             1.0F);
    ASSERT_TRUE(fake.worker.wait(kSoon).value());
    EXPECT_TRUE(fake.worker.feedback().stamped);
    fake.ack({.cluster = 4, .worker = 8, .sequence = 78, .model_version = 6}, 2.0F);
    ASSERT_TRUE(fake.worker.wait(kSoon).value());
    const Feedback &feedback = fake.worker.feedback();
    EXPECT_FALSE(feedback.stamped);
    EXPECT_EQ(feedback.sequence, 78U);
    EXPECT_TRUE(feedback.congested) << "the last known state stays";
    EXPECT_EQ(feedback.active_clusters, 9U);
    EXPECT_EQ(feedback.queue_capacity, 8U);
    EXPECT_EQ(feedback.queue_length, 7U);
    EXPECT_LE(feedback.stamped_ns, feedback.received_ns);
}

TEST(WorkerFaults, AServerThatIsDownIsNoError) {
    std::optional<RawSocket> nobody(std::in_place, Address::resolve("127.0.0.1", 0).value());
    const Address gone = nobody->address();
    nobody.reset();
    auto worker = Worker::make({.server = gone, .elements = 1});
    ASSERT_TRUE(worker);
    const float gradient = 1.0F;
    for (int i = 0; i < 5; i++) {
        EXPECT_TRUE(worker->push({&gradient, 1}, 0.0, 0));
        EXPECT_EQ(worker->wait(kNever).value(), false);
    }
    EXPECT_EQ(worker->stats().updates, 5U);
}

TEST(WorkerFaults, MistakesOfTheCallerAreErrors) {
    FakeServer fake;
    const std::vector<float> five(5);
    EXPECT_FALSE(fake.worker.push(five, 0.0, 0));
    WorkerOptions options = {.server = fake.socket.address(), .elements = 4};
    options.worker = OLAF_EVERY_WORKER;
    EXPECT_FALSE(Worker::make(options));
    options.worker = 0;
    options.elements = 0;
    EXPECT_FALSE(Worker::make(options));
    options.elements = 4;
    options.mtu = 80;
    EXPECT_FALSE(Worker::make(options));
    options.mtu = 1500;
    options.packing.format = Format::f32x2;
    EXPECT_FALSE(Worker::make(options));
    options.packing.format = Format::i32x2;
    options.server = {};
    EXPECT_FALSE(Worker::make(options));
}

TEST(WorkerFaults, ARewardThatIsNotANumberIsRefusedAndNotSent) {
    FakeServer fake;
    const std::vector<float> gradient(4, 1.0F);
    expect_fails(fake.worker.push(gradient, std::nan(""), 0), "its reward isn't a number");
    EXPECT_EQ(fake.worker.stats().updates, 0U);
    ASSERT_TRUE(fake.worker.push(gradient, 2.0, 0));
    const Update update = fake.update();
    EXPECT_EQ(update.sequence, 1U) << "the first that was sent";
    EXPECT_EQ(update.reward, to_reward(2.0, 1));
}

TEST(WorkerFaults, AnInfiniteRewardSaturates) {
    FakeServer fake;
    const std::vector<float> gradient(4, 1.0F);
    const std::uint32_t most = WorkerOptions{}.packing.max_count;
    for (const double reward : {HUGE_VAL, -HUGE_VAL}) {
        ASSERT_TRUE(fake.worker.push(gradient, reward, 0));
        EXPECT_EQ(fake.update().reward, to_reward(std::copysign(1e300, reward), most));
    }
}

// What a worker holds back, and what it reports of its updates and their answers.

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

// Which updates were answered, and which versions no ACK brought.

TEST(OwnUpdates, AreAnsweredOnceAndPassedOver) {
    OwnUpdates own;
    const OwnUpdates::Clock::time_point start{};
    for (std::uint32_t sequence = 1; sequence <= 5; sequence++)
        own.sent(sequence, 100 + sequence, sequence, start + milliseconds(sequence));
    EXPECT_EQ(own.last(), 5U);
    EXPECT_FALSE(own.answered(2, 101, start)) << "another's time";
    const auto second = own.answered(2, 102, start + milliseconds(12));
    ASSERT_TRUE(second);
    EXPECT_EQ(second->round_trip, milliseconds(10));
    EXPECT_EQ(second->model_version, 2U);
    EXPECT_EQ(own.unanswered(), 1U);
    EXPECT_FALSE(own.answered(2, 102, start)) << "another segment's";
    EXPECT_TRUE(own.answered(5, 105, start + milliseconds(20)));
    EXPECT_EQ(own.unanswered(), 3U);
    EXPECT_TRUE(own.answered(3, 103, start + milliseconds(20))) << "late";
    EXPECT_EQ(own.unanswered(), 2U);
    own.sent(3 + OwnUpdates::kKept, 7, 0, start);
    EXPECT_FALSE(own.answered(3, 103, start)) << "forgotten";
}

TEST(OwnUpdates, Wrap) {
    OwnUpdates own;
    for (const std::uint32_t sequence : {0x7fffffffU, 0xfffffffeU, 1U}) {
        own.sent(sequence, 1, 0, {});
        EXPECT_TRUE(own.answered(sequence, 1, {}));
    }
    EXPECT_EQ(own.unanswered(), 0xfffffffeU);
}

TEST(MissedVersions, AreHolesThatMayFillLate) {
    MissedVersions missed;
    missed.saw(10, true);
    EXPECT_EQ(missed.count(), 0U) << "what was before isn't missed";
    missed.saw(14, true);
    EXPECT_EQ(missed.count(), 3U);
    missed.saw(12, false);
    missed.saw(12, false);
    EXPECT_EQ(missed.count(), 2U);
    missed.saw(14, false);
    missed.saw(3, false);
    EXPECT_EQ(missed.count(), 2U);
    missed.saw(200, true);
    EXPECT_EQ(missed.count(), 2U + 185);
    missed.saw(13, false);
    EXPECT_EQ(missed.count(), 2U + 185) << "too late";
    missed.saw(1, true);
    missed.saw(3, true);
    EXPECT_EQ(missed.count(), 2U + 185 + 1) << "a server that counts anew";
}

TEST(MissedVersions, Wrap) {
    MissedVersions missed;
    missed.saw(0xffffffff, true);
    missed.saw(1, true);
    EXPECT_EQ(missed.count(), 1U);
    missed.saw(0, false);
    EXPECT_EQ(missed.count(), 0U);
    missed.saw(0x80000001, true); // half the circle: as far behind as ahead
    EXPECT_EQ(missed.count(), 0U);
}

// Gives `replica` one segment of eight weights, all of `value`.
Decoded<Taken> give(Replica &replica, std::uint32_t version, float value, int segment = 0,
                    int segments = 1) {
    const std::vector<float> weights(static_cast<std::size_t>(8 / segments), value);
    std::vector<std::uint64_t> lanes(weights.size() / 2);
    EXPECT_TRUE(pack_weights(weights, lanes));
    return replica.take({.model_version = version,
                         .segment = static_cast<std::uint16_t>(segment),
                         .segments = static_cast<std::uint16_t>(segments)},
                        lanes);
}

TEST(Replica, KeepsTheNewest) {
    Replica replica(8);
    EXPECT_FALSE(replica.complete());
    EXPECT_EQ(give(replica, 0xffffffff, 1.0F), Taken::fresh);
    EXPECT_TRUE(replica.complete());
    EXPECT_EQ(give(replica, 3, 2.0F), Taken::fresh) << "versions wrap";
    EXPECT_EQ(give(replica, 3, 9.0F), Taken::nothing);
    EXPECT_EQ(give(replica, 0xffffffff, 1.0F), Taken::stale);
    EXPECT_EQ(replica.weights()[7], 2.0F);
    EXPECT_EQ(replica.version(), 3U);
}

TEST(Replica, BelievesAServerThatStartedAnew) {
    Replica replica(8);
    ASSERT_EQ(give(replica, 1000, 1.0F), Taken::fresh);
    for (unsigned run = 0; run < 2; run++) {
        EXPECT_EQ(give(replica, 1000, 1.0F), Taken::nothing) << "it goes on as before";
        for (std::uint32_t i = 1; i < Replica::kRestart; i++)
            ASSERT_EQ(give(replica, i, 2.0F), Taken::stale) << i;
    }
    EXPECT_EQ(give(replica, 16, 3.0F), Taken::fresh);
    EXPECT_EQ(replica.version(), 16U);
    EXPECT_EQ(give(replica, 17, 4.0F), Taken::fresh);
}

TEST(Replica, IsAsOldAsItsOldestSegment) {
    Replica replica(8);
    EXPECT_EQ(give(replica, 5, 1.0F, 0, 2), Taken::fresh);
    EXPECT_FALSE(replica.complete());
    EXPECT_EQ(replica.version(), 0U);
    EXPECT_EQ(give(replica, 6, 2.0F, 1, 2), Taken::fresh);
    EXPECT_TRUE(replica.complete());
    EXPECT_EQ(replica.version(), 5U);
    EXPECT_EQ(give(replica, 9, 3.0F, 0, 2), Taken::fresh);
    EXPECT_EQ(replica.version(), 6U);
    EXPECT_EQ(replica.weights()[3], 3.0F);
    EXPECT_EQ(replica.weights()[4], 2.0F);
    // Another cut: what is held stays, as old as it was.
    EXPECT_EQ(give(replica, 7, 4.0F), Taken::fresh);
    EXPECT_EQ(replica.version(), 7U);
}

TEST(Replica, RejectsWhatDoesNotFitTheModel) {
    Replica replica(8);
    const std::vector<std::uint64_t> lanes(3);
    EXPECT_EQ(replica.take({}, lanes).error(), Reject::wrong_lanes);
    EXPECT_EQ(replica.take({.segments = 9}, lanes).error(), Reject::wrong_segment);
    EXPECT_EQ(replica.take({}, {}), Taken::nothing) << "an ACK may be without weights";
    EXPECT_FALSE(replica.complete());
}

} // namespace
} // namespace olaf::test::worker_test
