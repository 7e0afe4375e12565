// SPDX-License-Identifier: BSD-2-Clause
// Frames that the queue takes and sends: every header form, element format and length.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>

#include "queue_test.hpp"
#include "testbed.hpp"

namespace olaf::test::frames_test {
namespace {

// ---- Every header form, element format and length, through the queue and out again.

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

// ---- Every element format and a range of lengths, in one buffer and in several, up to jumbo frames.

/// 9,036 bytes of IP packet: 20 + 8 + 48 + 8 x 1,120, the checksum lane included.
constexpr std::size_t jumbo = 1119;

olaf::DatapathConfig roomy_queue() {
    auto config = small_queue();
    config.max_lanes = OLAF_MAX_LANES;
    config.max_clusters = 3;
    return config;
}

class Lengths : public QueueTest {
  protected:
    Lengths() : QueueTest(roomy_queue()) {
        for (std::uint32_t cluster = 0; cluster < 3; cluster++)
            queue.set_rule(cluster, rule(OLAF_POLICY_AGGREGATE));
    }

    /// Folds two updates, then lets the sum leave in the frame of a third.
    void fold_and_depart(const Path &path, Update update, const How &how = {}) {
        SCOPED_TRACE(std::to_string(update.lanes.size()) + " lanes, format " +
                     std::to_string(update.format));
        queue.reset();
        update.cluster = 1;
        append(path.carrying(update), how);
        auto first = update.lanes;
        update.worker++;
        for (auto &lane : update.lanes)
            lane = ~lane * 3;
        EXPECT_EQ(queue.offer(path.carrying(update), how).verdict, XDP_DROP);
        queue.link_free();
        Update carrier = update;
        carrier.cluster = 2;
        auto ran = queue.offer(path.carrying(carrier), how);
        update.lanes = sum(first, update.lanes);
        update.count = 2;
        update.extra_flags = OLAF_FLAG_AGGREGATED;
        expect_sent(ran, Path(path).without_udp_checksum().carrying(update).bytes);
        EXPECT_EQ(queue.waiting()[0].lanes.size(), carrier.wire_lanes());
    }
};

TEST_F(Lengths, EveryFormatFoldsEveryLengthOfOneBuffer) {
    for (auto format : {OLAF_FORMAT_I32X2, OLAF_FORMAT_I16X4, OLAF_FORMAT_I64X1})
        for (bool checksum : {true, false})
            for (std::size_t lanes : {1, 2, 14, 15, 16, 17, 31, 32, 33, 128, 177, 400})
                fold_and_depart(ipv4(), {.format = format,
                                         .checksum = checksum,
                                         .lanes = lanes_of(lanes)});
}

TEST_F(Lengths, EveryCountOfLanesIsExact) {
    for (std::size_t lanes = 1; lanes <= 70; lanes++)
        fold_and_depart(ipv6().vlan(3), {.lanes = lanes_of(lanes, lanes)});
}

TEST_F(Lengths, FramesOfSeveralBuffersFold) {
    for (std::size_t lanes : {std::size_t{431}, std::size_t{432}, std::size_t{500},
                              std::size_t{900}, jumbo, std::size_t{OLAF_MAX_LANES - 1}})
        for (const auto &path : {ipv4(), ipv6(), ipv4().vlan(1).vlan(2).options(40)})
            fold_and_depart(path, {.lanes = lanes_of(lanes)});
}

TEST_F(Lengths, AJumboFrameIs9036BytesOfIpPacket) {
    Frame frame = ipv4().carrying(Update{.cluster = 1, .lanes = lanes_of(jumbo)});
    EXPECT_EQ(frame.size() - frame.l3, 9036u);
    queue.link_free();
    expect_sent(queue.offer(frame), frame.bytes);
}

TEST_F(Lengths, AFullFrameOf1500IsFolded) {
    fold_and_depart(ipv4(), {.checksum = false, .lanes = lanes_of((1500 - 76) / 8)});
    fold_and_depart(ipv6(), {.checksum = false, .lanes = lanes_of((1500 - 96) / 8)});
}

TEST_F(Lengths, SumsAreModulo2To64) {
    for (std::uint64_t lane : {~0ull, 1ull << 63, 1ull, 0ull})
        fold_and_depart(ipv4(), {.lanes = std::vector<std::uint64_t>(40, lane)});
}

TEST_F(Lengths, AShortHeadLeavesInAJumboFrame) {
    Update head{.cluster = 1, .lanes = {1}};
    append(ipv4().without_udp_checksum().carrying(head));
    queue.link_free();
    expect_sent(queue.offer(ipv4().carrying(Update{.cluster = 2, .lanes = lanes_of(jumbo)})),
                ipv4().without_udp_checksum().carrying(head).bytes);
    EXPECT_EQ(queue.waiting()[0].lanes.size(), jumbo + 1);
}

TEST_F(Lengths, AHeadThatDoesNotFitWaitsForAFrameThatItFits) {
    Update head{.cluster = 1, .lanes = lanes_of(jumbo)};
    append(ipv4().without_udp_checksum().carrying(head));
    queue.link_free();
    EXPECT_EQ(queue.offer(ipv4().carrying(Update{.cluster = 2})).verdict, XDP_DROP);
    EXPECT_EQ(queue.totals().appended, 2u);
    EXPECT_EQ(queue.waiting()[0].pending.cluster, 1u);
    expect_sent(queue.offer(ipv4().carrying(Update{.cluster = 0, .lanes = lanes_of(jumbo)})),
                ipv4().without_udp_checksum().carrying(head).bytes);
}

TEST_F(Lengths, TheHeadersMayEndTheFirstBuffer) {
    if (!can_choose_linear_bytes(queue.queue().program_fd("olaf_ingress"))) {
        RecordProperty("kernel", "can't choose the first buffer's length");
        return;
    }
    Update update{.lanes = lanes_of(100)};
    Frame frame = ipv4().vlan(7).carrying(update);
    for (std::size_t linear : {frame.message + 48, frame.message + 49, frame.message + 48 + 8 * 99,
                               frame.size() - 1})
        fold_and_depart(ipv4().vlan(7), update, {.linear_bytes = linear});
}

// ---- Updates with a wrong UDP checksum: refused as malformed where nobody would find the damage, and
// everywhere with --verify.

olaf::DatapathConfig queue_that(bool verifies) {
    auto config = small_queue();
    config.verify = verifies;
    config.max_lanes = 1120;
    return config;
}

/// By way of the pseudo header's sum alone, as a local socket leaves it.
Frame partial(Frame frame) {
    const auto addresses = frame.family == 4 ? std::span(frame.bytes).subspan(frame.l3 + 12, 8)
                                             : std::span(frame.bytes).subspan(frame.l3 + 8, 32);
    const auto sum = checksum_add(addresses) + 17 + get_be(frame.bytes, frame.l4 + 4, 2);
    const auto folded = static_cast<std::uint16_t>(~checksum_finish(sum));
    return with(std::move(frame), frame.l4 + 6, folded, 2);
}

class Checksum : public testing::TestWithParam<bool> {
  protected:
    Harness queue{queue_that(GetParam())};

