// SPDX-License-Identifier: BSD-2-Clause
// A job of one slot: every chunk is in it, two may be under way, and a result that doesn't leave at
// once is a long line.
#include <linux/pkt_cls.h>

#include "rounds_test.hpp"
#include "testbed.hpp"

namespace olaf::test::rounds_one_slot_test {
namespace {

class RoundsOfOneSlot : protected InTestbed, public RoundsTest {
  protected:
    RoundsOfOneSlot() : RoundsTest(one_slot(), config_for(net)), far(net.far) {}
    static olaf_job_setup one_slot() {
        auto setup = small_job();
        setup.slots = 1;
        setup.pool = 0;
        return setup;
    }
    static olaf::DatapathConfig config_for(const Testbed &net) {
        auto config = queue_with_rounds();
        config.ifindex = net.near;
        config.mac = net.near_mac;
        return config;
    }
    void open(std::uint32_t chunk, std::uint32_t round) {
        const auto before = counters().added;
        dropped(offer(contribution(0, chunk, round)));
        EXPECT_EQ(counters().added, before + 1) << "chunk " << chunk << " of round " << round;
    }
    /// The second child's completes the chunk; all that is in line leaves in clones.
    void complete(std::uint32_t chunk, std::uint32_t round) {
        const auto order = offer(contribution(1, chunk, round));
        ASSERT_STREQ(verdict_name(order.verdict), "XDP_PASS");
        run_tc(queue.queue().program_fd("olaf_copies"), order.bytes, net.near);
        for (const std::uint32_t rank : {0u, 1u}) {
            const auto copy = far.next();
            ASSERT_TRUE(copy);
            EXPECT_EQ(sent_to(rank, {.verdict = XDP_TX, .bytes = *copy}),
                      result(rank, {0, 1}, chunk, round));
        }
    }
    [[nodiscard]] const olaf_round_buffer &buffer(unsigned which) {
        held = slot(0);
        return held.buffer[which];
    }

    Capture far;

  private:
    olaf_round_slot held{};
};

TEST_F(RoundsOfOneSlot, EachChunkFollowsTheOneBefore) {
    for (const std::uint32_t round : {0xffffffffu, 0u})
        for (const std::uint32_t chunk : {0u, 1u, 2u}) {
            open(chunk, round);
            complete(chunk, round);
        }
    EXPECT_EQ(counters().completed, 6u);
    EXPECT_EQ(counters().copied, 12u);
}

TEST_F(RoundsOfOneSlot, TwoChunksAreInItsTwoBuffersAndAThirdIsAhead) {
    open(0, 0);
    open(1, 0);
    EXPECT_EQ(buffer(0).chunk, 0u);
    EXPECT_EQ(buffer(1).chunk, 1u);
    EXPECT_EQ(buffer(1).state, OLAF_ROUND_OPEN);
    dropped(offer(contribution(0, 2)));
    EXPECT_EQ(counters().ahead, 1u);
    complete(0, 0);
    open(2, 0);
    EXPECT_EQ(buffer(0).chunk, 2u) << "in the room of the one that is done";
    EXPECT_EQ(buffer(1).chunk, 1u);
}

TEST_F(RoundsOfOneSlot, TheNextRoundIsNewerThanTheLastChunk) {
    open(7, 0);
    open(0, 1);
    complete(7, 0);
    complete(0, 1);
    const auto stale = sent_to(0, offer(contribution(0, 6, 0)));
    EXPECT_EQ(stale.flags & OLAF_FLAG_STALE, OLAF_FLAG_STALE);
    EXPECT_EQ(stale.chunk, 6u);
}

} // namespace
} // namespace olaf::test::rounds_one_slot_test
