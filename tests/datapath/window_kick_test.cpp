// SPDX-License-Identifier: BSD-2-Clause
// An ACK that opens the window sets off the next departure at once: the kick, on its way to the
// drain and at the drain's end; and the token's pace while the window is closed.
#include "testbed.hpp"
#include "window_test.hpp"

namespace olaf::test::window_kick_test {
namespace {

constexpr std::uint32_t shot = TC_ACT_SHOT, redirect = TC_ACT_REDIRECT;
constexpr std::uint64_t interval = 100'000;

/// ACKs' clones come in at the far end of the pair, forwarded departures too: tests that look at
/// one have none of the other.
olaf::DatapathConfig config_for(const Testbed &net, olaf_deliver deliver) {
    auto config = windowed_queue({.most = 2});
    config.deliver = deliver;
    config.ifindex = net.near;
    config.egress_ifindex = deliver == OLAF_DELIVER_LOCAL ? 0 : net.near;
    config.drain_ifindex = net.far;
    config.kick_ifindex = net.near;
    config.drain_interval_ns = interval;
    return config;
}

class Kick : private InTestbed,
             public WindowTest,
             public testing::WithParamInterface<olaf_deliver> {
  protected:
    Kick()
        : WindowTest(config_for(net, GetParam())), kicks(net.far),
          departures(GetParam() == OLAF_DELIVER_LOCAL ? net.near : net.far) {}

    /// Two in flight, `waiting` more in the queue.
    void fill(std::uint32_t waiting) {
        queue.set_drain_deadline(UINT64_MAX / 2);
        for (std::uint32_t i = 0; i < 2 + waiting; i++) {
            const auto update = fresh(i);
            const auto verdict = queue.offer(ipv4().carrying(update)).verdict;
            EXPECT_EQ(verdict == XDP_DROP, i >= 2);
            sent.push_back(update);
        }
    }
    /// A frame that begins like the token does, of that generation.
    Bytes token_of(std::uint32_t generation, std::size_t bytes = 128) const {
        Bytes token(bytes, 0);
        token[12] = 0x08;
        const auto secret = queue.config().token_secret;
        for (std::size_t i = 0; i < 8; i++)
            token[14 + i] = static_cast<std::uint8_t>(secret >> 8 * i);
        for (std::size_t i = 0; i < 4; i++)
            token[22 + i] = static_cast<std::uint8_t>(generation >> 8 * i);
        return token;
    }
    Ran kicked(const Bytes &frame) { return run_tc(queue.queue().program_fd("olaf_drain_kick"), frame); }
    Ran tick(const Bytes &frame) { return run_tc(queue.queue().program_fd("olaf_drain_tick"), frame); }

    Capture kicks, departures;
    std::vector<Update> sent;
};

TEST_P(Kick, IsSentWhenSomethingWaitsAndTheAckIsUnharmed) {
    for (const auto &path : ways_back()) {
        queue.reset();
        queue.set_window({});
        sent.clear();
        fill(1);
        auto ack = ack_of(sent[0]);
        ack.lanes = lanes_of(100);
        const auto ran = queue.leave(path.carrying(ack));
        EXPECT_EQ(ran.verdict, tc_unspec);
        const auto unstamped = path.carrying(ack).bytes;
        ASSERT_EQ(ran.bytes.size(), unstamped.size());
        EXPECT_EQ(hex(std::span(ran.bytes).first(30)), hex(std::span(unstamped).first(30)));
        const auto kick = kicks.next();
        ASSERT_TRUE(kick);
        EXPECT_EQ(kick->size(), unstamped.size());
        const auto token = token_of(0);
        EXPECT_EQ(hex(std::span(*kick).subspan(12, 14)), hex(std::span(token).subspan(12, 14)));
        EXPECT_TRUE(kicks.empty());
    }
}

TEST_P(Kick, IsNotSentByAcksThatOpenNothing) {
    fill(1);
    auto forged = ack_of(sent[0]);
    forged.generated_ns++;
    answer_with(forged);
    EXPECT_TRUE(kicks.empty());
    acknowledge(sent[0]);
    EXPECT_TRUE(kicks.next());
    acknowledge(sent[0]); // again
    EXPECT_TRUE(kicks.empty());
}

TEST_P(Kick, IsNotSentWhenNothingWaits) {
    fill(0);
    acknowledge(sent[0]);
    acknowledge(sent[1]);
    EXPECT_TRUE(kicks.empty());
    EXPECT_EQ(queue.window().in_flight, 0u);
}

TEST_P(Kick, LetsWhatIsDueLeaveAndDies) {
    fill(2);
    queue.set_window([&] {
        auto window = queue.window();
        window.in_flight--; // as after an ACK
        window.acked++;
        return window;
    }());
    EXPECT_EQ(kicked(token_of(0)).verdict, shot);
    const auto left = departures.next();
    ASSERT_TRUE(left);
    EXPECT_EQ(parse_update(*left)->update.cluster, 2u);
    EXPECT_TRUE(departures.empty());
    EXPECT_EQ(queue.totals().departed_drain, 1u);
    EXPECT_EQ(queue.window().in_flight, 2u);
    EXPECT_EQ(queue.counters().drain_kicks, 1u);
    EXPECT_EQ(kicked(token_of(0)).verdict, shot); // nothing is due: nothing leaves
    EXPECT_EQ(queue.totals().departed_drain, 1u);
}

TEST_P(Kick, NothingElseIsOne) {
    fill(1);
    acknowledge(sent[0]);
    for (std::size_t at = 12; at < 26; at++) {
        auto other = token_of(0);
        other[at] ^= 0x80;
        EXPECT_EQ(kicked(other).verdict, shot) << at;
    }
    EXPECT_EQ(kicked(Bytes(20, 0)).verdict, shot);
    EXPECT_EQ(queue.counters().drain_kicks, 0u);
    EXPECT_EQ(queue.totals().departed_drain, 0u);
}

TEST_P(Kick, TheTokenIsSlowWhileOnlyAnAckOrATimeoutMakesSomethingDue) {
    queue.set_link(0, 0);
    offer(fresh(0));
    offer(fresh(1));
    const auto token = queue.offer(ipv4().carrying(fresh(2))).bytes;
    auto ran = tick(token);
    EXPECT_EQ(ran.verdict, redirect);
    EXPECT_EQ(ran.bytes.size(), 8192u);
    EXPECT_TRUE(departures.empty());
    queue.age_flights(999'000'000); // a millisecond more, or less
    ran = tick(token);
    if (ran.verdict == redirect) {
        EXPECT_LE(ran.bytes.size(), 10 * 128u);
    }
    queue.age_flights(10'000'000);
    EXPECT_EQ(tick(token).verdict, shot); // forgiven: it left, nothing waits
    EXPECT_TRUE(departures.next());
    EXPECT_EQ(queue.window().forgiven, 2u);
}

TEST_P(Kick, AnAckWhoseHeadersAreTooLongLeavesItToTheToken) {
    fill(1);
    const auto long_way = answer(ipv6()).hop_by_hop(32).destination_options(32);
    queue.leave(long_way.carrying(ack_of(sent[0])));
    EXPECT_EQ(queue.window().in_flight, 1u);
    EXPECT_TRUE(kicks.empty());
}

INSTANTIATE_TEST_SUITE_P(Deliver, Kick,
                         testing::Values(OLAF_DELIVER_LOCAL, OLAF_DELIVER_FORWARD),
                         [](const auto &info) {
                             return std::string(info.param == OLAF_DELIVER_LOCAL ? "local"
                                                                                 : "forward");
                         });

} // namespace
} // namespace olaf::test::window_kick_test
