// SPDX-License-Identifier: BSD-2-Clause
// Anybody can write any address and any worker id into a frame: whom the queue doesn't learn.
#include <arpa/inet.h>

#include "ack_test.hpp"
#include "upstream.hpp"

namespace olaf::test::strangers_test {
namespace {

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
    /// As if the member had last been heard so long ago.
    void be_silent_for(std::uint64_t ns) {
        auto member = queue.member(1, 1);
        member.last_seen_ns = time_before_ns(ns);
        queue.set_member(1, 1, member);
    }
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

/// Shorter than a guest has been up: its clock starts at 0, and a silence must fit before now.
olaf::DatapathConfig with_short_timeout() {
    auto config = small_queue();
    config.member_timeout_ns = 2'000'000'000;
    return config;
}

class Takeovers : public Strangers {
  protected:
    Takeovers() : Strangers(with_short_timeout()) {}
};

/// The frame, as if sent from that address; checksums right.
Frame sent_from(const Path &path, const std::string &address) {
    auto frame = path.carrying(Update{.cluster = 1, .worker = 1});
    Bytes words(16);
    inet_pton(path.family() == 4 ? AF_INET : AF_INET6, address.c_str(), words.data());
    const std::size_t at = frame.l3 + (path.family() == 4 ? 12 : 8);
    for (std::size_t i = 0; i < (path.family() == 4 ? 4u : 16u); i++)
        frame.bytes.at(at + i) = words[i];
    if (path.family() == 4)
        set_be(frame.bytes, frame.l3 + 10, ipv4_checksum(frame.bytes, frame.l3), 2);
    set_be(frame.bytes, frame.l4 + 6, udp_checksum(frame.bytes, frame.l3, frame.l4), 2);
    return frame;
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

olaf::DatapathConfig forwarding_queue() {
    auto config = small_queue();
    config.deliver = OLAF_DELIVER_FORWARD;
    config.egress_ifindex = 1;
    return config;
}

class StrangersOnTheWay : public Strangers {
  protected:
    StrangersOnTheWay() : Strangers(forwarding_queue()) {}
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

INSTANTIATE_TEST_SUITE_P(Ip, StrangersUpstream, testing::Values(4, 6),
                         [](const auto &info) { return std::string(info.param == 4 ? "v4" : "v6"); });

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
} // namespace olaf::test::strangers_test