    Checksum() {
        queue.set_link(UINT64_MAX / 2, UINT64_MAX / 2);
        for (std::uint32_t cluster = 0; cluster < 8; cluster++)
            queue.set_rule(cluster, {.policy = OLAF_POLICY_AGGREGATE,
                                     .max_count = OLAF_DEFAULT_MAX_COUNT,
                                     .reward_threshold = -1});
    }

    /// Every bit of the frame's datagram, flipped alone, but those that other checks find first.
    void expect_refused(const Frame &good, const How &how = {}) {
        const auto before = queue.counters();
        std::uint64_t refused = 0;
        for (std::size_t at = good.message + 8; at < good.size(); at += 7) {
            Frame bad = good;
            bad.bytes[at] ^= static_cast<std::uint8_t>(1u << at % 8);
            EXPECT_EQ(queue.offer(bad.bytes, how).verdict, XDP_DROP);
            refused++;
        }
        const auto after = queue.counters();
        EXPECT_EQ(after.malformed[OLAF_MALFORMED_UDP_CHECKSUM],
                  before.malformed[OLAF_MALFORMED_UDP_CHECKSUM] + refused);
        EXPECT_EQ(after.received, before.received);
    }
    void expect_taken(const Frame &frame, const How &how = {}) {
        const auto before = queue.counters();
        queue.offer(frame.bytes, how);
        EXPECT_EQ(queue.counters().received, before.received + 1);
    }
};

const std::vector<Path> paths = {ipv4(), ipv6(), ipv4().vlan(7).options(8),
                                 ipv6().service_vlan(3).vlan(7).hop_by_hop()};

TEST_P(Checksum, WithoutAChecksumLaneAWrongOneIsAlwaysRefused) {
    for (const auto &path : paths)
        for (std::size_t lanes : {1, 2, 7, 8, 57, 58, 59, 121, 122, 128, 187, 400, 1119, 1120}) {
            SCOPED_TRACE(lanes);
            const auto frame = path.carrying(Update{.checksum = false, .lanes = lanes_of(lanes)});
            expect_taken(frame);
            expect_refused(frame);
            EXPECT_EQ(queue.broken_identity(), "");
        }
}

TEST_P(Checksum, WithAChecksumLaneThatTakesVerify) {
    for (const auto &path : paths) {
        const auto frame = path.carrying(Update{.cluster = 1, .lanes = lanes_of(100)});
        expect_taken(frame);
        if (GetParam()) {
            expect_refused(frame);
        } else {
            Frame bad = frame;
            bad.bytes.back() ^= 1;
            expect_taken(bad);
        }
    }
}

TEST_P(Checksum, OfFramesInSeveralBuffers) {
    // Elsewhere only what is longer than a page comes in several buffers.
    const bool any_length = can_choose_linear_bytes(queue.queue().program_fd("olaf_ingress"));
    const auto lengths = any_length ? std::vector<std::size_t>{60, 128, 1120}
                                    : std::vector<std::size_t>{1120};
    for (const auto &path : paths)
        for (const std::size_t lanes : lengths) {
            SCOPED_TRACE(lanes);
            const auto frame =
                path.carrying(Update{.cluster = 2, .checksum = false, .lanes = lanes_of(lanes)});
            const auto how =
                any_length ? How{.linear_bytes = frame.message + 48 + 80} : How{};
            expect_taken(frame, how);
            expect_refused(frame, how);
        }
}

TEST_P(Checksum, ZeroIsLegalOverIpv4Alone) {
    for (const bool lane : {false, true}) {
        expect_taken(ipv4().without_udp_checksum().carrying(Update{.cluster = 3, .checksum = lane}));
        const auto frame = ipv6().carrying(Update{.cluster = 3, .checksum = lane});
        const auto before = queue.counters().malformed[OLAF_MALFORMED_UDP_CHECKSUM];
        EXPECT_EQ(queue.offer(with(frame, frame.l4 + 6, 0, 2)).verdict, XDP_DROP);
        EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_UDP_CHECKSUM], before + 1);
    }
}

