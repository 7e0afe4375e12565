// SPDX-License-Identifier: BSD-2-Clause
// The drain's programs: the token's way from XDP to the drain, and what leaves there.
#include <linux/pkt_cls.h>

#include <cstddef>
#include <cstring>

#include "olaf/drain.h"
#include "queue_test.hpp"
#include "testbed.hpp"

namespace olaf::test::drain_test {
namespace {

constexpr std::uint32_t unspec = static_cast<std::uint32_t>(TC_ACT_UNSPEC);
constexpr std::uint32_t redirect = TC_ACT_REDIRECT, shot = TC_ACT_SHOT;
constexpr std::uint64_t interval = 100'000;

olaf::DatapathConfig config_for(const Testbed &net, olaf_deliver deliver) {
    auto config = small_queue();
    config.deliver = deliver;
    config.ifindex = net.near;
    config.egress_ifindex = deliver == OLAF_DELIVER_LOCAL ? 0 : net.near;
    config.drain_ifindex = net.far;
    config.drain_interval_ns = interval;
    return config;
}

class Drain : private InTestbed,
             public QueueTest,
             public testing::WithParamInterface<olaf_deliver> {
  protected:
    /// Local departures come in on the queue's device, forwarded ones at the far end of the pair.
    Drain()
        : QueueTest(config_for(net, GetParam())),
          capture(GetParam() == OLAF_DELIVER_LOCAL ? net.near : net.far) {}

    /// The token that an arrival made of itself.
    Bytes launch() {
        queue.set_link(UINT64_MAX / 2, 0);
        auto ran = queue.offer(ipv4().carrying(Update{.cluster = 1}));
        EXPECT_STREQ(verdict_name(ran.verdict), "XDP_PASS");
        return ran.bytes;
    }
    Ran tick(const Bytes &token) { return run_tc(queue.queue().program_fd("olaf_drain_tick"), token); }
    Ran caught(const Bytes &token) { return run_tc(queue.queue().program_fd("olaf_token_catch"), token); }

    Capture capture;
};

TEST_P(Drain, TheFirstToWaitLaunchesOneToken) {
    auto token = launch();
    EXPECT_EQ(queue.counters().tokens_launched, 1u);
    EXPECT_GT(queue.ring().drain_deadline_ns, monotonic_ns());
    append(ipv4().carrying(Update{.cluster = 2})); // and the second doesn't
    EXPECT_EQ(queue.counters().tokens_launched, 1u);
    auto ran = caught(token);
    EXPECT_EQ(ran.verdict, redirect);
    EXPECT_EQ(ran.bytes.size(), 8192u); // the first round empties the drain's bucket
}

TEST_P(Drain, OtherFramesAreNotCaught) {
    auto token = launch();
    for (std::size_t at = 12; at < 22; at++) {
        auto other = token;
        other[at] ^= 1;
        EXPECT_EQ(caught(other).verdict, unspec) << at;
        EXPECT_EQ(tick(other).verdict, shot) << at;
    }
    EXPECT_EQ(caught(ipv4().carrying(Update{}).bytes).verdict, unspec);
    EXPECT_EQ(caught(Bytes(20, 0)).verdict, unspec);
}

TEST_P(Drain, ATickSendsEverythingDueInOrderAndTheTokenDies) {
    auto token = launch();
    append(ipv6().vlan(3).carrying(Update{.cluster = 2, .lanes = lanes_of(40)}));
    append(ipv4().carrying(Update{.cluster = 3, .lanes = lanes_of(60)}));
    queue.link_free();
    EXPECT_EQ(tick(token).verdict, shot);
    for (const auto &frame :
         {ipv4().carrying(Update{.cluster = 1}),
          ipv6().vlan(3).carrying(Update{.cluster = 2, .lanes = lanes_of(40)}),
          ipv4().carrying(Update{.cluster = 3, .lanes = lanes_of(60)})}) {
        auto sent = capture.next();
        ASSERT_TRUE(sent);
        EXPECT_EQ(hex(*sent), hex(frame.bytes));
    }
    EXPECT_TRUE(capture.empty());
    EXPECT_EQ(queue.totals().departed_drain, 3u);
    EXPECT_EQ(queue.totals().updates_out, 3u);
    EXPECT_EQ(queue.ring().drain_deadline_ns, 0u);
    EXPECT_TRUE(queue.waiting().empty());
}

TEST_P(Drain, ABusyLinkSendsTheTokenRoundAgain) {
    auto token = launch();
    auto ran = tick(token);
    EXPECT_EQ(ran.verdict, redirect);
    EXPECT_EQ(ran.bytes.size(), 8192u); // the longest: nothing is due for a long time
    EXPECT_EQ(hex(std::span(ran.bytes).subspan(12, 14)), hex(std::span(token).subspan(12, 14)));
    EXPECT_TRUE(capture.empty());
    EXPECT_EQ(queue.totals().departed_drain, 0u);
    EXPECT_EQ(queue.counters().drain_ticks, 1u);
    queue.link_free();
    EXPECT_EQ(tick(token).verdict, shot);
    EXPECT_EQ(queue.totals().departed_drain, 1u);
}

TEST_P(Drain, WhatIsHeldNeitherRidesNorGoesByTheDrainAndStillFolds) {
    auto token = launch();
    queue.order({.emptying_until_ns = 0, .held_until_ns = UINT64_MAX, .figures_from_ns = 0});
    queue.link_free();
    queue.offer(ipv4().carrying(Update{.cluster = 2}));
    queue.offer(ipv4().carrying(Update{.cluster = 2, .worker = 2}));
    EXPECT_EQ(tick(token).verdict, redirect);
    EXPECT_EQ(queue.waiting().size(), 2u);
    EXPECT_TRUE(capture.empty());
    EXPECT_EQ(queue.totals().updates_out, 0u);
    queue.order({.emptying_until_ns = 0, .held_until_ns = monotonic_ns(), .figures_from_ns = 0});
    EXPECT_EQ(tick(token).verdict, shot);
    EXPECT_TRUE(queue.waiting().empty());
}

TEST_P(Drain, AStaleTokenDies) {
    auto stale = launch();
    auto live = launch(); // the first is overdue
    EXPECT_EQ(tick(stale).verdict, shot);
    EXPECT_EQ(queue.counters().drain_stale, 1u);
    EXPECT_EQ(tick(live).verdict, redirect);
}

/// The token's frame with another generation: the frame with which attach tries the drain.
Bytes proof_from(Bytes token) {
    const std::uint32_t generation = OLAF_PROOF;
    std::memcpy(token.data() + OLAF_TOKEN_OFFSET + offsetof(olaf_token, generation), &generation,
                sizeof generation);
    return token;
}

TEST_P(Drain, AProofBecomesTheTokenThatIsLostAndNoOther) {
    const auto lost = launch();
    const auto proof = proof_from(lost);
    EXPECT_EQ(tick(proof).verdict, shot) << "the token isn't late";
    auto ring = queue.ring();
    ring.drain_deadline_ns = 1;
    queue.write("olaf_ring", 0u, ring);
    auto found = tick(proof);
    EXPECT_EQ(found.verdict, redirect);
    EXPECT_EQ(found.bytes.size(), 8192u); // as long as every first round
    EXPECT_EQ(queue.counters().tokens_launched, 2u);
    EXPECT_EQ(tick(proof).verdict, shot) << "the new one is under way";
    EXPECT_EQ(tick(lost).verdict, shot) << "another has its place";
    queue.link_free();
    found.bytes.resize(OLAF_TOKEN_MIN_BYTES); // BPF_PROG_TEST_RUN takes no frame of 8,192 bytes
    EXPECT_EQ(tick(found.bytes).verdict, shot);
    EXPECT_EQ(queue.totals().departed_drain, 1u);
    EXPECT_EQ(tick(proof).verdict, shot) << "nothing waits";
    EXPECT_EQ(queue.counters().drain_proofs, 4u);
}

TEST_P(Drain, ATokenThatComesToAnEmptyQueueDies) {
    auto token = launch();
    queue.link_free();
    EXPECT_EQ(tick(token).verdict, shot);
    auto next = launch(); // and the next to wait launches another
    EXPECT_EQ(tick(token).verdict, shot);
    EXPECT_EQ(tick(next).verdict, redirect);
}

TEST_P(Drain, ATokenLivesAsLongAsAnArrivalMayYetAppend) {
    const auto token = launch();
    queue.link_free();
    const auto set_holds = [&](std::uint32_t holds) {
        auto ring = queue.ring();
        ring.holds = holds;
        queue.write("olaf_ring", 0u, ring);
    };
    set_holds(1); // it carries the head away, and hasn't been judged yet
    EXPECT_EQ(tick(token).verdict, redirect);
    EXPECT_TRUE(queue.waiting().empty());
    set_holds(0);
    EXPECT_EQ(tick(token).verdict, shot);
}

/// A drain that has gone.
class RefusingDrain : public QueueTest {
  protected:
    RefusingDrain()
        : QueueTest(small_queue([](auto &config) {
              config.drain_ifindex = 9999;
              config.drain_interval_ns = interval;
          })) {}

