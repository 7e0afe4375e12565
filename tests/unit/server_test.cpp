// SPDX-License-Identifier: BSD-2-Clause
// The parameter server: its clusters, workers and rules, loss, damage and strangers, and with
// workers over real sockets.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include <olaf/cluster.hpp>
#include <olaf/rules.hpp>
#include <olaf/worker_table.hpp>

#include "loopback.hpp"

namespace olaf::test::server_test {
namespace {

// The parameter server: its clusters, its workers, and loss, damage and strangers.

// What a parameter server does with an update, without sockets.

constexpr std::int64_t kNow = 1'000'000;

// An aggregate of `gradients` as the queue would fold it.
struct Aggregate {
    Update header;
    std::vector<std::uint64_t> lanes; // checksum lane last

    Aggregate(Format format, double scale, const std::vector<std::vector<float>> &gradients,
              double reward_sum = 0)
        : lanes(lanes_for(format, gradients[0].size()) + 1) {
        for (const auto &gradient : gradients) {
            std::vector<std::uint64_t> one(lanes.size());
            const auto data = std::span(one).first(one.size() - 1);
            EXPECT_TRUE(pack({.format = format, .scale = scale}, gradient, data));
            one.back() = checksum(data);
            for (std::size_t i = 0; i < lanes.size(); i++)
                lanes[i] += one[i];
        }
        header = {.count = static_cast<std::uint32_t>(gradients.size()),
                  .generated_ns = kNow - 500,
                  .reward = to_reward(reward_sum, 1),
                  .model_version = 1,
                  .lanes = static_cast<std::uint16_t>(lanes.size()),
                  .format = format};
    }
};

ClusterSettings settings() {
    return {
        .weights = {1.0F, 2.0F, 3.0F}, .scale = 64.0, .rule = async_sgd_rule(1.0), .max_series = 2};
}

class ClusterTest : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, ClusterTest,
                         testing::Values(Format::i32x2, Format::i16x4, Format::i64x1),
                         [](const auto &info) { return std::string(name(info.param)); });

TEST_P(ClusterTest, AppliesAVerifiedAggregate) {
    auto cluster = Cluster::make(settings());
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
    auto cluster = Cluster::make(settings());
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
    auto cluster = Cluster::make(limited);
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
    auto trusting = Cluster::make(limited);
    ASSERT_TRUE(trusting);
    EXPECT_TRUE(trusting->apply(bare.header, bare.lanes, kNow));
}

TEST(Cluster, TheRuleDecidesWhetherTheVersionMoves) {
    auto watched = settings();
    Contribution seen;
    watched.rule = [&seen](const Contribution &update, std::span<float>) {
        seen = update;
        return false;
    };
    auto cluster = Cluster::make(watched);
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
    auto cluster = Cluster::make(settings());
    ASSERT_TRUE(cluster);
    const Aggregate update(Format::i32x2, 64.0, {{0.0F, 0.0F, 0.0F}});
    for (int i = 0; i < 5; i++)
        ASSERT_TRUE(cluster->apply(update.header, update.lanes, kNow + i));
    EXPECT_EQ(cluster->series().size(), 2U);
    EXPECT_EQ(cluster->stats().unrecorded, 3U);
    EXPECT_EQ(cluster->stats().worst_lag, 4U);
    EXPECT_EQ(cluster->stats().total_lag, 0U + 1 + 2 + 3 + 4);
}

TEST(Cluster, CountsTheLagOfEveryUpdateInAnAggregateAndNoneOfAServerBeforeIt) {
    auto cluster = Cluster::make(settings());
    ASSERT_TRUE(cluster);
    Aggregate update(Format::i32x2, 64.0, {{0.0F, 0.0F, 0.0F}, {0.0F, 0.0F, 0.0F}});
    update.header.model_version = cluster->version() - 3;
    ASSERT_TRUE(cluster->apply(update.header, update.lanes, kNow));
    EXPECT_EQ(cluster->stats().total_lag, 2U * 3);
    update.header.model_version = 1'000'000; // this server was restarted
    ASSERT_TRUE(cluster->apply(update.header, update.lanes, kNow));
    EXPECT_EQ(cluster->stats().total_lag, 2U * 3);
    EXPECT_EQ(cluster->stats().worst_lag, 3U);
}

TEST(Cluster, RefusesSettingsThatCannotWork) {
    auto bad = settings();
    bad.weights.clear();
    EXPECT_FALSE(Cluster::make(bad));
    bad = settings();
    bad.rule = {};
    EXPECT_FALSE(Cluster::make(bad));
    bad = settings();
    bad.scale = -1.0;
    EXPECT_FALSE(Cluster::make(bad));
}

TEST(WorkerTable, CountsWhatWasPassedOver) {
    WorkerTable table(8);
    const Address address;
    for (const std::uint32_t sequence : {0xfffffffeU, 0xffffffffU, 2U, 2U, 3U, 1U, 7U})
        table.count(5, address, sequence);
    const KnownWorker &known = table.all().at(5);
    EXPECT_EQ(known.last_sequence, 7U);
    EXPECT_EQ(known.seen, 6U) << "the second 2 is another segment; 1 is late, but an update";
    EXPECT_EQ(known.missed, 2U + 3U) << "0 and 1, then 4 to 6";
}

TEST(WorkerTable, ForgetsWhoWasSilentForLongest) {
    WorkerTable table(2);
    const Address address;
    table.remember(1, address);
    table.remember(2, address);
    table.remember(1, address);
    table.remember(3, address);
    EXPECT_TRUE(table.all().contains(1));
    EXPECT_FALSE(table.all().contains(2));
    EXPECT_TRUE(table.all().contains(3));
}

// Loss, damage and strangers at the parameter server.

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
    const auto good = encode(Update{.lanes = 3});
    const std::size_t whole = message_size(3);
    auto other_action = encode(Join{});
    other_action.count_be = 0;
    struct Fault {
        Reject reason;
        olaf_header header;
        std::size_t bytes;
        std::uint64_t lane = 0; // zero lanes have checksum zero
    };
    const Fault faults[] = {
        {Reject::too_short, good, 47},
        {Reject::wrong_length, good, whole - 1},
        // Right but for the bytes behind the longest message, which the kernel cuts off.
        {Reject::wrong_length, encode(Update{.lanes = OLAF_MAX_LANES}), sizeof(Frame)},
        {Reject::wrong_checksum, good, whole, 1},
        {Reject::unknown_cluster, encode(Update{.cluster = 1, .lanes = 3}), whole},
        {Reject::wrong_count, encode(Update{.count = OLAF_DEFAULT_MAX_COUNT + 1, .lanes = 3}),
         whole},
        {Reject::wrong_lanes, encode(Update{.lanes = 4}), message_size(4)},
        {Reject::wrong_type, encode(Ack{}), message_size(0)},
        {Reject::wrong_type, other_action, message_size(0)},
    };
    const auto send = [&](const Fault &message) {
        Frame frame{};
        frame.header = message.header;
        frame.lanes[1] = message.lane;
        socket.send(std::as_bytes(std::span(&frame, 1)).first(message.bytes), to);
        handle(server, 1);
    };
    for (const Fault &fault : faults) {
        const auto before = server.stats().rejected[fault.reason];
        send(fault);
        EXPECT_EQ(server.stats().rejected[fault.reason], before + 1) << name(fault.reason);
    }
    EXPECT_EQ(server.stats().rejected.total(), std::size(faults));
    EXPECT_EQ(server.cluster(0)->stats().messages, 0U);
    EXPECT_TRUE(server.cluster(0)->workers().all().empty());
    EXPECT_EQ(server.stats().acks_sent, 0U);

