// SPDX-License-Identifier: BSD-2-Clause
// Members of clusters: how they are learnt, enrolled and refreshed, and strangers.
#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "ack_test.hpp"
#include "loader/datapath/members.hpp"
#include "queue_test.hpp"
#include "tests/patience.hpp"
#include "upstream.hpp"

namespace olaf::test::members_test {
namespace {

// ---- Who is learnt from which update, and who isn't.

class Members : public QueueTest {
  protected:
    Members() { queue.link_busy(); }

    void hear(const Path &path, std::uint32_t worker, std::uint32_t cluster = 1) {
        queue.offer(path.carrying(Update{.cluster = cluster, .worker = worker}));
    }
};

TEST_F(Members, AnUpdateSaysHowItsWorkerIsReached) {
    const Mac mac = {2, 0, 0, 0, 9, 9};
    const auto before = monotonic_ns();
    hear(ipv4().from(mac).source(17).source_port(1234).service_vlan(8).vlan(9), 5);
    const auto member = queue.member(1, 5);
    EXPECT_EQ(member.sequence, 2u);
    EXPECT_EQ(member.family, 4);
    EXPECT_EQ(member.flags, 0);
    EXPECT_GE(member.last_seen_ns, before);
    EXPECT_LE(member.last_seen_ns, monotonic_ns());
    EXPECT_EQ(ntohl(member.addr_be[0]), 0x0a000011u);
    EXPECT_EQ(ntohl(member.local_addr_be[0]), 0x0a000102u);
    EXPECT_EQ(ntohs(member.port_be), 1234);
    EXPECT_TRUE(std::ranges::equal(member.mac, mac));
    EXPECT_EQ(member.tags, 2);
    EXPECT_EQ(ntohs(member.tag[0].proto_be), 0x88a8);
    EXPECT_EQ(ntohs(member.tag[0].tci_be), 8);
    EXPECT_EQ(ntohs(member.tag[1].proto_be), 0x8100);
    EXPECT_EQ(ntohs(member.tag[1].tci_be), 9);
    EXPECT_EQ(queue.roster(1).end, 6u);
}

TEST_F(Members, OverIpv6AsWell) {
    hear(ipv6().hop_by_hop(8).source(17).source_port(1234), 0);
    const auto member = queue.member(1, 0);
    EXPECT_EQ(member.family, 6);
    EXPECT_EQ(ntohl(member.addr_be[0]), 0xfd000000u);
    EXPECT_EQ(ntohl(member.addr_be[3]), 17u);
    EXPECT_EQ(ntohl(member.local_addr_be[1]), 1u);
    EXPECT_EQ(ntohl(member.local_addr_be[3]), 2u);
    EXPECT_EQ(member.tags, 0);
    EXPECT_EQ(member.tag[0].proto_be, 0);
}

TEST_F(Members, WhatIsKnownIsNotWrittenAgain) {
    for (const auto &path : {ipv4(), ipv6(), ipv4().vlan(3)}) {
        hear(path, 1);
        const auto known = queue.member(1, 1);
        for (int i = 0; i < 20; i++)
            hear(path, 1);
        EXPECT_EQ(queue.member(1, 1).sequence, known.sequence);
        EXPECT_EQ(queue.member(1, 1).last_seen_ns, known.last_seen_ns);
    }
}

TEST_F(Members, AnotherMacAddressAndOtherTagsAreFollowedAtOnce) {
    hear(ipv4(), 1);
    std::uint32_t writes = 2;
    for (const auto &path : {ipv4().from({2, 2, 2, 2, 2, 2}), ipv4().vlan(7).from({2, 2, 2, 2, 2, 3}),
                             ipv4().service_vlan(9).vlan(7)}) {
        hear(path, 1);
        writes += 2;
        EXPECT_EQ(queue.member(1, 1).sequence, writes);
    }
    EXPECT_EQ(queue.member(1, 1).tags, 2);
    EXPECT_EQ(queue.ack_counters().takeovers_refused, 0u);
}

TEST_F(Members, WorkersWithoutAPlaceAreCountedAndNothingGrows) {
    for (const std::uint32_t worker : {256u, 257u, 0xfffffffeu, 0xffffffffu})
        hear(ipv4(), worker);
    EXPECT_EQ(queue.ack_counters().unplaced, 4u);
    EXPECT_EQ(queue.totals().received, 4u);
    for (std::uint32_t cluster = 0; cluster < queue.config().max_clusters; cluster++) {
        EXPECT_EQ(queue.roster(cluster).end, 0u);
        for (std::uint32_t worker = 0; worker < queue.config().max_workers; worker++)
            ASSERT_EQ(queue.member(cluster, worker).sequence, 0u);
    }
}

TEST_F(Members, NobodyIsLearntFromWhatIsRefused) {
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 1, .count = 0}));
    queue.offer(ipv4().carrying(Update{.cluster = 8, .worker = 1}));
    queue.offer(ipv4().carrying(control_message()));
    queue.offer(ipv4().carrying(Ack{.cluster = 1, .worker = 1}));
    EXPECT_EQ(queue.roster(1).end, 0u);
}