TEST_P(Checksum, WhatASocketOfThisHostLeftToTheDeviceIsTaken) {
    for (const auto &path : paths)
        expect_taken(partial(path.carrying(Update{.cluster = 4, .checksum = false})));
}

TEST_P(Checksum, AWrongOneNeverDisturbsWhatWaits) {
    const auto good = ipv4().carrying(Update{.cluster = 5, .checksum = false, .lanes = {1, 2}});
    expect_taken(good);
    queue.link_free();
    auto bad = good;
    bad.bytes.back() ^= 0x80;
    EXPECT_EQ(queue.offer(bad).verdict, XDP_DROP);
    ASSERT_EQ(queue.waiting().size(), 1u);
    EXPECT_EQ(queue.waiting()[0].lanes, (std::vector<std::uint64_t>{1, 2}));
}

INSTANTIATE_TEST_SUITE_P(All, Checksum, testing::Bool(), [](const auto &info) {
    return info.param ? "Verifying" : "ByDefault";
});

// ---- Generic mode: what the note of an skb says beside the frame's bytes, and what holds without one.

// As bpf/packet/beside.bpf.h has them.
constexpr std::uint32_t known = 0x1, tagged = 0x2, partial_sum = 0x4;

olaf::DatapathConfig generic() {
    auto config = small_queue();
    config.skb_mode = true;
    config.tags_hidden = true; // the device may take tags off
    return config;
}

