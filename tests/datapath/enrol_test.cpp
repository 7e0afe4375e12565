// SPDX-License-Identifier: BSD-2-Clause
// Workers that user space registers, and --strict, which takes no others.
#include <algorithm>
#include <chrono>
#include <thread>

#include "ack_test.hpp"
#include "loader/datapath/members.hpp"
#include "tests/patience.hpp"

namespace olaf::test::enrol_test {
namespace {

constexpr std::uint32_t cluster = 1;

olaf::DatapathConfig strict_queue(bool strict) {
    auto config = acknowledging_queue();
    config.strict = strict;
    return config;
}

class Enrol : public AckTest {
  protected:
    explicit Enrol(bool strict = false) : AckTest(strict_queue(strict)) { queue.link_busy(); }

    void enrol(const std::string &worker) {
        const auto parsed = olaf::parse_worker(worker);
        ASSERT_TRUE(parsed) << parsed.error().message();
        const auto done = olaf::register_worker(queue.queue().program_fd("olaf_enrol"), cluster, *parsed);
        ASSERT_TRUE(done) << done.error().message();
    }
    void hear(const Path &path, std::uint32_t worker) {
        queue.offer(path.carrying(Update{.cluster = cluster, .worker = worker}));
    }
    [[nodiscard]] std::string address(std::uint32_t worker) const {
        return olaf::member_address_text(queue.member(cluster, worker));
    }
};

TEST_F(Enrol, AWorkerIsWrittenDownBeforeItIsHeard) {
    enrol("7=10.0.0.1:1234");
    const auto member = queue.member(cluster, 7);
    EXPECT_EQ(address(7), "10.0.0.1:1234");
    EXPECT_EQ(member.flags, OLAF_MEMBER_REGISTERED | OLAF_MEMBER_PORT_BOUND);
    EXPECT_EQ(member.last_seen_ns, 0u);
    EXPECT_EQ(member.sequence % 2, 0u);
    EXPECT_EQ(queue.roster(cluster).end, 8u);
    enrol("7=fd00::1");
    EXPECT_EQ(address(7), "fd00::1");
    EXPECT_EQ(queue.member(cluster, 7).flags, OLAF_MEMBER_REGISTERED);
}

TEST_F(Enrol, ItsPortIsLearntIfItWasNotGiven) {
    enrol("1=10.0.0.1");
    hear(ipv4().source_port(1111), 1);
    EXPECT_EQ(address(1), "10.0.0.1:1111");
    hear(ipv4().source_port(2222), 1);
    EXPECT_EQ(address(1), "10.0.0.1:1111"); // as for any member that lives
    auto member = queue.member(cluster, 1);
    member.last_seen_ns -= olaf_member_hold_ns(queue.config().member_timeout_ns);
    queue.set_member(cluster, 1, member);
    hear(ipv4().source_port(2222), 1);
    EXPECT_EQ(address(1), "10.0.0.1:2222");
    EXPECT_EQ(queue.member(cluster, 1).flags, OLAF_MEMBER_REGISTERED);
}

TEST_F(Enrol, AnotherMacAddressIsLearntAtOnce) {
    for (const auto &mac : {Mac{2, 0, 0, 0, 7, 1}, Mac{2, 0, 0, 0, 7, 2}}) {
        hear(ipv4().from(mac).source_port(1111), 1);
        EXPECT_TRUE(std::ranges::equal(queue.member(cluster, 1).mac, mac));
    }
}

TEST_F(Enrol, NobodyElseTakesItsPlace) {
    enrol("1=10.0.0.1:1111");
    hear(ipv4().source(9).source_port(1111), 1);
    hear(ipv4().source_port(2222), 1);
    hear(ipv6().source_port(1111), 1);
    EXPECT_EQ(address(1), "10.0.0.1:1111");
    EXPECT_EQ(queue.member(cluster, 1).last_seen_ns, 0u);
    EXPECT_EQ(queue.ack_counters().takeovers_refused, 3u);
    hear(ipv4().source_port(1111), 1);
    EXPECT_NE(queue.member(cluster, 1).last_seen_ns, 0u);
    EXPECT_EQ(queue.totals().received, 4u); // not strict: their updates count all the same
}

TEST_F(Enrol, WhoIsKnownByThatAddressStaysReachable) {
    hear(ipv4().source_port(1111).vlan(5), 1);
    const auto learnt = queue.member(cluster, 1);
    enrol("1=10.0.0.1");
    auto registered = queue.member(cluster, 1);
    EXPECT_EQ(registered.last_seen_ns, learnt.last_seen_ns);
    EXPECT_TRUE(std::ranges::equal(registered.mac, learnt.mac));
    EXPECT_EQ(registered.tags, 1);
    enrol("1=10.0.0.2");
    EXPECT_EQ(queue.member(cluster, 1).last_seen_ns, 0u);
    EXPECT_EQ(queue.member(cluster, 1).tags, 0);
}

TEST_F(Enrol, ForgettingLeavesNobody) {
    enrol("255=10.0.0.1");
    hear(ipv4(), 3);
    ASSERT_TRUE(olaf::forget_members(queue.queue().program_fd("olaf_enrol"), cluster));
    EXPECT_EQ(queue.roster(cluster).end, 0u);
    for (std::uint32_t worker = 0; worker < 256; worker++)
        ASSERT_EQ(queue.member(cluster, worker).family, 0);
    hear(ipv4(), 3);
    EXPECT_EQ(queue.roster(cluster).end, 4u);
}

TEST_F(Enrol, OutsideTheTableNothingIsWritten) {
    const auto &queue_fd = queue.queue();
    const auto worker = olaf::parse_worker("256=10.0.0.1");
    EXPECT_FALSE(olaf::register_worker(queue_fd.program_fd("olaf_enrol"), cluster, *worker));
    const auto first = olaf::parse_worker("0=10.0.0.1");
    EXPECT_FALSE(olaf::register_worker(queue_fd.program_fd("olaf_enrol"), queue.config().max_clusters, *first));
    EXPECT_FALSE(olaf::forget_members(queue_fd.program_fd("olaf_enrol"), 0xffffffff));
}

class Strict : public Enrol {
  protected:
    Strict() : Enrol(true) {}