    /// An update waits, and its token has been late for long.
    olaf_ring lose_token() {
        append(ipv4().carrying(Update{.cluster = 1}));
        auto ring = queue.ring();
        ring.drain_deadline_ns = 1;
        queue.write("olaf_ring", 0u, ring);
        return ring;
    }
    /// What becomes of a frame that isn't the queue's.
    Bytes passed(const Bytes &frame) {
        const auto ran = run_tc(queue.queue().program_fd("olaf_token_catch"), frame);
        EXPECT_EQ(ran.verdict, unspec);
        return ran.bytes;
    }
};

TEST_F(RefusingDrain, ATokenThatIsRefusedIsTriedAgainATickLater) {
    const auto frame = ipv6().carrying(Update{}).bytes;
    const auto before = lose_token();
    EXPECT_EQ(hex(passed(frame)), hex(frame));
    EXPECT_EQ(queue.ring().drain_generation, before.drain_generation + 1);
    EXPECT_LE(queue.ring().drain_deadline_ns, monotonic_ns() + interval);
    EXPECT_EQ(queue.counters().tokens_launched, 0u);
}

TEST_F(RefusingDrain, AFrameTooShortForATokenPutsNothingOff) {
    const Bytes frame(OLAF_TOKEN_OFFSET + sizeof(olaf_token) - 1, 0);
    const auto before = lose_token();
    EXPECT_EQ(hex(passed(frame)), hex(frame));
    EXPECT_EQ(queue.ring().drain_generation, before.drain_generation);
    EXPECT_EQ(queue.ring().drain_deadline_ns, before.drain_deadline_ns);
}

/// A drain that ticks once in a second: its token is away for one interval, not for 64.
class SlowDrain : public QueueTest {
  protected:
    SlowDrain()
        : QueueTest(small_queue([](auto &config) { config.drain_interval_ns = 1'000'000'000; })) {}
};

TEST_F(SlowDrain, ATokenIsAwayForOneIntervalAndNotLateBefore) {
    queue.set_link(UINT64_MAX / 2, 0);
    const auto token = queue.offer(ipv4().carrying(Update{.cluster = 1})).bytes;
    const auto caught = monotonic_ns();
    EXPECT_EQ(run_tc(queue.queue().program_fd("olaf_token_catch"), token).bytes.size(), 128u);
    EXPECT_GT(queue.ring().drain_deadline_ns + clock_slack_ns, caught + 1'000'000'000);
    const auto ticked = monotonic_ns();
    EXPECT_EQ(run_tc(queue.queue().program_fd("olaf_drain_tick"), token).bytes.size(), 128u);
    EXPECT_GT(queue.ring().drain_deadline_ns, ticked + 1'000'000'000);
    EXPECT_LT(queue.ring().drain_deadline_ns, monotonic_ns() + 2'000'000'000);
}

/// A link on which half a frame takes 2.4 s, and a drain that ticks once a second.
class LeftToArrivals : private InTestbed, public QueueTest {
  protected:
    LeftToArrivals() : QueueTest(config()) {
        queue.set_link(UINT64_MAX / 2, 0);
        token_ = queue.offer(update).bytes;
        queue.set_drain_deadline(UINT64_MAX / 2);
    }

    /// An update waits, due since `due_ns`. Does the token take it?
    bool takes(std::uint64_t due_ns) {
        if (queue.waiting().empty())
            append(update);
        queue.set_link(due_ns, UINT64_MAX / 2);
        const auto before = queue.totals().departed_drain;
        (void)run_tc(queue.queue().program_fd("olaf_drain_tick"), token_);
        queue.set_drain_deadline(UINT64_MAX / 2);
        return queue.totals().departed_drain > before;
    }
    bool takes_what_is_due_now() { return takes(monotonic_ns()); }
    bool takes_what_is_due_long_since() { return takes(0); }

    void ride() {
        queue.link_free();
        const auto before = queue.totals().departed_riding;
        queue.offer(update);
        EXPECT_EQ(queue.totals().departed_riding, before + 1);
    }

    const Frame update = ipv4().carrying(Update{.cluster = 1, .lanes = lanes_of(60)});

  private:
    DatapathConfig config() {
        auto config = config_for(net, OLAF_DELIVER_FORWARD);
        config.rate_bps = 1'000;
        config.drain_interval_ns = 1'000'000'000;
        return config;
    }
    Bytes token_;
};

TEST_F(LeftToArrivals, TheTokenLeavesADepartureToArrivalsForATick) {
    EXPECT_FALSE(takes_what_is_due_now());
    ride();
    EXPECT_FALSE(takes_what_is_due_now());
    EXPECT_TRUE(takes_what_is_due_long_since());
}

TEST_F(LeftToArrivals, TheTokenWaitsEverMoreSeldomForArrivalsThatDontCome) {
    std::vector<int> waited;
    for (int left = 0; left <= 200; left++) {
        if (takes_what_is_due_now())
            continue;
        waited.push_back(left);
        EXPECT_TRUE(takes_what_is_due_long_since());
    }
    EXPECT_EQ(waited, (std::vector{0, 1, 2, 4, 8, 16, 32, 64, 128, 192}));
    append(update);
    ride();
    EXPECT_FALSE(takes_what_is_due_now());
}

TEST_F(LeftToArrivals, TheTokenWaitsForNoArrivalWhileTheQueueIsEmptied) {
    queue.order({.emptying_until_ns = UINT64_MAX, .held_until_ns = 0, .figures_from_ns = 0});
    EXPECT_TRUE(takes_what_is_due_now());
}

INSTANTIATE_TEST_SUITE_P(Deliver, Drain,
                         testing::Values(OLAF_DELIVER_LOCAL, OLAF_DELIVER_FORWARD), by_delivery);

} // namespace
} // namespace olaf::test::drain_test