    send({{}, good, whole});
    EXPECT_EQ(server.cluster(0)->stats().messages, 1U);
    Frame frame;
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

TEST(PaperRule, GatesOnRewardAndAveragesGradients) {
    const Rule rule = paper_rule(0.5);
    std::vector<float> weights = {0.0F};
    const auto deliver = [&](float gradient, double reward) {
        return rule({.mean_gradient = {&gradient, 1}, .slice = {0, 1}, .mean_reward = reward},
                    weights);
    };
    EXPECT_TRUE(deliver(4.0F, -100.0)) << "any reward is above minus infinity";
    EXPECT_EQ(weights[0], 2.0F) << "g_a = 4";
    EXPECT_FALSE(deliver(100.0F, -100.0)) << "not above the stored reward";
    EXPECT_FALSE(deliver(100.0F, -101.0));
    EXPECT_EQ(weights[0], 2.0F);
    EXPECT_TRUE(deliver(0.0F, -99.0));
    EXPECT_EQ(weights[0], 3.0F) << "g_a = (4 + 0) / 2, the rejected gradients left out";
    EXPECT_TRUE(deliver(6.0F, 1.0));
    EXPECT_EQ(weights[0], 5.0F) << "g_a = (2 + 6) / 2";
    EXPECT_FALSE(deliver(6.0F, std::numeric_limits<double>::quiet_NaN()));
}

TEST(PaperRule, SegmentsOfOneUpdateDoNotShutEachOtherOut) {
    const Rule rule = paper_rule(1.0);
    std::vector<float> weights = {0.0F};
    const float gradient = 1.0F;
    Contribution update = {.mean_gradient = {&gradient, 1}, .segments = 2, .mean_reward = 7.0};
    EXPECT_TRUE(rule(update, weights));
    EXPECT_FALSE(rule(update, weights));
    update.segment = 1;
    EXPECT_TRUE(rule(update, weights));
}

TEST(PaperRule, CopiesShareNothing) {
    const Rule first = paper_rule(1.0);
    std::vector<float> weights = {0.0F};
    const float gradient = 1.0F;
    const Contribution update = {.mean_gradient = {&gradient, 1}, .mean_reward = 7.0};
    const Rule second = first; // NOLINT: the copy is the point
    EXPECT_TRUE(first(update, weights));
    EXPECT_TRUE(second(update, weights));
}

TEST(AsyncSgd, AnAggregateStepsAsFarAsItsUpdates) {
    const Rule rule = async_sgd_rule(0.25);
    const std::vector<float> gradients = {1.0F, 2.0F, 6.0F};
    std::vector<float> one_by_one = {10.0F}, at_once = {10.0F};
    for (const float &gradient : gradients)
        EXPECT_TRUE(rule({.mean_gradient = {&gradient, 1}, .count = 1}, one_by_one));
    const float mean = 3.0F;
    EXPECT_TRUE(rule({.mean_gradient = {&mean, 1}, .count = 3, .mean_reward = -1e9}, at_once));
    EXPECT_EQ(one_by_one[0], 12.25F);
    EXPECT_EQ(at_once, one_by_one);
}

// Worker and parameter server over real sockets.

class Loopback : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, Loopback, testing::Values("127.0.0.1", "::1"),
                         [](const auto &info) {
                             return std::string(info.param == "::1" ? "ipv6" : "ipv4");
                         });

