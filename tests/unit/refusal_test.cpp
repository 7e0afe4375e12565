// SPDX-License-Identifier: BSD-2-Clause
// What a worker is told where something refuses what it sends.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <olaf/round_server.hpp>

#include "endpoints/wire/refusal.hpp"
#include "endpoints/wire/round_message.hpp"
#include "round_server.hpp"

namespace olaf::test::refusal_test {
namespace {

using std::chrono::milliseconds;

/// An address where nobody listens just now.
Address address_of_nobody() {
    return RawSocket(Address::resolve("127.0.0.1", 0).value()).address();
}

TEST(CollectiveRefused, WhereNobodyListensIsToldAtTheTimeoutAndNotBefore) {
    const Address node = address_of_nobody();
    constexpr milliseconds timeout(150);
    auto collective =
        Collective::make({.node = node, .job = 5, .workers = 2, .run = "test", .timeout = timeout});
    const auto began = std::chrono::steady_clock::now();
    const auto started = collective.value().start();
    EXPECT_GE(std::chrono::steady_clock::now() - began, timeout);
    expect_fails(started, "the node hasn't answered at all");
    expect_fails(started, "nothing listens at that address and port: ICMP port unreachable came "
                          "from 127.0.0.1");
    expect_fails(started, "see that a queue with job 5 is attached at " + node.text());
    EXPECT_EQ(started.error().code, ETIMEDOUT);
}

TEST(CollectiveRefused, WhatANodeSaysAfterwardsCountsMore) {
    const Address at = address_of_nobody();
    std::optional<LoopbackNode> node;
    unsigned looks = 0;
    auto collective =
        Collective::make({.node = at,
                          .job = 5,
                          .workers = 2,
                          .run = "test",
                          .lanes = 9,
                          .timeout = milliseconds(800),
                          .interrupted =
                              [&] {
                                  if (++looks == 2) // some questions are refused by then
                                      node.emplace(model::RoundSetup{.children = 2, .max_count = 2},
                                                   model::RoundShape{.job = 5}, 0, 1, at);
                                  return false;
                              }})
            .value();
    const auto started = collective.start();
    expect_fails(started, "rank 1 hasn't asked where to begin yet");
    EXPECT_EQ(started.error().message().find("nothing listens"), std::string::npos)
        << started.error().message();
}

TEST(CollectiveRefused, ByANodeThatHasGoneIsToldToo) {
    std::optional<LoopbackNode> node(std::in_place,
                                     model::RoundSetup{.children = 1, .max_count = 1},
                                     model::RoundShape{.job = 5});
    auto collective = Collective::make({.node = node->address(),
                                        .job = 5,
                                        .workers = 1,
                                        .run = "test",
                                        .lanes = 9,
                                        .timeout = milliseconds(150)})
                          .value();
    ASSERT_TRUE(collective.start());
    node.reset();
    std::vector<std::int64_t> vector(20);
    expect_fails(collective.allreduce(std::span(vector)), "nothing listens at that address");
}

/// A question of a worker of another release.
std::vector<std::byte> question_of_version(std::uint8_t version) {
    const JobSync question{.job = 5, .incarnation = 1, .run = {.training = 1, .number = 0}};
    const auto lanes = lanes_of(question);
    olaf_header header = encode(question);
    header.version = version;
    std::vector<std::byte> bytes(sizeof header + lanes.size() * sizeof(std::uint64_t));
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, lanes.data(), bytes.size() - sizeof header);
    return bytes;
}

TEST(CollectiveRefused, ByANodeOfAnotherVersionThatIsTold) {
    const RawSocket node(Address::resolve("127.0.0.1", 0).value());
    const std::jthread answers([&] {
        Frame frame;
        const auto worker = node.receive(frame).second;
        olaf_header answer = version_answer(question_of_version(3)).value();
        answer.version = 3;
        node.send(std::as_bytes(std::span(&answer, 1)), worker);
    });
    auto collective = Collective::make({.node = node.address(),
                                        .job = 5,
                                        .workers = 2,
                                        .run = "test",
                                        .timeout = milliseconds(150)});
    const auto started = collective.value().start();
    expect_fails(started, "the node speaks version 3 of the protocol, this process version 2");
    expect_fails(started, "install the same release of Olaf at the node and at every worker");
}

TEST(RoundServerRefuses, AQuestionOfAnotherVersionAndTellsItsOwn) {
    auto server = RoundServer::make({.bind = Address::resolve("127.0.0.1", 0).value(),
                                     .job = 5,
                                     .children = 1,
                                     .workers = 1,
                                     .lanes = 9},
                                    {1.0F}, [](const RoundSum &, std::span<float>) {})
                      .value();
    const RawSocket worker(Address::resolve("127.0.0.1", 0).value());
    worker.send(question_of_version(3), server.local_address().value());
    ASSERT_EQ(server.receive(kSoon).value(), 1U);
    Frame frame;
    const auto [size, from] = worker.receive(frame);
    const std::span answer = std::as_bytes(std::span(&frame, 1)).first(size);
    EXPECT_EQ(version_of(answer), OLAF_ROUNDS_VERSION);
    EXPECT_FALSE(version_answer(answer)) << "two nodes would answer each other for ever";
    EXPECT_EQ(server.stats().rejected[Reject::wrong_version], 1U);
}

TEST(Refusal, SaysWhoRefusesAndWhatToLookAt) {
    const Address node = Address::resolve("192.0.2.1").value();
    const Address router = Address::resolve("192.0.2.9", 0).value();
    const Address router6 = Address::resolve("2001:db8::9", 0).value();
    EXPECT_EQ(in_words({.code = ECONNREFUSED, .from = router6}),
              "nothing listens at that address and port: ICMP port unreachable came from "
              "2001:db8::9");
    EXPECT_EQ(in_words({.code = EHOSTUNREACH, .from = router}),
              "nobody has that address: ICMP host unreachable came from 192.0.2.9");
    EXPECT_EQ(in_words({.code = ENETUNREACH, .from = router}),
              "no way leads there: ICMP network unreachable came from 192.0.2.9");
    EXPECT_EQ(in_words({.code = EHOSTUNREACH, .is_prohibited = true, .from = router}),
              "a firewall on the way refuses it: ICMP administratively prohibited came from "
              "192.0.2.9");
    EXPECT_EQ(in_words({.code = EPERM}), "a firewall on this host refuses what is sent (EPERM)");
    EXPECT_NE(remedy_of({.code = EPERM}, 5, node).find("leave this host (nft list ruleset"),
              std::string::npos);
    EXPECT_NE(remedy_of({.code = EHOSTUNREACH, .from = router}, 5, node)
                  .find("see that 192.0.2.1:6523 is the node's address"),
              std::string::npos);
}

} // namespace
} // namespace olaf::test::refusal_test