// ---- Workers that user space registers, and --strict, which takes no others.

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
    queue.silence(cluster, 1, olaf_member_hold_ns(queue.config().member_timeout_ns));
    hear(ipv4().source_port(2222), 1);
    EXPECT_EQ(address(1), "10.0.0.1:2222");
    EXPECT_EQ(queue.member(cluster, 1).flags, OLAF_MEMBER_REGISTERED);
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

// ---- A member is heard again after a while: mostly the time alone is written.

class Refresh : public QueueTest, public testing::WithParamInterface<int> {
  protected:
    Refresh() {
        queue.set_rule(1, rule(OLAF_POLICY_NEWEST)); // one waits, however many come
        queue.link_busy();
    }

    [[nodiscard]] static Path known_path() { return GetParam() == 4 ? ipv4() : ipv6(); }
    void hear(const Path &path) { queue.offer(path.carrying(Update{.cluster = 1, .worker = 1})); }
    [[nodiscard]] olaf_member known() const { return queue.member(1, 1); }
    [[nodiscard]] std::uint64_t refresh_ns() const {
        return olaf_member_refresh_ns(queue.config().member_timeout_ns);
    }
    void be_silent_for(std::uint64_t ns) { queue.silence(1, 1, ns); }
    /// The address that the member has becomes this host's.
    void take_its_address() { queue.own(answer(known_path()).carrying(Ack{})); }
    /// Hears it after a refresh's time. Returns whether that was written down.
    bool is_refreshed(const Path &path) {
        be_silent_for(refresh_ns());
        const auto before = known();
        hear(path);
        const auto after = known();
        EXPECT_EQ(after.sequence - before.sequence,
                  after.last_seen_ns != before.last_seen_ns ? 2u : 0u);
        return after.last_seen_ns > before.last_seen_ns;
    }
};

TEST_P(Refresh, NothingButTheTimeChangesWhereAllIsAsKnown) {
    for (const auto &path :
         {known_path(), known_path().vlan(3), known_path().service_vlan(8).vlan(9)}) {
        queue.set_member(1, 1, {});
        hear(path);
        auto expected = known();
        if (expected.tags == 1) // also of one that was registered
            expected.flags = OLAF_MEMBER_REGISTERED | OLAF_MEMBER_PORT_BOUND;
        queue.set_member(1, 1, expected);
        for (int i = 0; i < 3 * OLAF_MEMBER_FULL_REFRESHES; i++) {
            EXPECT_TRUE(is_refreshed(path)) << i;
            expected.sequence += 2;
            expected.last_seen_ns = known().last_seen_ns;
            const auto now = known();
            ASSERT_EQ(std::memcmp(&now, &expected, sizeof now), 0) << i;
        }
    }
}

/// Who has become this host itself is no member: that alone a frame doesn't tell.
TEST_P(Refresh, OneOfSoManyLooksAtTheWholeSender) {
    hear(known_path());
    take_its_address();
    int refreshes = 0;
    while (refreshes < 2 * OLAF_MEMBER_FULL_REFRESHES && is_refreshed(known_path()))
        refreshes++;
    EXPECT_EQ(refreshes, OLAF_MEMBER_FULL_REFRESHES - 1) << "the others write the time alone";
    EXPECT_EQ(queue.ack_counters().sources_refused, 1u);
    for (std::uint64_t refused = 2; refused < 5; refused++) {
        EXPECT_FALSE(is_refreshed(known_path())) << "it is looked at until it is well again";
        EXPECT_EQ(queue.ack_counters().sources_refused, refused);
    }
}