TEST_P(Loopback, AWorkerJoinsPushesAndLearns) {
    ParameterServer server = make_server(GetParam());
    ASSERT_TRUE(server.add_cluster(
        {.cluster = 3, .weights = {1.0F, 2.0F, 3.0F}, .rule = async_sgd_rule(0.5)}));
    Worker worker = make_worker(server, {.cluster = 3, .worker = 9, .elements = 3});
    EXPECT_FALSE(worker.has_weights());
    EXPECT_EQ(worker.poll().value(), false);

    ASSERT_TRUE(worker.join());
    handle(server, 1);
    ASSERT_TRUE(worker.wait(kSoon).value());
    EXPECT_TRUE(worker.has_weights());
    EXPECT_EQ(copy(worker.weights()), (std::vector<float>{1.0F, 2.0F, 3.0F}));
    EXPECT_EQ(worker.model_version(), 1U);

    const std::vector<float> gradient = {2.0F, -4.0F, 0.25F};
    const auto pushed = worker.push(gradient, 10.0, worker.model_version());
    ASSERT_TRUE(pushed);
    EXPECT_EQ(pushed->sequence, 1U);
    EXPECT_EQ(pushed->segments, 1U);
    handle(server, 1);
    ASSERT_TRUE(worker.wait(kSoon).value());
    EXPECT_EQ(copy(worker.weights()), (std::vector<float>{2.0F, 0.0F, 3.125F}));
    EXPECT_EQ(worker.model_version(), 2U);
    EXPECT_EQ(worker.feedback().sequence, 1U);
    EXPECT_FALSE(worker.feedback().stamped);
    EXPECT_GT(worker.feedback().received_ns, worker.feedback().generated_ns);

    const Cluster &cluster = *server.cluster(3);
    EXPECT_EQ(cluster.stats().messages, 1U);
    EXPECT_EQ(cluster.stats().joins, 1U);
    EXPECT_TRUE(cluster.aom().started());
    EXPECT_EQ(cluster.workers().all().at(9).seen, 1U);
    EXPECT_EQ(server.stats().acks_sent, 2U);
    EXPECT_EQ(server.stats().rejected.total(), 0U);
}