    void refuses(const Path &path, std::uint32_t worker, olaf_not_allowed reason) {
        const auto before = queue.counters();
        hear(path, worker);
        EXPECT_EQ(queue.counters().not_allowed[reason], before.not_allowed[reason] + 1);
        EXPECT_EQ(queue.counters().received, before.received);
    }
    void takes(const Path &path, std::uint32_t worker) {
        const auto before = queue.counters().received;
        hear(path, worker);
        EXPECT_EQ(queue.counters().received, before + 1);
    }
};

TEST_F(Strict, TakesOnlyRegisteredWorkersFromTheirOwnAddresses) {
    enrol("1=10.0.0.1");
    enrol("2=10.0.0.2:2222");
    enrol("3=fd00::3");
    takes(ipv4().source(1), 1);
    takes(ipv4().source(1).source_port(9), 1);
    takes(ipv4().source(2).source_port(2222), 2);
    takes(ipv6().source(3), 3);
    refuses(ipv4().source(1), 0, OLAF_NOT_ALLOWED_WORKER);
    refuses(ipv4().source(1), 4, OLAF_NOT_ALLOWED_WORKER);
    refuses(ipv4().source(1), 0xffffffff, OLAF_NOT_ALLOWED_WORKER);
    refuses(ipv4().source(2), 1, OLAF_NOT_ALLOWED_ADDRESS);
    refuses(ipv6().source(1), 1, OLAF_NOT_ALLOWED_ADDRESS);
    refuses(ipv4().source(2).source_port(2223), 2, OLAF_NOT_ALLOWED_ADDRESS);
    refuses(ipv4().source(3), 3, OLAF_NOT_ALLOWED_ADDRESS);
    EXPECT_EQ(address(1), "10.0.0.1:40000"); // taken, but not learnt: it was heard a moment ago
    EXPECT_EQ(address(2), "10.0.0.2:2222");
}

TEST_F(Strict, WhoWasForgottenIsAStranger) {
    enrol("1=10.0.0.1");
    takes(ipv4(), 1);
    ASSERT_TRUE(olaf::forget_members(queue.queue().program_fd("olaf_enrol"), cluster));
    refuses(ipv4(), 1, OLAF_NOT_ALLOWED_WORKER);
}

/// Of the test below: whose MAC address is of such bytes.
std::uint8_t host_of(std::uint8_t byte) { return byte == 6 ? 2 : 1; }

/// From every CPU at once, and with user space between them: a reader never sees half a member.
TEST_F(Enrol, WritersOnSeveralCpusLeaveNoTornMember) {
    std::vector<std::jthread> writers; // they stop as they go, however the test ends
    // Two of one host's, who may both write at any time, and one of another's.
    for (const std::uint8_t byte : {2, 4, 6})
        writers.emplace_back([&, byte](const std::stop_token &stop) {
            const Mac mac = {byte, byte, byte, byte, byte, byte};
            const auto host = host_of(byte);
            const auto frame = ipv4().from(mac).source(host).source_port(host).carrying(
                Update{.cluster = cluster, .worker = 0});
            while (!stop.stop_requested())
                queue.offer(frame);
        });
    writers.emplace_back([&](const std::stop_token &stop) {
        while (!stop.stop_requested()) {
            (void)olaf::forget_members(queue.queue().program_fd("olaf_enrol"), cluster);
            // New ones are admitted again. What a program has just written of the roster may be lost, so this
            // says what it must be: Harness::admit_more() would write the end that it read before.
            queue.set_roster(cluster, {.end = 1, .pad = 0, .admitted = 0});
        }
    });
    std::uint64_t seen[3] = {};
    const int members = queue.queue().map_fd("olaf_members");
    const int rosters = queue.queue().map_fd("olaf_rosters");
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (int i = 0; i < 20'000 || !seen[1] || !seen[2]; i++) {
        if (std::chrono::steady_clock::now() > deadline)
            throw WaitRanOut("a member of each host");
        const auto known = olaf::read_members(members, rosters, queue.config(), cluster);
        ASSERT_TRUE(known) << known.error().message();
        if (known->empty()) {
            seen[0]++;
            continue;
        }
        const auto &member = known->front().member;
        ASSERT_TRUE(member.mac[0] == 2 || member.mac[0] == 4 || member.mac[0] == 6);
        const auto host = host_of(member.mac[0]);
        seen[host]++;
        ASSERT_EQ(olaf::member_address_text(member),
                  "10.0.0." + std::to_string(host) + ":" + std::to_string(host));
        for (const auto byte : member.mac)
            ASSERT_EQ(byte, member.mac[0]);
    }
}

} // namespace
} // namespace olaf::test::enrol_test