/// Notes are kept by CPU: the calling thread stays on one.
class OnOneCpu {
  public:
    OnOneCpu() {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    OnOneCpu(const OnOneCpu &) = delete;
    OnOneCpu &operator=(const OnOneCpu &) = delete;
    ~OnOneCpu() { sched_setaffinity(0, sizeof before_, &before_); }

  private:
    cpu_set_t before_{};
};

/// The tracepoint's note for the next frame.
void note(const Harness &queue, std::uint32_t says) {
    // Values of a per-CPU map are eight bytes apart.
    const std::vector<std::uint64_t> values(static_cast<std::size_t>(libbpf_num_possible_cpus()),
                                            says);
    const std::uint32_t zero = 0;
    const int map = queue.queue().map_fd("olaf_beside");
    ASSERT_EQ(bpf_map_update_elem(map, &zero, values.data(), BPF_ANY), 0);
}

class Beside : public QueueTest {
  protected:
    Beside() : QueueTest(generic()) {}

    void note(std::uint32_t says) { frames_test::note(queue, says); }
    /// An update of cluster 1 is due, a frame with that note comes. Did it take the update along?
    bool rides_beside(std::uint32_t says) {
        queue.reset();
        note(known);
        append(ipv4().carrying(Update{.cluster = 1}));
        queue.link_free();
        note(says);
        queue.offer(ipv4().carrying(Update{.cluster = 2}));
        return queue.totals().departed_riding == 1;
    }

    OnOneCpu cpu;
};

TEST_F(Beside, ATagThatIsNotAmongTheBytesBypasses) {
    queue.link_free();
    note(known | tagged);
    const Frame frame = ipv4().carrying(Update{.cluster = 1});
    const auto ran = queue.offer(frame);
    EXPECT_EQ(ran.verdict, XDP_PASS);
    EXPECT_EQ(hex(ran.bytes), hex(frame.bytes));
    EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_TAGGED], 1u);
    EXPECT_EQ(queue.totals().received, 0u);
}

TEST_F(Beside, ANoteIsOfOneFrameAlone) {
    queue.link_busy();
    note(known | tagged);
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_TAGGED], 1u);
    EXPECT_EQ(queue.totals().received, 1u);
}

TEST_F(Beside, NoDepartureRidesInAFrameThatMayHaveATagOrAPartialChecksum) {
    EXPECT_TRUE(rides_beside(known));
    EXPECT_FALSE(rides_beside(0)); // nobody knows: it may have a tag
    EXPECT_FALSE(rides_beside(known | partial_sum));
}

/// Whether the output device finishes checksums.
class BesideForwarding : private InTestbed,
                         public QueueTest,
                         public testing::WithParamInterface<bool> {
  protected:
    BesideForwarding()
        : QueueTest([this] {
              auto config = generic();
              config.deliver = OLAF_DELIVER_FORWARD;
              config.ifindex = net.far;
              config.egress_ifindex = net.near;
              config.output_sums = GetParam();
              return config;
          }()) {}

    OnOneCpu cpu;
};

TEST_P(BesideForwarding, APartialChecksumPassesOnlyWhereTheOutputFinishesIt) {
    queue.link_free();
    frames_test::note(queue, known | partial_sum);
    const auto verdict = queue.offer(ipv4().carrying(Update{.cluster = 1})).verdict;
    EXPECT_EQ(verdict == XDP_REDIRECT, GetParam());
    EXPECT_EQ(queue.waiting().size(), GetParam() ? 0u : 1u);
}

INSTANTIATE_TEST_SUITE_P(Output, BesideForwarding, testing::Bool(), [](const auto &info) {
    return info.param ? "WithOffload" : "WithoutOffload";
});

} // namespace
} // namespace olaf::test::frames_test