TEST_P(Refresh, AfterALongSilenceTheWholeSenderIsLookedAt) {
    hear(known_path());
    take_its_address();
    be_silent_for(OLAF_MEMBER_FULL_REFRESHES * refresh_ns());
    hear(known_path());
    EXPECT_EQ(queue.ack_counters().sources_refused, 1u);
    EXPECT_EQ(known().sequence, 2u);
}

TEST_P(Refresh, OtherTagsAreWrittenWithIt) {
    const Mac mac = {2, 0, 0, 0, 9, 9};
    hear(known_path());
    EXPECT_TRUE(is_refreshed(known_path().from(mac))); // and so is another MAC address
    EXPECT_TRUE(std::ranges::equal(known().mac, mac));
    const auto tags = [&] {
        std::vector<unsigned> ids;
        for (int i = 0; i < known().tags; i++)
            ids.push_back(unsigned{ntohs(known().tag[i].proto_be)} << 16 |
                          ntohs(known().tag[i].tci_be));
        return ids;
    };
    const std::pair<Path, std::vector<unsigned>> changes[] = {
        {known_path().vlan(7), {0x8100'0007}},
        {known_path().vlan(8), {0x8100'0008}},
        {known_path().service_vlan(8), {0x88a8'0008}},
        {known_path().service_vlan(8).vlan(9), {0x88a8'0008, 0x8100'0009}},
        {known_path().service_vlan(8).vlan(7), {0x88a8'0008, 0x8100'0007}},
        {known_path(), {}}};
    for (const auto &[path, expected] : changes) {
        EXPECT_TRUE(is_refreshed(path));
        EXPECT_EQ(tags(), expected);
    }
}

TEST_P(Refresh, WhoIsBeingWrittenIsLeftAlone) {
    hear(known_path());
    auto member = known();
    member.sequence++;
    member.last_seen_ns -= refresh_ns();
    queue.set_member(1, 1, member);
    hear(known_path());
    EXPECT_EQ(known().sequence, member.sequence);
    EXPECT_EQ(known().last_seen_ns, member.last_seen_ns);
}

INSTANTIATE_TEST_SUITE_P(Ip, Refresh, testing::Values(4, 6), by_version);

// ---- Anybody can write any address and any worker id into a frame: whom the queue doesn't learn.

class Strangers : public QueueTest {
  protected:
    explicit Strangers(const olaf::DatapathConfig &config = small_queue()) : QueueTest(config) {
        queue.set_rule(1, rule(OLAF_POLICY_NEWEST)); // one waits, however many come
        queue.link_busy();
    }

    void hear(const Frame &frame) {
        const auto before = queue.totals().received;
        queue.offer(frame);
        EXPECT_EQ(queue.totals().received, before + 1) << "its update counts all the same";
    }
    void hear(const Path &path, std::uint32_t worker = 1) {
        hear(path.carrying(Update{.cluster = 1, .worker = worker}));
    }
    [[nodiscard]] bool knows(std::uint32_t worker) const {
        return queue.member(1, worker).family != 0;
    }
    void be_silent_for(std::uint64_t ns) { queue.silence(1, 1, ns); }
    [[nodiscard]] std::uint64_t hold_ns() const {
        return olaf_member_hold_ns(queue.config().member_timeout_ns);
    }
    void is_refused(const Path &path) {
        const auto known = queue.member(1, 1);
        const auto before = queue.ack_counters().takeovers_refused;
        hear(path);
        EXPECT_EQ(queue.member(1, 1).sequence, known.sequence); // nothing was written
        EXPECT_EQ(queue.ack_counters().takeovers_refused, before + 1);
    }
    void is_learnt(const Path &path) {
        const auto before = queue.member(1, 1);
        const auto refused = queue.ack_counters().takeovers_refused;
        hear(path);
        EXPECT_EQ(queue.member(1, 1).sequence, before.sequence + 2);
        EXPECT_EQ(queue.ack_counters().takeovers_refused, refused);
    }
};

/// The timeout is shorter than a guest has been up: its clock starts at 0, and a silence must fit before now.
class Takeovers : public Strangers {
  protected:
    Takeovers()
        : Strangers(small_queue([](auto &config) { config.member_timeout_ns = 2'000'000'000; })) {}
};

/// The frame, as if sent from that address; checksums right.
Frame sent_from(const Path &path, const std::string &address) {
    auto frame = path.carrying(Update{.cluster = 1, .worker = 1});
    const bool four = path.family() == 4;
    inet_pton(four ? AF_INET : AF_INET6, address.c_str(), &frame.bytes[frame.l3 + (four ? 12 : 8)]);
    return summed(frame);
}

TEST_F(Strangers, OnlyASourceThatAnAckMayGoToIsLearnt) {
    std::uint64_t refused = 0;
    const auto is_refused = [&](const Path &path, const std::string &address) {
        hear(sent_from(path, address));
        EXPECT_FALSE(knows(1)) << address;
        EXPECT_EQ(queue.ack_counters().sources_refused, ++refused) << address;
    };
    for (const auto *address : {"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "224.0.0.1",
                                "239.255.255.255", "255.255.255.255", "10.0.1.9" /* ours */})
        is_refused(ipv4(), address);
    for (const auto *address : {"::", "::1", "ff02::1", "ff0e::7", "fd00:0:0:1::9" /* ours */})
        is_refused(ipv6().vlan(3), address);
    hear(ipv4().source_port(0));
    hear(ipv4().from({0xff, 0xff, 0xff, 0xff, 0xff, 0xff})); // copies would flood the network
    EXPECT_FALSE(knows(1));
    EXPECT_EQ(queue.ack_counters().sources_refused, refused + 2);
    EXPECT_EQ(queue.roster(1).end, 0u);
    EXPECT_EQ(queue.roster(1).admitted, 0u);
}

TEST_F(Strangers, EveryUnicastSourceIsLearnt) {
    for (const auto *address : {"1.0.0.0", "126.255.255.255", "128.0.0.1", "223.255.255.255",
                                "240.0.0.1", "10.0.2.2"}) {
        hear(sent_from(ipv4(), address));
        EXPECT_TRUE(knows(1)) << address;
        queue.set_member(1, 1, {});
    }
    for (const auto *address : {"::2", "::1:0:0:1", "2001:db8::1", "fe80::1", "feff::1"}) {
        hear(sent_from(ipv6(), address));
        EXPECT_TRUE(knows(1)) << address;
        queue.set_member(1, 1, {});
    }
}

class StrangersOnTheWay : public Strangers {
  protected:
    StrangersOnTheWay() : Strangers(small_queue([](auto &config) {
        config.deliver = OLAF_DELIVER_FORWARD;
        config.egress_ifindex = 1;
    })) {}
};

TEST_F(StrangersOnTheWay, NobodyIsWhereItsUpdateGoes) {
    hear(sent_from(ipv4(), "10.0.1.2"));
    hear(sent_from(ipv6(), "fd00:0:0:1::2"));
    EXPECT_FALSE(knows(1));
    EXPECT_EQ(queue.ack_counters().sources_refused, 2u);
    hear(sent_from(ipv4(), "10.0.1.3"));
    EXPECT_TRUE(knows(1));
}

class StrangersUpstream : public Strangers, public testing::WithParamInterface<int> {
  protected:
    StrangersUpstream() : Strangers(upstream_of(small_queue(), 1, GetParam())) {}
};

TEST_P(StrangersUpstream, TheAddressThatTheQueueSpeaksFromIsNobodyElses) {
    const auto path = GetParam() == 4 ? ipv4() : ipv6();
    hear(sent_from(path, GetParam() == 4 ? "10.0.1.1" : "fd00:0:0:1::1"));
    EXPECT_FALSE(knows(1));
    EXPECT_EQ(queue.ack_counters().sources_refused, 1u);
    hear(path);
    EXPECT_TRUE(knows(1));
}

INSTANTIATE_TEST_SUITE_P(Ip, StrangersUpstream, testing::Values(4, 6), by_version);

TEST_F(Takeovers, ALiveMemberKeepsItsPlaceAgainstAnotherAddress) {
    hear(ipv4());
    is_refused(ipv4().source(9));
    is_refused(ipv4().source(9).source_port(7));
    is_refused(ipv6());
    be_silent_for(hold_ns());
    is_refused(ipv4().source(9));
    is_refused(ipv6());
    queue.set_member(1, 1, {});
    hear(ipv6());
    is_refused(ipv6().source(9));
    is_refused(ipv4());
}

TEST_F(Takeovers, OneThatTimedOutDoesNot) {
    for (const auto &path : {ipv4().source(9), ipv6(), ipv6().source(9), ipv4()}) {
        hear(ipv4());
        be_silent_for(queue.config().member_timeout_ns);
        is_learnt(path);
        queue.set_member(1, 1, {});
    }
}

TEST_F(Takeovers, APortOrAServerIsChangedAfterAShortSilenceAlone) {
    for (const auto &known : {ipv4(), ipv6()})
        for (const auto &next : {Path(known).source_port(7), Path(known).target(3)}) {
            hear(known);
            is_refused(next);
            be_silent_for(olaf_member_refresh_ns(queue.config().member_timeout_ns));
            is_refused(next); // no refresh either
            be_silent_for(hold_ns());
            is_learnt(next);
            is_refused(known);
            queue.set_member(1, 1, {});
        }
}

/// A CPU may have looked at the clock before the one that saw the member last.
TEST_F(Takeovers, AMemberThatWasSeenInTheFutureLives) {
    hear(ipv4());
    auto member = queue.member(1, 1);
    member.last_seen_ns = monotonic_ns() + 3'600'000'000'000;
    queue.set_member(1, 1, member);
    is_refused(ipv4().source(9));
    is_refused(ipv4().source_port(7));
}

TEST_F(Takeovers, WhoIsRefusedKeepsNobodyElseOut) {
    hear(ipv4());
    for (int i = 0; i < 100; i++)
        is_refused(ipv4().source(9));
    be_silent_for(olaf_member_refresh_ns(queue.config().member_timeout_ns));
    is_learnt(ipv4());
}

TEST_F(Strangers, AClusterGainsSoManyMembersASecondAndTheOthersLater) {
    // A second that no clock has reached doesn't end while the test runs.
    const std::uint64_t second = ((monotonic_ns() >> OLAF_ADMISSION_SHIFT) + 1000) << 32;
    queue.set_roster(1, {.end = 0, .pad = 0, .admitted = second});
    for (std::uint32_t worker = 0; worker < OLAF_MOST_ADMISSIONS + 10; worker++) {
        hear(ipv4().source_port(static_cast<std::uint16_t>(1000 + worker)), worker);
        EXPECT_EQ(knows(worker), worker < OLAF_MOST_ADMISSIONS) << worker;
    }
    EXPECT_EQ(queue.ack_counters().deferred, 10u);
    EXPECT_EQ(queue.roster(1).admitted, second + OLAF_MOST_ADMISSIONS);
    queue.offer(ipv4().carrying(Update{.cluster = 2, .worker = 3})); // has seconds of its own
    EXPECT_NE(queue.member(2, 3).family, 0);

    auto roster = queue.roster(1);
    roster.admitted = OLAF_MOST_ADMISSIONS; // full, but of a second that is over
    queue.set_roster(1, roster);
    hear(ipv4().source_port(1073), 73);
    EXPECT_TRUE(knows(73));
    EXPECT_EQ(queue.ack_counters().deferred, 10u);
}

TEST_F(Strangers, MembersThatAreKnownAreNotCountedAgain) {
    const std::uint64_t second = ((monotonic_ns() >> OLAF_ADMISSION_SHIFT) + 1000) << 32;
    queue.set_roster(1, {.end = 0, .pad = 0, .admitted = second});
    hear(ipv4());
    for (int i = 0; i < 5; i++) {
        be_silent_for(hold_ns());
        hear(ipv4().source_port(static_cast<std::uint16_t>(2000 + i)));
        hear(ipv4().from({2, 0, 0, 0, 0, static_cast<std::uint8_t>(i)}));
    }
    EXPECT_EQ(queue.roster(1).admitted, second + 1);
}

} // namespace
} // namespace olaf::test::members_test
