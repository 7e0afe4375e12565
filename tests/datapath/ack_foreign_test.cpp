// SPDX-License-Identifier: BSD-2-Clause
// Anybody can write an ACK: only one from where the cluster's members send to is the server's, and
// nobody gets two copies of it.
#include <algorithm>

#include "ack_test.hpp"
#include "testbed.hpp"
#include "window_test.hpp"

namespace olaf::test::ack_foreign_test {
namespace {

constexpr std::uint32_t cluster = 1;

Path path_of(int family) { return family == 4 ? ipv4() : ipv6(); }

olaf::DatapathConfig config_on(std::uint32_t ifindex) {
    auto config = acknowledging_queue();
    config.ifindex = ifindex;
    return config;
}

class AckForeign : private InTestbed, public AckTest, public testing::WithParamInterface<int> {
  protected:
    AckForeign() : AckTest(config_on(net.near)), out(net.far) {
        queue.set_rule(cluster, rule(OLAF_POLICY_NEWEST)); // one waits, however many come
        queue.link_busy();
    }

    void hear(const Path &path, std::uint32_t worker) {
        queue.offer(path.carrying(Update{.cluster = cluster, .worker = worker}));
    }
    /// A worker's path, from a host and a port of its own.
    [[nodiscard]] Path worker(std::uint8_t id) const {
        return path_of(GetParam()).source(id).source_port(static_cast<std::uint16_t>(50000 + id));
    }
    /// The way back to that worker.
    [[nodiscard]] Path to(std::uint8_t id) const {
        return answer(path_of(GetParam())).target(id).port(static_cast<std::uint16_t>(50000 + id));
    }
    /// It passes untouched, and nobody else hears of it.
    void is_foreign(const Path &path, const Ack &sent) {
        const auto before = queue.ack_counters();
        passes(path.carrying(sent));
        const auto after = queue.ack_counters();
        EXPECT_EQ(after.foreign, before.foreign + 1);
        EXPECT_EQ(after.stamped, before.stamped);
        EXPECT_EQ(after.copies, before.copies);
        EXPECT_TRUE(out.empty());
    }
    /// Whom copies are for, once no more come.
    std::vector<std::uint32_t> copied_to() {
        std::vector<std::uint32_t> workers;
        while (!out.empty())
            workers.push_back(parse_ack(*out.next())->ack.worker);
        return workers;
    }

