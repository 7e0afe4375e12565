// SPDX-License-Identifier: BSD-2-Clause
// Results that no frame will come for: XDP hands TC an order, and TC sends them as clones.
#include <linux/pkt_cls.h>

#include "rounds_test.hpp"
#include "testbed.hpp"

namespace olaf::test::rounds_copies_test {
namespace {

olaf::DatapathConfig config_for(const Testbed &net) {
    auto config = queue_with_rounds();
    config.ifindex = net.near;
    config.mac = net.near_mac;
    return config;
}

class RoundsCopies : protected InTestbed,
                     public RoundsTest,
                     public testing::WithParamInterface<int> {
  protected:
    RoundsCopies() : RoundsTest(three(), config_for(net)), far(net.far) {}
    static olaf_job_setup three() {
        auto setup = small_job();
        setup.children = setup.threshold = 3;
        return setup;
    }
    JobMessage flushing(JobMessage message) {
        message.flags |= OLAF_FLAG_FLUSH;
        return message;
    }
    /// The frame goes up to TC.
    Ran hand_over(const Ran &ran) {
        EXPECT_STREQ(verdict_name(ran.verdict), "XDP_PASS");
        return run_tc(queue.queue().program_fd("olaf_copies"), ran.bytes, net.near);
    }
    void expect_copy(std::uint32_t rank, const JobMessage &expected) {
        const auto copy = far.next();
        ASSERT_TRUE(copy);
        EXPECT_EQ(sent_to(rank, {.verdict = XDP_TX, .bytes = *copy}, GetParam()), expected);
    }
    Ran offer_here(const JobMessage &message) { return offer(message, GetParam()); }

    Capture far;
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsCopies, testing::Values(4, 6), [](const auto &info) {
    return "Ipv" + std::to_string(info.param);
});

TEST_P(RoundsCopies, WhenAFlushComesTheRestLeavesInClones) {
    dropped(offer_here(contribution(0, 0)));
    dropped(offer_here(contribution(1, 0)));
    const auto ran = hand_over(offer_here(flushing(contribution(2, 0))));
    EXPECT_EQ(ran.verdict, std::uint32_t{TC_ACT_SHOT});
    for (const std::uint32_t rank : {0u, 1u, 2u})
        expect_copy(rank, result(rank, {0, 1, 2}, 0));
    EXPECT_TRUE(far.empty());
    EXPECT_EQ(counters().copied, 3u);
    EXPECT_EQ(owed(), 0u);
}

TEST_P(RoundsCopies, WhenTheLineIsLongTheRestLeavesInClones) {
    for (const std::uint32_t chunk : {0u, 1u, 2u}) {
        dropped(offer_here(contribution(0, chunk)));
        dropped(offer_here(contribution(1, chunk)));
    }
    // Each completes a chunk and carries one result away.
    sent_to(0, offer_here(contribution(2, 0)), GetParam());
    sent_to(1, offer_here(contribution(2, 1)), GetParam());
    hand_over(offer_here(contribution(2, 2)));
    expect_copy(2, result(2, {0, 1, 2}, 0));
    for (const std::uint32_t chunk : {1u, 2u})
        for (const std::uint32_t rank : {0u, 1u, 2u})
            expect_copy(rank, result(rank, {0, 1, 2}, chunk));
    EXPECT_EQ(counters().riding, 2u);
    EXPECT_EQ(counters().copied, 7u);
}

TEST_P(RoundsCopies, FramesThatAreNoOrderPassUntouched) {
    for (const auto &frame : {path_of(0, GetParam()).carrying(contribution(0, 0)),
                              path_of(0, GetParam()).carrying(Update{})}) {
        const auto ran = run_tc(queue.queue().program_fd("olaf_copies"), frame.bytes, net.near);
        EXPECT_EQ(ran.verdict, static_cast<std::uint32_t>(TC_ACT_UNSPEC));
        EXPECT_EQ(hex(ran.bytes), hex(frame.bytes));
    }
}

} // namespace
} // namespace olaf::test::rounds_copies_test