TEST_P(Loopback, ALargeModelTravelsInSegments) {
    constexpr std::size_t elements = 5003;
    for (const Format format : {Format::i32x2, Format::i16x4, Format::i64x1}) {
        ParameterServer server = make_server(GetParam());
        ASSERT_TRUE(server.add_cluster({.weights = std::vector<float>(elements, 1.0F),
                                        .scale = 32.0,
                                        .rule = async_sgd_rule(1.0)}));
        Worker worker = make_worker(
            server, {.elements = elements, .packing = {.format = format, .scale = 32.0}});
        std::vector<float> gradient(elements), expected(elements);
        for (std::size_t i = 0; i < elements; i++) {
            gradient[i] = (static_cast<float>(i % 191) - 95.0F) / 32.0F;
            expected[i] = 1.0F + gradient[i];
        }
        const auto pushed = worker.push(gradient, 1.0, 0);
        ASSERT_TRUE(pushed);
        EXPECT_EQ(pushed->packing.clipped, 0U);
        EXPECT_EQ(pushed->segments, format == Format::i64x1   ? (GetParam() == "::1" ? 30U : 29U)
                                    : format == Format::i32x2 ? 15U
                                                              : 8U);
        handle(server, pushed->segments);
        EXPECT_EQ(server.cluster(0)->stats().messages, pushed->segments);
        EXPECT_EQ(server.cluster(0)->workers().all().at(0).seen, 1U) << "one update";
        while (copy(worker.weights()) != expected)
            ASSERT_TRUE(worker.wait(kSoon).value()) << name(format);
        EXPECT_TRUE(worker.has_weights());
        EXPECT_EQ(worker.stats().rejected.total(), 0U);
    }
}

TEST_P(Loopback, EveryKnownWorkerCanBeAnswered) {
    for (const bool to_all : {false, true}) {
        ParameterServer server = make_server(GetParam(), {.ack_all_known_workers = to_all});
        ASSERT_TRUE(server.add_cluster({.weights = {0.0F}, .rule = async_sgd_rule(1.0)}));
        Worker first = make_worker(server, {.worker = 1, .elements = 1});
        Worker second = make_worker(server, {.worker = 2, .elements = 1});
        ASSERT_TRUE(first.join());
        handle(server, 1);
        ASSERT_TRUE(first.wait(kSoon).value());
        const float gradient = 5.0F;
        ASSERT_TRUE(second.push({&gradient, 1}, 0.0, 1));
        handle(server, 1);
        ASSERT_TRUE(second.wait(kSoon).value());
        EXPECT_EQ(second.weights()[0], 5.0F);
        EXPECT_EQ(first.wait(to_all ? std::chrono::nanoseconds(kSoon) : kNever).value(), to_all);
        EXPECT_EQ(first.weights()[0], to_all ? 5.0F : 0.0F);
    }
}