    Capture out;
    const Ack ack{.cluster = cluster, .lanes = lanes_of(5)};
};

TEST_P(AckForeign, FromAnotherAddressItPassesUntouched) {
    for (const std::uint8_t id : {1, 2})
        hear(worker(id), id);
    auto mine = ack;
    for (const std::uint32_t addressee : {1u, 2u, 3u, 300u, OLAF_EVERY_WORKER}) {
        mine.worker = addressee;
        is_foreign(to(1).source(3), mine);
        is_foreign(to(9).source(3).vlan(5), mine);
    }
    EXPECT_EQ(queue.ack_counters().recognised, 0u);
}

TEST_P(AckForeign, FromTheServersAddressInTheOtherIpVersionToo) {
    hear(worker(1), 1);
    is_foreign(answer(path_of(10 - GetParam())), ack);
}

TEST_P(AckForeign, OfAClusterThatNobodyWasHeardOf) {
    hear(worker(1), 1);
    for (const std::uint32_t other : {0u, 7u, 8u, 0xffffffffu})
        is_foreign(to(1), Ack{.cluster = other});
}

TEST_P(AckForeign, FromTheAddressThatMembersSendToItIsStampedWhoeverItIsFor) {
    hear(worker(1), 1);
    for (const std::uint32_t addressee : {1u, 2u, 300u}) {
        const Ack mine{.cluster = cluster, .worker = addressee};
        leaves_as(to(9), mine, stamped(mine, 1, 4, 1));
    }
    EXPECT_EQ(queue.ack_counters().foreign, 0u);
    EXPECT_EQ(queue.ack_counters().stamped, 3u);
}

/// A stranger that takes a worker's place, sending elsewhere, makes its ACKs nobody's.
TEST_P(AckForeign, TheAddresseeAloneDoesNotDecide) {
    hear(worker(9).target(3), 2);
    hear(worker(1), 5);
    const Ack mine{.cluster = cluster, .worker = 2};
    leaves_as(to(2), mine, stamped(mine, 1, 4, 2)); // updates to two servers wait apart
}

TEST_P(AckForeign, MembersThatSendElsewhereGetNoCopy) {
    hear(worker(1), 1);
    hear(worker(2).target(3), 2);
    hear(worker(3), 3);
    queue.leave(to(1).carrying(ack));
    EXPECT_EQ(copied_to(), (std::vector<std::uint32_t>{3}));
    EXPECT_EQ(queue.ack_counters().copies_foreign, 1u);
    queue.leave(to(9).source(3).carrying(ack)); // the other server's
    EXPECT_EQ(copied_to(), (std::vector<std::uint32_t>{2}));
    EXPECT_EQ(queue.ack_counters().copies_foreign, 3u);
}

TEST_P(AckForeign, AnAddressAndPortGetsOneCopyWhoeverIsSaidToBeThere) {
    for (std::uint32_t id = 0; id < 200; id++) {
        if (id % 32 == 0)
            queue.admit_more(cluster);
        hear(worker(7), id); // in a victim's name
    }
    queue.admit_more(cluster);
    hear(worker(8), 200);
    hear(worker(7).source_port(1), 201);
    for (int i = 0; i < 3; i++) { // each ACK anew
        const auto before = queue.ack_counters();
        queue.leave(to(9).carrying(ack));
        EXPECT_EQ(copied_to(), (std::vector<std::uint32_t>{0, 200, 201}));
        EXPECT_EQ(queue.ack_counters().copies_shared, before.copies_shared + 199);
    }
}

TEST_P(AckForeign, TheAddresseesAddressGetsTheAckItselfAndNoCopy) {
    for (const std::uint32_t id : {4u, 5u, 6u})
        hear(worker(7), id);
    const auto ran = queue.leave(to(7).carrying(ack));
    EXPECT_EQ(parse_ack(ran.bytes)->ack.worker, 4u);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(queue.ack_counters().copies_shared, 2u);
}

/// Hosts and ports that differ in few bits, as many as can be: none is taken for another.
TEST_P(AckForeign, DifferentAddressesAreNeverTakenForOne) {
    for (std::uint32_t id = 0; id < 256; id++) {
        if (id % 32 == 0)
            queue.admit_more(cluster);
        hear(path_of(GetParam())
                 .source(static_cast<std::uint8_t>(1 + id % 16))
                 .source_port(static_cast<std::uint16_t>(1 + id / 16)),
             id);
    }
    queue.leave(answer(path_of(GetParam())).target(99).carrying(ack));
    EXPECT_EQ(copied_to().size(), 256u);
    EXPECT_EQ(queue.ack_counters().copies, 256u);
    EXPECT_EQ(queue.ack_counters().copies_shared, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ip, AckForeign, testing::Values(4, 6),
                         [](const auto &info) { return std::string(info.param == 4 ? "v4" : "v6"); });

/// Nothing says yet which server is theirs; user space has said who they are.
TEST_F(AckTest, OfAClusterOfRegisteredWorkersOnlyEveryAckIsTheServers) {
    olaf_member registered{};
    registered.family = 4;
    registered.flags = OLAF_MEMBER_REGISTERED | OLAF_MEMBER_PORT_BOUND;
    registered.addr_be[0] = 0x0100000a;
    registered.port_be = 7;
    queue.set_member(cluster, 1, registered);
    queue.set_roster(cluster, {.end = 2, .pad = 0, .admitted = 0});
    const Ack mine{.cluster = cluster, .worker = 1};
    leaves_as(answer(ipv4()), mine, stamped(mine, 0, 4, 0));
    registered.last_seen_ns = monotonic_ns(); // it has sent to another server
    queue.set_member(cluster, 1, registered);
    passes(answer(ipv4()).carrying(mine));
    EXPECT_EQ(queue.ack_counters().foreign, 1u);
}

class WindowForeign : public WindowTest {
  protected:
    WindowForeign() : WindowTest(windowed_queue({.most = 1})) {}
};

TEST_F(WindowForeign, AStrangersAckOpensNothing) {
    const auto update = fresh(1);
    ASSERT_TRUE(offer(update));
    const auto frame = answer(ipv4()).source(3).carrying(ack_of(update));
    EXPECT_EQ(hex(queue.leave(frame).bytes), hex(frame.bytes));
    EXPECT_EQ(queue.window().in_flight, 1u);
    EXPECT_EQ(queue.window().acked + queue.window().unmatched, 0u);
    acknowledge(update);
    EXPECT_EQ(queue.window().in_flight, 0u);
}

} // namespace
} // namespace olaf::test::ack_foreign_test
