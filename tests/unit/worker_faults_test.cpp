// SPDX-License-Identifier: BSD-2-Clause
// Loss, damage and strangers at the worker.
#include "fake_server.hpp"

namespace olaf::test::worker_faults_test {
namespace {

using namespace olaf;
using namespace olaf::test;

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

} // namespace
} // namespace olaf::test::worker_faults_test
