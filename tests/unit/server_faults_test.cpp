// SPDX-License-Identifier: BSD-2-Clause
// Loss, damage and strangers at the parameter server.
#include "loopback.hpp"

namespace olaf::test::server_faults_test {
namespace {

using namespace olaf;
using namespace olaf::test;

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
} // namespace olaf::test::server_faults_test
