// SPDX-License-Identifier: BSD-2-Clause
// A member is heard again after a while: mostly the time alone is written.
#include <arpa/inet.h>

#include "queue_test.hpp"

namespace olaf::test::refresh_test {
namespace {

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
    /// As if the member had last been heard so long ago.
    void be_silent_for(std::uint64_t ns) {
        auto member = known();
        member.last_seen_ns = time_before_ns(ns);
        queue.set_member(1, 1, member);
    }
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

TEST_P(Refresh, AnotherPortOrServerIsNoRefresh) {
    for (const auto &path : {known_path().source_port(7), known_path().target(3)}) {
        queue.set_member(1, 1, {});
        hear(known_path());
        const auto refused = queue.ack_counters().takeovers_refused;
        EXPECT_FALSE(is_refreshed(path));
        EXPECT_EQ(queue.ack_counters().takeovers_refused, refused + 1);
    }
}

TEST_P(Refresh, AnotherMacAddressIsWrittenWithIt) {
    const Mac mac = {2, 0, 0, 0, 9, 9};
    hear(known_path());
    EXPECT_TRUE(is_refreshed(known_path().from(mac)));
    EXPECT_TRUE(std::ranges::equal(known().mac, mac));
}

TEST_P(Refresh, OtherTagsAreWrittenWithIt) {
    hear(known_path());
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

TEST_P(Refresh, ARegisteredOneStaysSo) {
    hear(known_path());
    auto member = known();
    member.flags = OLAF_MEMBER_REGISTERED | OLAF_MEMBER_PORT_BOUND;
    queue.set_member(1, 1, member);
    EXPECT_TRUE(is_refreshed(known_path()));
    EXPECT_EQ(known().flags, member.flags);
}

INSTANTIATE_TEST_SUITE_P(Ip, Refresh, testing::Values(4, 6), [](const auto &info) {
    return std::string(info.param == 4 ? "v4" : "v6");
});

} // namespace
} // namespace olaf::test::refresh_test
