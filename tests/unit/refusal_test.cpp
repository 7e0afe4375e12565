// SPDX-License-Identifier: BSD-2-Clause
// What a worker is told where something refuses what it sends.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "endpoints/wire/refusal.hpp"
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
