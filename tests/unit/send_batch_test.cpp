// SPDX-License-Identifier: BSD-2-Clause
// Messages that are handed to the kernel in one piece arrive one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <olaf/message.hpp>

#include "endpoints/wire/receive_batch.hpp"
#include "endpoints/wire/send_batch.hpp"
#include "tests/patience.hpp"

namespace olaf::test::send_batch_test {
namespace {

struct SendBatchTest : testing::TestWithParam<const char *> {
    /// A message whose lanes all say its number.
    void add(std::uint32_t number, std::size_t lanes, bool joins = true) {
        olaf_header header{};
        header.sequence_be = number;
        sent.push_back({header, std::vector<std::uint64_t>(lanes, number)});
        batch.add(header, sent.back().lanes, joins);
    }
    SendBatch::Sent send() { return batch.send(from, patience); }
    /// All messages have arrived, whole and in order, and nothing else.
    void expect_all() {
        ReceiveBatch arrived(kMost);
        std::size_t next = 0;
        while (next < sent.size()) {
            ASSERT_TRUE(to.readable_within(patience).value()) << next << " arrived";
            const auto count = arrived.receive(to).value();
            for (std::size_t i = 0; i < count; i++, next++) {
                const auto &[header, lanes] = sent.at(next);
                ASSERT_EQ(arrived.bytes(i).size(), message_size(lanes.size()));
                EXPECT_EQ(std::memcmp(arrived.bytes(i).data(), &header, sizeof header), 0);
                EXPECT_TRUE(std::ranges::equal(arrived.lanes(i, lanes.size()), lanes));
            }
        }
        EXPECT_FALSE(to.readable_within(std::chrono::nanoseconds(0)).value());
        sent.clear();
    }

    struct Message {
        olaf_header header;
        std::vector<std::uint64_t> lanes;
    };
    static constexpr std::size_t kMost = 100;
    std::vector<Message> sent;
    UdpSocket to = UdpSocket::bound_to(Address::resolve(GetParam(), 0).value(), {}).value();
    UdpSocket from = UdpSocket::connected_to(to.local().value(), {}).value();
    SendBatch batch{kMost};
};

TEST_P(SendBatchTest, NeighboursOfOneLengthLeaveInOnePiece) {
    for (std::uint32_t number = 0; number < 30; number++)
        add(number, 100);
    EXPECT_EQ(send().joined, 30U);
    expect_all();
}

TEST_P(SendBatchTest, OthersLeaveByThemselvesInTheirOrder) {
    add(0, 100);
    add(1, 50);
    add(2, 50);
    add(3, 50, false);
    add(4, 50);
    add(5, 0);
    add(6, 0);
    EXPECT_EQ(send().joined, 4U) << "1 and 2; 5 and 6";
    expect_all();
}

TEST_P(SendBatchTest, APieceIsNoLongerThanAPacketMayBe) {
    for (std::uint32_t number = 0; number < 20; number++)
        add(number, 1000); // 8,048 bytes
    EXPECT_EQ(send().joined, 20U);
    expect_all();
}

TEST_P(SendBatchTest, APieceHasNoMoreMessagesThanAnyKernelTakes) {
    for (std::uint32_t number = 0; number < kMost; number++)
        add(number, 1);
    EXPECT_TRUE(batch.is_full());
    EXPECT_EQ(send().joined, kMost);
    expect_all();
}

TEST_P(SendBatchTest, IsEmptyAfterwards) {
    add(0, 1);
    send();
    add(1, 1);
    EXPECT_EQ(send().joined, 0U);
    expect_all();
}

/// The kernel cuts nothing for a socket that wants no checksums.
TEST_P(SendBatchTest, WhereTheHostCanNotCutEachMessageIsSentByItself) {
    const int on = 1;
    setsockopt(from.fd(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on);   // over IPv4
    setsockopt(from.fd(), SOL_UDP, UDP_NO_CHECK6_TX, &on, sizeof on); // over IPv6
    setsockopt(to.fd(), SOL_UDP, UDP_NO_CHECK6_RX, &on, sizeof on);
    for (std::uint32_t number = 0; number < 5; number++)
        add(number, 10);
    const auto told = send();
    EXPECT_TRUE(told.cannot_cut);
    EXPECT_EQ(told.joined, 0U);
    EXPECT_EQ(told.unsent, 0U);
    EXPECT_EQ(told.last_errno, 0);
    expect_all();
}

/// Longer than the loopback device's MTU.
TEST_P(SendBatchTest, WhatIsTooLongIsLostMessageByMessage) {
    for (std::uint32_t number = 0; number < 3; number++)
        add(number, 8188);
    const auto told = send();
    EXPECT_EQ(told.unsent, 3U);
    EXPECT_EQ(told.last_errno, EMSGSIZE);
}

INSTANTIATE_TEST_SUITE_P(Over, SendBatchTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto &info) { return info.param[0] == ':' ? "Ipv6" : "Ipv4"; });

} // namespace
} // namespace olaf::test::send_batch_test