TEST_P(Loopback, AcksToEveryWorkerAreTaken) {
    ParameterServer server = make_server(GetParam(), {.address_every_worker = true});
    ASSERT_TRUE(server.add_cluster({.weights = {7.0F}}));
    Worker worker = make_worker(server, {.worker = 2, .elements = 1});
    ASSERT_TRUE(worker.join());
    handle(server, 1);
    EXPECT_TRUE(worker.wait(kSoon).value());
    EXPECT_EQ(worker.weights()[0], 7.0F);
}

// A worker hears only the address that it sends to, and routing would answer from the first one.
class AnyAddress : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, AnyAddress, testing::Values("0.0.0.0", "::"),
                         [](const auto &info) {
                             return std::string(info.param == "::" ? "ipv6" : "ipv4");
                         });

Worker make_worker_at(const std::string &host, const ParameterServer &server,
                      WorkerOptions options) {
    options.server = Address::resolve(host, server.local_address()->port()).value();
    return Worker::make(options).value();
}

TEST_P(AnyAddress, AnswersFromTheOneThatWasAsked) {
    for (const bool to_all : {false, true}) {
        ParameterServer server = make_server(GetParam(), {.ack_all_known_workers = to_all});
        ASSERT_TRUE(server.add_cluster({.weights = {0.0F}, .rule = async_sgd_rule(1.0)}));
        Worker first = make_worker_at("127.0.0.2", server, {.worker = 1, .elements = 1});
        Worker second = make_worker_at("127.0.0.3", server, {.worker = 2, .elements = 1});
        ASSERT_TRUE(first.join());
        handle(server, 1);
        ASSERT_TRUE(first.wait(kSoon).value()) << "to a join";
        const float gradient = 5.0F;
        ASSERT_TRUE(second.push({&gradient, 1}, 0.0, 1));
        handle(server, 1);
        ASSERT_TRUE(second.wait(kSoon).value()) << "to an update";
        ASSERT_TRUE(second.push({&gradient, 1}, 0.0, 1));
        const auto pending = server.next(kSoon).value();
        ASSERT_TRUE(pending);
        pending->weights[0] = 9.0F;
        server.finish(true);
        ASSERT_TRUE(second.wait(kSoon).value()) << "of a loop";
        EXPECT_EQ(second.weights()[0], 9.0F);
        while (to_all && first.weights()[0] != 9.0F)
            ASSERT_TRUE(first.wait(kSoon).value()) << "to all";
        EXPECT_EQ(server.stats().acks_unsent, 0U);
    }
}

TEST(Server, KeepsClustersApart) {
    ParameterServer server = make_server("127.0.0.1");
    ASSERT_TRUE(server.add_cluster({.cluster = 1, .weights = {1.0F}, .rule = async_sgd_rule(1.0)}));
    ASSERT_TRUE(server.add_cluster({.cluster = 2, .weights = {2.0F}, .rule = async_sgd_rule(1.0)}));
    EXPECT_FALSE(server.add_cluster({.cluster = 2, .weights = {3.0F}}));
    Worker worker = make_worker(server, {.cluster = 2, .elements = 1});
    const float gradient = 10.0F;
    ASSERT_TRUE(worker.push({&gradient, 1}, 0.0, 0));
    handle(server, 1);
    EXPECT_EQ(server.cluster(1)->weights()[0], 1.0F);
    EXPECT_EQ(server.cluster(2)->weights()[0], 12.0F);
    EXPECT_EQ(server.cluster(3), nullptr);
}

TEST(Server, ServesUntilAskedToStop) {
    ParameterServer server = make_server("127.0.0.1");
    ASSERT_TRUE(server.add_cluster({.weights = {1.0F}}));
    Worker worker = make_worker(server, {.elements = 1});
    std::jthread thread([&server](const std::stop_token &stop) {
        const auto served = server.serve(stop);
        EXPECT_TRUE(served);
    });
    ASSERT_TRUE(worker.join());
    EXPECT_TRUE(worker.wait(kSoon).value());
    thread.request_stop();
    thread.join();
}

