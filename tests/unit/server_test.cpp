// SPDX-License-Identifier: BSD-2-Clause
// The parameter server: its clusters, its workers, and loss, damage and strangers.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <olaf/cluster.hpp>
#include <olaf/worker_table.hpp>

#include "loopback.hpp"

namespace olaf::test::server_test {
namespace {

// What a parameter server does with an update, without sockets.

constexpr std::int64_t kNow = 1'000'000;

// An aggregate of `gradients` as the queue would fold it.
struct Aggregate {
    olaf::Update header;
    std::vector<std::uint64_t> lanes; // checksum lane last

    Aggregate(Format format, double scale, const std::vector<std::vector<float>> &gradients,
              double reward_sum = 0)
        : lanes(olaf::lanes_for(format, gradients[0].size()) + 1) {
        for (const auto &gradient : gradients) {
            std::vector<std::uint64_t> one(lanes.size());
            const auto data = std::span(one).first(one.size() - 1);
            EXPECT_TRUE(olaf::pack({.format = format, .scale = scale}, gradient, data));
            one.back() = olaf::checksum(data);
            for (std::size_t i = 0; i < lanes.size(); i++)
                lanes[i] += one[i];
        }
        header = {.count = static_cast<std::uint32_t>(gradients.size()),
                  .generated_ns = kNow - 500,
                  .reward = olaf::to_reward(reward_sum, 1),
                  .model_version = 1,
                  .lanes = static_cast<std::uint16_t>(lanes.size()),
                  .format = format};
    }
};

olaf::ClusterSettings settings() {
    return {.weights = {1.0F, 2.0F, 3.0F},
            .scale = 64.0,
            .rule = olaf::async_sgd_rule(1.0),
            .max_series = 2};
}

class ClusterTest : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, ClusterTest,
                         testing::Values(Format::i32x2, Format::i16x4, Format::i64x1),
                         [](const auto &info) { return std::string(olaf::name(info.param)); });

TEST_P(ClusterTest, AppliesAVerifiedAggregate) {
    auto cluster = olaf::Cluster::make(settings());
    ASSERT_TRUE(cluster);
    const Aggregate update(GetParam(), 64.0, {{1.0F, -1.0F, 0.5F}, {0.25F, -1.0F, 0.5F}}, 6.0);
    const auto slice = cluster->apply(update.header, update.lanes, kNow);
    ASSERT_TRUE(slice);
    EXPECT_EQ(slice->size(), 3U);
    EXPECT_EQ(std::vector<float>(cluster->weights().begin(), cluster->weights().end()),
              (std::vector<float>{2.25F, 0.0F, 4.0F}));
    EXPECT_EQ(cluster->version(), 2U);
    EXPECT_EQ(cluster->stats().messages, 1U);
    EXPECT_EQ(cluster->stats().folded, 2U);
    EXPECT_EQ(cluster->aom().age_ns(kNow), 500);
    ASSERT_EQ(cluster->series().size(), 1U);
    EXPECT_EQ(cluster->series()[0].time_ns, kNow);
    EXPECT_EQ(cluster->series()[0].aom_after_ns, 500);
    EXPECT_EQ(cluster->series()[0].mean_reward, 3.0);
    EXPECT_EQ(cluster->series()[0].count, 2U);
    EXPECT_EQ(cluster->series()[0].model_version, 2U);
}

TEST_P(ClusterTest, RejectsADamagedAggregate) {
    const Aggregate update(GetParam(), 64.0, {{1.0F, -1.0F, 0.5F}});
    auto cluster = olaf::Cluster::make(settings());
    ASSERT_TRUE(cluster);
    for (std::size_t lane = 0; lane < update.lanes.size(); lane++) {
        auto damaged = update.lanes;
        damaged[lane] ^= 1;
        EXPECT_EQ(cluster->apply(update.header, damaged, kNow).error(), Reject::wrong_checksum);
    }
    EXPECT_EQ(cluster->stats().rejected[Reject::wrong_checksum], update.lanes.size());
    EXPECT_EQ(cluster->weights()[0], 1.0F) << "nothing was applied";
    EXPECT_EQ(cluster->version(), 1U);
    EXPECT_FALSE(cluster->aom().started());
}

TEST(Cluster, RejectsWhatDoesNotFitItsSettings) {
    auto limited = settings();
    limited.max_count = 2;
    auto cluster = olaf::Cluster::make(limited);
    ASSERT_TRUE(cluster);
    const std::vector<float> g = {1.0F, 1.0F, 1.0F};
    const auto reason = [&](const Aggregate &update) {
        return cluster->apply(update.header, update.lanes, kNow).error();
    };
    EXPECT_EQ(reason(Aggregate(Format::i32x2, 64.0, {g, g, g})), Reject::wrong_count);
    EXPECT_EQ(reason(Aggregate(Format::i32x2, 64.0, {{1.0F}})), Reject::wrong_lanes);
    Aggregate cut(Format::i32x2, 64.0, {g});
    cut.header.segments = 2;
    EXPECT_EQ(reason(cut), Reject::wrong_segment) << "the second would be empty";
    Aggregate bare(Format::i32x2, 64.0, {g});
    bare.lanes.pop_back();
    bare.header.lanes--;
    bare.header.has_checksum = false;
    EXPECT_EQ(reason(bare), Reject::wrong_checksum);
    EXPECT_EQ(cluster->stats().rejected.total(), 4U);
    EXPECT_EQ(cluster->stats().messages, 0U);

    limited.require_checksum = false;
    auto trusting = olaf::Cluster::make(limited);
    ASSERT_TRUE(trusting);
    EXPECT_TRUE(trusting->apply(bare.header, bare.lanes, kNow));
}

TEST(Cluster, TheRuleDecidesWhetherTheVersionMoves) {
    auto watched = settings();
    olaf::Contribution seen;
    watched.rule = [&seen](const olaf::Contribution &update, std::span<float>) {
        seen = update;
        return false;
    };
    auto cluster = olaf::Cluster::make(watched);
    ASSERT_TRUE(cluster);
    const Aggregate update(Format::i16x4, 64.0, {{1.0F, 0.0F, 0.0F}, {0.0F, 0.0F, 0.0F}}, 3.0);
    ASSERT_TRUE(cluster->apply(update.header, update.lanes, kNow));
    EXPECT_EQ(seen.count, 2U);
    EXPECT_EQ(seen.mean_reward, 1.5);
    EXPECT_EQ(cluster->version(), 1U);
    EXPECT_EQ(cluster->stats().applied, 0U);
    EXPECT_TRUE(cluster->aom().started()) << "it was delivered all the same";
}

TEST(Cluster, RecordsABoundedSeries) {
    auto cluster = olaf::Cluster::make(settings());
    ASSERT_TRUE(cluster);
    const Aggregate update(Format::i32x2, 64.0, {{0.0F, 0.0F, 0.0F}});
    for (int i = 0; i < 5; i++)
        ASSERT_TRUE(cluster->apply(update.header, update.lanes, kNow + i));
    EXPECT_EQ(cluster->series().size(), 2U);
    EXPECT_EQ(cluster->stats().unrecorded, 3U);
    EXPECT_EQ(cluster->stats().worst_lag, 4U);
}

TEST(Cluster, RefusesSettingsThatCannotWork) {
    auto bad = settings();
    bad.weights.clear();
    EXPECT_FALSE(olaf::Cluster::make(bad));
    bad = settings();
    bad.rule = {};
    EXPECT_FALSE(olaf::Cluster::make(bad));
    bad = settings();
    bad.scale = -1.0;
    EXPECT_FALSE(olaf::Cluster::make(bad));
}

TEST(WorkerTable, CountsWhatWasPassedOver) {
    olaf::WorkerTable table(8);
    const olaf::Address address;
    for (const std::uint32_t sequence : {0xfffffffeU, 0xffffffffU, 2U, 2U, 3U, 1U, 7U})
        table.count(5, address, sequence);
    const olaf::KnownWorker &known = table.all().at(5);
    EXPECT_EQ(known.last_sequence, 7U);
    EXPECT_EQ(known.seen, 6U) << "the second 2 is another segment; 1 is late, but an update";
    EXPECT_EQ(known.missed, 2U + 3U) << "0 and 1, then 4 to 6";
}

TEST(WorkerTable, ForgetsWhoWasSilentForLongest) {
    olaf::WorkerTable table(2);
    const olaf::Address address;
    table.remember(1, address);
    table.remember(2, address);
    table.remember(1, address);
    table.remember(3, address);
    EXPECT_TRUE(table.all().contains(1));
    EXPECT_FALSE(table.all().contains(2));
    EXPECT_TRUE(table.all().contains(3));
}

// Loss, damage and strangers at the parameter server.

std::span<const std::byte> bytes(const Frame &frame, std::size_t lanes) {
    return frame.bytes(message_size(lanes));
}

TEST(ServerFaults, LostUpdatesShowAsGaps) {
    ParameterServer server = make_server("127.0.0.1");
    ASSERT_TRUE(server.add_cluster({.weights = {0.0F}, .rule = async_sgd_rule(1.0)}));
    RawSocket lossy(Address::resolve("127.0.0.1", 0).value());
    auto worker = Worker::make({.server = lossy.address(), .worker = 6, .elements = 1});
    ASSERT_TRUE(worker);
    for (int i = 1; i <= 5; i++) {
        const float gradient = 1.0F;
        ASSERT_TRUE(worker->push({&gradient, 1}, 0.0, 0));
        Frame frame;
        const auto [size, source] = lossy.receive(frame);
        if (i == 2 || i == 4)
            continue; // lost
        lossy.send(frame.bytes(size), server.local_address().value());
        handle(server, 1);
        (void)lossy.receive(frame); // its ACK
        lossy.send(frame.bytes(message_size(1)), source);
    }
    EXPECT_TRUE(worker->wait(kSoon).value());
    EXPECT_EQ(worker->weights()[0], 3.0F) << "the next ACK brings everything";
    EXPECT_EQ(server.cluster(0)->workers().all().at(6).missed, 2U);
    EXPECT_EQ(server.cluster(0)->stats().folded, 3U);
}

TEST(ServerFaults, MalformedMessagesAreCountedByReasonAndNotAnswered) {
    ParameterServer server = make_server("127.0.0.1");
    ASSERT_TRUE(server.add_cluster({.weights = std::vector<float>(4)}));
    const Address to = server.local_address().value();
    RawSocket socket(Address::resolve("127.0.0.1", 0).value());
    Frame frame{}; // zero lanes have checksum zero
    const Update good = {.lanes = 3};
    const auto send = [&](Update update) {
        frame.header = encode(update);
        socket.send(bytes(frame, update.lanes), to);
    };

    frame.header = encode(good);
    socket.send(frame.bytes(47), to);
    socket.send(frame.bytes(message_size(3) - 1), to);
    // Right but for the bytes behind the longest message, which the kernel cuts off.
    frame.header = encode(Update{.lanes = OLAF_MAX_LANES});
    socket.send(std::as_bytes(std::span(&frame, 1)), to);
    frame.lanes[1] = 1;
    send(good);
    frame.lanes[1] = 0;
    auto bad = good;
    bad.cluster = 1;
    send(bad);
    bad = good;
    bad.count = OLAF_DEFAULT_MAX_COUNT + 1;
    send(bad);
    bad = good;
    bad.lanes = 4;
    send(bad);
    frame.header = encode(Ack{});
    socket.send(bytes(frame, 0), to);
    frame.header = encode(Join{});
    frame.header.count_be = 0; // another CONTROL action
    socket.send(bytes(frame, 0), to);
    handle(server, 9);

    const RejectCounts rejected = server.stats().rejected;
    EXPECT_EQ(rejected[Reject::too_short], 1U);
    EXPECT_EQ(rejected[Reject::wrong_length], 2U);
    EXPECT_EQ(rejected[Reject::wrong_checksum], 1U);
    EXPECT_EQ(rejected[Reject::unknown_cluster], 1U);
    EXPECT_EQ(rejected[Reject::wrong_count], 1U);
    EXPECT_EQ(rejected[Reject::wrong_lanes], 1U);
    EXPECT_EQ(rejected[Reject::wrong_type], 2U);
    EXPECT_EQ(rejected.total(), 9U);
    EXPECT_EQ(server.cluster(0)->stats().messages, 0U);
    EXPECT_TRUE(server.cluster(0)->workers().all().empty());
    EXPECT_EQ(server.stats().acks_sent, 0U);

    send(good);
    handle(server, 1);
    EXPECT_EQ(server.cluster(0)->stats().messages, 1U);
    const auto [size, source] = socket.receive(frame);
    const auto ack = decode_ack(frame.bytes(size));
    ASSERT_TRUE(ack) << "the first answer is to the good one";
    EXPECT_EQ(ack->lanes, 2);
}

TEST(ServerFaults, AnOccupiedPortIsAnError) {
    ParameterServer server = make_server("127.0.0.1");
    const auto second = ParameterServer::make({.bind = server.local_address().value()});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, EADDRINUSE);
}

TEST(ServerFaults, NothingToReceiveIsNoError) {
    ParameterServer server = make_server("127.0.0.1");
    EXPECT_EQ(server.receive(kNever).value(), 0U);
}

} // namespace
} // namespace olaf::test::server_test
