// SPDX-License-Identifier: BSD-2-Clause
// Worker and parameter server over real sockets.
#include "loopback.hpp"

#include <stdexcept>
#include <thread>

namespace olaf::test::loopback_test {
namespace {

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
} // namespace olaf::test::loopback_test
