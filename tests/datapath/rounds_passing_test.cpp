// SPDX-License-Identifier: BSD-2-Clause
// A node on the way to its parent: children send to the parent's address, which is no address of the node's host,
// and the node adds in passing. What it says to them comes from that address.
#include <bpf/bpf.h>

#include <cstring>

#include "olaf/own.h"
#include "rounds_tree_test.hpp"

namespace olaf::test::rounds_passing_test {
namespace {

constexpr std::uint8_t parents_host = 2, another_host = 9;

class RoundsInPassing : public RoundsTree {
  protected:
    RoundsInPassing() {
        for (const auto host : {parents_host, another_host})
            disown(host);
    }
    ~RoundsInPassing() override { // the queue is lent to other tests
        for (const auto host : {parents_host, another_host})
            queue.own(Path(GetParam()).target(host).carrying(Update{}));
    }
    Ran pass(const JobMessage &message, std::uint8_t to = parents_host) {
        return offer(message, path_of(message.rank, GetParam()).target(to));
    }
    JobMessage complete_in_passing(std::uint32_t chunk) {
        dropped(pass(contribution(0, chunk)));
        return sent_up(pass(contribution(1, chunk)));
    }
    static void expect_from_parents_address(const Frame &frame) {
        const auto parent = host_of_servers(GetParam(), parents_host);
        const auto *const source = frame.bytes.data() + frame.l3 + (GetParam() == 4 ? 12 : 8);
        EXPECT_EQ(std::memcmp(source, parent.words_be.data(), GetParam() == 4 ? 4 : 16), 0);
    }
    std::uint64_t foreign() { return queue.counters().bypassed[OLAF_BYPASS_FOREIGN]; }

  private:
    void disown(std::uint8_t host) {
        const auto address = host_of_servers(GetParam(), host);
        olaf_own_address key{};
        if (GetParam() == 4) {
            key.words_be[2] = htonl(0xffff);
            key.words_be[3] = address.words_be[0];
        } else {
            std::ranges::copy(address.words_be, key.words_be);
        }
        EXPECT_EQ(bpf_map_delete_elem(queue.queue().map_fd("olaf_own"), &key), 0);
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsInPassing, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsInPassing, WhatIsForTheParentIsAddedHereAndGoesUpAsOne) {
    auto expected = result(own_rank, {0, 1}, 0);
    expected.type = OLAF_CONTRIBUTION;
    expected.generation = parent_generation;
    expected.pool = 0;
    EXPECT_EQ(complete_in_passing(0), expected);
    EXPECT_EQ(counters().added, 2u);
    EXPECT_EQ(foreign(), 0u);
}

TEST_P(RoundsInPassing, ResultsComeFromTheAddressThatChildrenSendTo) {
    complete_in_passing(0);
    // sent_to() compares source and port with where the child's frames go.
    EXPECT_EQ(sent_to(0, tell(parents_result(0)), GetParam()), for_child(0, parents_result(0)));
    EXPECT_EQ(sent_to(1, pass(contribution(0, 1)), GetParam()), for_child(1, parents_result(0)));
    EXPECT_EQ(counters().completed, 1u);
}

TEST_P(RoundsInPassing, TheNodeAnswersWhereToBeginAndAsksItsParentItself) {
    auto waiting = job();
    waiting.state = OLAF_JOB_SYNCING;
    set_job(waiting);
    const auto sync = [&](std::uint32_t rank) {
        return pass({.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = 5, .count = OLAF_CONTROL_SYNC,
                     .generated_ns = 77, .chunks = 0, .generation = 0, .pool = 2});
    };
    const auto answer = sent_back(sync(0));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->message.type, OLAF_CONTROL);
    EXPECT_EQ(answer->message.flags, OLAF_FLAG_ANSWER);
    EXPECT_EQ(answer->message.exponent, OLAF_CONTROL_WAIT);
    EXPECT_EQ(answer->message.rank, 1u) << "who hasn't asked yet";
    expect_from_parents_address(answer->frame);
    EXPECT_EQ(sent_up(sync(1)).rank, own_rank) << "the question is the node's own now";
}

TEST_P(RoundsInPassing, WhatIsForAnotherAddressGoesOn) {
    const auto ran = pass(contribution(0, 0), another_host);
    EXPECT_STREQ(verdict_name(ran.verdict), "XDP_PASS");
    EXPECT_EQ(foreign(), 1u);
    EXPECT_EQ(counters().received, 0u);
}

TEST_P(RoundsInPassing, AResultForTheParentGoesOnAndIsNoneOfThisNodes) {
    complete_in_passing(0);
    auto forged = parents_result(0);
    EXPECT_STREQ(verdict_name(pass(forged).verdict), "XDP_PASS");
    EXPECT_EQ(foreign(), 1u);
    EXPECT_EQ(slot(0).buffer[0].state, OLAF_ROUND_UP);
}

TEST_P(RoundsInPassing, AtTheRootNothingIs) {
    auto root = job();
    root.setup.parent_family = 0;
    set_job(root);
    EXPECT_STREQ(verdict_name(pass(contribution(0, 0)).verdict), "XDP_PASS");
    EXPECT_EQ(foreign(), 1u);
    EXPECT_EQ(counters().received, 0u);
}

} // namespace
} // namespace olaf::test::rounds_passing_test
