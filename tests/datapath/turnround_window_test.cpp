// SPDX-License-Identifier: BSD-2-Clause
// The window of a queue that delivers upstream: the ACK comes in by TC ingress, opens the window,
// sets off the next departure, and goes on to its worker unharmed.
#include "testbed.hpp"
#include "upstream.hpp"
#include "window_test.hpp"

namespace olaf::test::turnround_window_test {
namespace {

constexpr std::uint32_t stolen = TC_ACT_STOLEN;

/// The ACK's clones and its copies both come in at the far end: a kick first.
olaf::DatapathConfig config_for(const Testbed &net, int family) {
    auto config = upstream_of(windowed_queue({.most = 2}), net.near, family);
    config.upstream = host_of_servers(family, 2); // whose next hop the testbed knows
    config.drain_ifindex = net.far;
    config.kick_ifindex = net.near;
    config.activity_window_ns = 3'600'000'000'000;
    return config;
}

class TurnroundWindow : private InTestbed,
                        public WindowTest,
                        public testing::WithParamInterface<int> {
  protected:
    TurnroundWindow() : WindowTest(config_for(net, GetParam())), out(net.far) {
        queue.set_drain_deadline(UINT64_MAX / 2);
    }

    /// Sends `count` updates of one cluster each: two are in flight then, the others wait.
    void fill(std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; i++) {
            sent.push_back(fresh(i));
            queue.offer(ipv4().carrying(sent.back()));
        }
        ASSERT_EQ(queue.window().in_flight, 2u);
    }
    Ran arrive(const Path &path, const Ack &ack) {
        return run_tc(queue.queue().program_fd("olaf_ack_return"), path.carrying(ack).bytes);
    }
    /// A frame that the drain takes for a kick begins with IPv4 and the queue's secret.
    [[nodiscard]] bool is_kick(const Bytes &frame) const {
        std::uint64_t secret = 0;
        for (std::size_t i = 0; i < 8; i++)
            secret |= std::uint64_t{frame.at(14 + i)} << 8 * i;
        return frame.at(12) == 0x08 && frame.at(13) == 0 && secret == queue.config().token_secret;
    }
    Ack to_worker(const Update &update, std::uint32_t waiting) const {
        return stamped(ack_of(update), static_cast<std::uint16_t>(sent.size()), 4, waiting);
    }

    const Path upstream = from_upstream(GetParam()).source(2);
    Capture out;
    std::vector<Update> sent;
};

TEST_P(TurnroundWindow, AnAckOpensItAndGoesOnToItsWorker) {
    fill(2);
    EXPECT_EQ(arrive(upstream, ack_of(sent[0])).verdict, stolen);
    EXPECT_EQ(queue.window().in_flight, 1u);
    EXPECT_EQ(queue.window().acked, 1u);
    const auto copy = out.next();
    ASSERT_TRUE(copy);
    EXPECT_FALSE(is_kick(*copy)); // nothing waited
    EXPECT_EQ(parse_ack(*copy)->ack, to_worker(sent[0], 0));
    EXPECT_TRUE(out.empty());
}

TEST_P(TurnroundWindow, AnAckSetsOffWhatWaitsAndIsUnharmed) {
    fill(3);
    EXPECT_EQ(arrive(upstream, ack_of(sent[1])).verdict, stolen);
    const auto kick = out.next(), copy = out.next();
    ASSERT_TRUE(kick && copy);
    EXPECT_TRUE(is_kick(*kick));
    EXPECT_EQ(parse_ack(*copy)->ack, to_worker(sent[1], 1));
    EXPECT_TRUE(out.empty());
}

TEST_P(TurnroundWindow, OnlyTheServersAcksOpenIt) {
    fill(3);
    EXPECT_EQ(arrive(Path(upstream).source(8), ack_of(sent[0])).verdict, tc_unspec);
    EXPECT_EQ(arrive(Path(upstream).ttl(1), ack_of(sent[0])).verdict, tc_unspec);
    auto forged = ack_of(sent[0]);
    forged.generated_ns++;
    arrive(upstream, forged); // goes to its worker, who will know it for what it is
    EXPECT_EQ(queue.window().in_flight, 2u);
    EXPECT_EQ(queue.window().acked, 0u);
    EXPECT_EQ(queue.window().unmatched, 1u);
    const auto copy = out.next();
    EXPECT_TRUE(copy && !is_kick(*copy));
    EXPECT_TRUE(out.empty());
}

INSTANTIATE_TEST_SUITE_P(Ip, TurnroundWindow, testing::Values(4, 6),
                         [](const auto &info) { return std::string(info.param == 4 ? "v4" : "v6"); });

} // namespace
} // namespace olaf::test::turnround_window_test