TEST(Server, GivesUpdatesOneByOneToALoop) {
    ParameterServer server = make_server("127.0.0.1");
    ASSERT_TRUE(server.add_cluster({.cluster = 6,
                                    .weights = {1.0F, 2.0F},
                                    .rule = [](const Contribution &, std::span<float>) -> bool {
                                        throw std::logic_error("the rule isn't asked");
                                    }}));
    Worker worker = make_worker(server, {.cluster = 6, .worker = 3, .elements = 2});
    EXPECT_FALSE(server.next(kNever).value());
    ASSERT_TRUE(worker.join());
    const std::vector<float> gradient = {0.5F, -1.0F};
    for (int i = 0; i < 3; i++)
        ASSERT_TRUE(worker.push(gradient, 8.0, 1));

    const auto first = server.next(kSoon).value();
    ASSERT_TRUE(worker.wait(kSoon).value()) << "the join was answered meanwhile";
    ASSERT_TRUE(first);
    EXPECT_EQ(first->cluster, 6U);
    EXPECT_EQ(first->contribution.worker, 3U);
    EXPECT_EQ(first->contribution.mean_reward, 8.0);
    EXPECT_EQ(first->contribution.mean_gradient[1], -1.0F);
    first->weights[0] = 10;
    EXPECT_FALSE(worker.wait(kNever).value()) << "not answered yet";
    server.finish(true);
    ASSERT_TRUE(worker.wait(kSoon).value());
    EXPECT_EQ(copy(worker.weights()), (std::vector<float>{10.0F, 2.0F}));
    EXPECT_EQ(worker.model_version(), 2U);
    EXPECT_EQ(worker.report().answered, 1U);

    ASSERT_TRUE(server.next(kSoon).value());
    ASSERT_TRUE(server.next(kSoon).value()) << "the second counts as unchanged";
    server.finish(false);
    server.finish(true); // nothing to finish
    EXPECT_EQ(server.cluster(6)->version(), 2U);
    EXPECT_EQ(server.cluster(6)->stats().messages, 3U);
    EXPECT_EQ(server.cluster(6)->stats().applied, 1U);
    EXPECT_EQ(server.cluster(6)->workers().all().at(3).seen, 3U);
    EXPECT_EQ(server.stats().datagrams, 4U);
    EXPECT_EQ(server.stats().acks_sent, 4U);
}

TEST(Server, ALoopMayLeaveTheRestToReceive) {
    ParameterServer server = make_server("127.0.0.1");
    ASSERT_TRUE(server.add_cluster({.weights = {0.0F}, .rule = async_sgd_rule(1.0)}));
    Worker worker = make_worker(server, {.elements = 1});
    const float gradient = 1.0F;
    for (int i = 0; i < 3; i++)
        ASSERT_TRUE(worker.push({&gradient, 1}, 0.0, 0));
    ASSERT_TRUE(server.next(kSoon).value());
    EXPECT_EQ(server.receive(kSoon).value(), 2U) << "of the same batch";
    EXPECT_EQ(server.cluster(0)->weights()[0], 2.0F);
    EXPECT_EQ(server.cluster(0)->stats().messages, 3U);
}

TEST(Server, AWildcardServesBothFamilies) {
    ParameterServer server = make_server("::");
    ASSERT_TRUE(server.add_cluster({.weights = {1.0F}}));
    const std::uint16_t port = server.local_address()->port();
    for (const char *host : {"127.0.0.1", "::1"}) {
        auto worker = Worker::make({.server = Address::resolve(host, port).value(), .elements = 1});
        ASSERT_TRUE(worker);
        ASSERT_TRUE(worker->join());
        handle(server, 1);
        EXPECT_TRUE(worker->wait(kSoon).value()) << host;
    }
}

} // namespace
} // namespace olaf::test::server_test
