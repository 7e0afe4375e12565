// SPDX-License-Identifier: BSD-2-Clause
// Every header form, element format and length, through the queue and out again.
#include "queue_test.hpp"

namespace olaf::test::headers_test {
namespace {

struct Form {
    std::string name;
    Path path;
};

const std::vector<Form> forms = {
    {"ipv4", ipv4()},
    {"ipv4_vlan", ipv4().vlan(7)},
    {"ipv4_service_vlan", ipv4().service_vlan(7)},
    {"ipv4_two_vlans", ipv4().service_vlan(100).vlan(7)},
    {"ipv4_options", ipv4().options(4)},
    {"ipv4_all_options", ipv4().options(40)},
    {"ipv4_two_vlans_all_options", ipv4().vlan(1).vlan(2).options(40)},
    {"ipv4_tos_ttl_id", ipv4().tos(0xb8).ttl(1).id(0xffff)},
    {"ipv6", ipv6()},
    {"ipv6_vlan", ipv6().vlan(7)},
    {"ipv6_two_vlans", ipv6().service_vlan(100).vlan(7)},
    {"ipv6_hop_by_hop", ipv6().hop_by_hop()},
    {"ipv6_destination_options", ipv6().destination_options(24)},
    {"ipv6_extensions", ipv6().hop_by_hop().destination_options()},
    {"ipv6_two_vlans_extensions", ipv6().vlan(1).vlan(2).hop_by_hop(16).destination_options(16)},
    {"ipv6_traffic_class", ipv6().tos(0xb8).ttl(255)},
};

class HeaderForms : public QueueTest {
  protected:
    /// Offers a frame whose update waits; the one that waited before must leave in its place.
    void offer_next(const Path &path, Update update) {
        update.cluster = ++offered % 8;
        queue.link_free();
        auto ran = queue.offer(path.carrying(update));
        if (offered == 1) {
            EXPECT_EQ(ran.verdict, XDP_DROP);
        } else {
            expect_sent(ran, expected);
        }
        expected = Path(path).without_udp_checksum().carrying(update).bytes;
    }

    /// The first one finds a busy link.
    void offer_first(const Path &path, Update update) {
        update.cluster = ++offered % 8;
        append(path.carrying(update));
        expected = Path(path).without_udp_checksum().carrying(update).bytes;
    }

    std::uint32_t offered = 0;
    Bytes expected;
};

TEST_F(HeaderForms, EachDepartsWithItsOwnHeadersInAFrameOfEachOther) {
    offer_first(ipv4(), {});
    for (const auto &form : forms)
        for (const auto &carrier : forms) {
            SCOPED_TRACE(form.name + " carried by " + carrier.name);
            offer_next(form.path, {.worker = 2, .lanes = lanes_of(12)});
            offer_next(carrier.path, {.worker = 3, .lanes = lanes_of(1 + offered % 30)});
        }
}

TEST_F(HeaderForms, EachPassesThroughUnchanged) {
    for (const auto &form : forms) {
        SCOPED_TRACE(form.name);
        queue.link_free();
        Frame frame = form.path.carrying(Update{.cluster = 1});
        expect_sent(queue.offer(frame), frame.bytes);
    }
    EXPECT_EQ(queue.totals().passed_through, forms.size());
}

TEST_F(HeaderForms, BytesBehindTheIpPacketDoNotDepart) {
    Frame padded = ipv4().without_udp_checksum().carrying(Update{.cluster = 1});
    Bytes bare = padded.bytes;
    padded.bytes.resize(padded.size() + 9, 0xee);
    append(padded);
    queue.link_free();
    expect_sent(queue.offer(ipv4().carrying(Update{.cluster = 2})), bare);
}

TEST_F(HeaderForms, FlagsWithoutAMeaningAreZeroOnceQueued) {
    append(ipv4().carrying(Update{.cluster = 1, .extra_flags = 0xf0fe & ~0x0f00}));
    queue.link_free();
    expect_sent(queue.offer(ipv4().carrying(Update{.cluster = 2})),
                ipv4().without_udp_checksum().carrying(Update{.cluster = 1}).bytes);
}

TEST_F(HeaderForms, FoldingKeepsTheHeadersOfTheNewestWhateverTheirLength) {
    const std::vector<std::vector<Path>> same_way = {
        {ipv4(), ipv4().options(40), ipv4().options(4), ipv4().tos(0xb8).ttl(1).id(0xffff)},
        {ipv4().vlan(1).vlan(2), ipv4().vlan(1).vlan(2).options(40), ipv4().vlan(1).vlan(2)},
        {ipv6(), ipv6().hop_by_hop(), ipv6().destination_options(24), ipv6().tos(0xb8).ttl(255)},
        {ipv6().vlan(7), ipv6().vlan(7).hop_by_hop(16).destination_options(16), ipv6().vlan(7)}};
    for (const auto &paths : same_way) {
        queue.reset();
        std::uint32_t count = 0;
        for (const auto &path : paths) {
            SCOPED_TRACE(count);
            const auto frame = path.carrying(Update{.cluster = 1, .worker = count, .lanes = {1, 2}});
            queue.link_busy();
            queue.offer(frame);
            const auto waiting = queue.waiting();
            ASSERT_EQ(waiting.size(), 1u);
            EXPECT_EQ(hex(waiting[0].headers), hex(std::span(frame.bytes).first(frame.message)));
            EXPECT_EQ(waiting[0].pending.count, ++count);
        }
    }
}

} // namespace
} // namespace olaf::test::headers_test
