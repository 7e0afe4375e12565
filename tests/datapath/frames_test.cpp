// SPDX-License-Identifier: BSD-2-Clause
// Frames whose checksum is wrong, and what is known of a frame beside its bytes.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>

#include <numeric>

#include "queue_test.hpp"
#include "testbed.hpp"

namespace olaf::test::frames_test {
namespace {

// ---- Updates with a wrong UDP checksum: refused as malformed, and they change nothing. With --no-verify
// that is so where nobody would find the damage.

/// All that an entry holds.
auto all_of(const Waiting &entry) {
    std::span<const std::uint8_t> pending(reinterpret_cast<const std::uint8_t *>(&entry.pending),
                                          sizeof entry.pending);
    return std::tuple(hex(pending), hex(entry.headers), entry.lanes, entry.place.bytes);
}

class Checksum : public testing::TestWithParam<bool> {
  protected:
    Harness queue{small_queue([](auto &config) {
        config.verify = GetParam();
        config.max_lanes = 1120;
    })};

    Checksum() {
        queue.set_link(UINT64_MAX / 2, UINT64_MAX / 2);
        for (std::uint32_t cluster = 0; cluster < 8; cluster++)
            queue.set_rule(cluster, rule(OLAF_POLICY_AGGREGATE));
    }

    auto all_waiting() const {
        std::vector<decltype(all_of({}))> all;
        for (const auto &entry : queue.waiting())
            all.push_back(all_of(entry));
        return all;
    }

    /// A frame whose cluster or count nobody may have is refused for that, without a look at its sum.
    static constexpr std::uint64_t seen_before_the_sum = 2;
    static std::uint64_t refusals(const olaf_counters &counters) {
        return std::accumulate(std::begin(counters.not_allowed), std::end(counters.not_allowed),
                               counters.malformed[OLAF_MALFORMED_UDP_CHECKSUM]);
    }

    /// Every bit of the frame's datagram, flipped alone, but those that other checks find first.
    void expect_refused(const Frame &good, const How &how = {}) {
        const auto before = queue.counters();
        const auto waiting = all_waiting();
        std::uint64_t refused = 0;
        for (std::size_t at = good.message + 8; at < good.size(); at += 7) {
            Frame bad = good;
            bad.bytes[at] ^= static_cast<std::uint8_t>(1u << at % 8);
            EXPECT_EQ(queue.offer(bad.bytes, how).verdict, XDP_DROP);
            refused++;
        }
        const auto after = queue.counters();
        EXPECT_EQ(refusals(after), refusals(before) + refused);
        EXPECT_GE(after.malformed[OLAF_MALFORMED_UDP_CHECKSUM],
                  before.malformed[OLAF_MALFORMED_UDP_CHECKSUM] + refused - seen_before_the_sum);
        EXPECT_EQ(after.received, before.received);
        EXPECT_EQ(all_waiting(), waiting);
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

TEST_P(Checksum, WithAChecksumLaneItIsRefusedUnlessNoVerify) {
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

/// Whatever the policy would have said to it: the entry that it would have replaced, sealed or joined the
/// queue beside is as it was.
TEST_P(Checksum, AWrongOneIsRefusedByEveryPolicy) {
    std::uint32_t cluster = 0;
    for (const auto policy : {OLAF_POLICY_AGGREGATE, OLAF_POLICY_NEWEST, OLAF_POLICY_OLAF, OLAF_POLICY_FIFO})
        for (const std::int64_t reward : {-100, 0, 100}) {
            SCOPED_TRACE(testing::Message() << policy << " " << reward);
            queue.set_rule(cluster, rule(policy, 10));
            expect_taken(ipv4().carrying(Update{.cluster = cluster, .worker = 1, .checksum = false}));
            expect_refused(ipv4().carrying(Update{
                .cluster = cluster, .worker = 2, .reward = reward, .checksum = false}));
            EXPECT_EQ(queue.broken_identity(), "");
            cluster = (cluster + 1) % 8;
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
        for (const bool lane : {false, true}) {
            queue.reset();
            queue.link_busy();
            const auto frame = partial(path.carrying(Update{.cluster = 4, .checksum = lane}));
            expect_taken(frame);
            expect_taken(frame);
            EXPECT_EQ(queue.totals().aggregated, 1u);
        }
}

/// Its frame may carry away what waits, whose bytes take the place of its own.
TEST_P(Checksum, WhatLeavesInTheFrameOfAWrongOneIsRight) {
    const auto good = ipv4().carrying(Update{.cluster = 5, .checksum = false, .lanes = {1, 2}});
    expect_taken(good);
    queue.link_free();
    auto bad = ipv6().vlan(9).carrying(Update{.cluster = 5, .checksum = false, .lanes = lanes_of(9)});
    bad.bytes.back() ^= 0x80;
    const auto ran = queue.offer(bad);
    EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_UDP_CHECKSUM], 1u);
    if (ran.verdict == XDP_DROP) {
        ASSERT_EQ(queue.waiting().size(), 1u);
        EXPECT_EQ(queue.waiting()[0].lanes, (std::vector<std::uint64_t>{1, 2}));
    } else {
        std::string why;
        const auto left = parse_update(ran.bytes, &why);
        ASSERT_TRUE(left) << why;
        EXPECT_EQ(left->update.lanes, (std::vector<std::uint64_t>{1, 2}));
        EXPECT_EQ(queue.waiting().size(), 0u);
    }
}

TEST_P(Checksum, WhatLeavesHasOneUnlessNoVerify) {
    expect_taken(ipv4().carrying(Update{.cluster = 5}));
    queue.link_free();
    const auto ran = queue.offer(ipv4().carrying(Update{.cluster = 6}));
    std::string why;
    const auto left = parse_update(ran.bytes, &why);
    ASSERT_TRUE(left) << why;
    EXPECT_EQ(left->update.cluster, 5u);
    const auto left_sum = get_be(ran.bytes, left->frame.l4 + 6, 2);
    EXPECT_EQ(left_sum != 0, GetParam());
}

/// A wrong one is no passage either: with nothing before it, it ends here and takes no share of the link.
TEST_P(Checksum, AWrongOneDoesNotPass) {
    queue.link_free();
    const auto link = queue.ring();
    auto bad = ipv4().carrying(Update{.cluster = 5, .checksum = false});
    bad.bytes.back() ^= 0x80;
    EXPECT_EQ(queue.offer(bad).verdict, XDP_DROP);
    EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_UDP_CHECKSUM], 1u);
    EXPECT_EQ(queue.ring().next_departure_ns, link.next_departure_ns);
    EXPECT_EQ(queue.totals().passed_through, 0u);
}

/// Neither a worker nor a cluster is known by a frame that may mean another one.
TEST_P(Checksum, AWrongOneTeachesNothing) {
    auto bad = ipv4().carrying(Update{.cluster = 6, .worker = 3, .checksum = false});
    bad.bytes.back() ^= 0x80;
    queue.offer(bad);
    EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_UDP_CHECKSUM], 1u);
    EXPECT_EQ(queue.member(6, 3).family, 0);
    EXPECT_EQ(queue.active_clusters(monotonic_ns()), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Checksum, testing::Bool(), [](const auto &info) {
    return info.param ? "ByDefault" : "NoVerify";
});

// ---- Generic mode: what the note of an skb says beside the frame's bytes, and what holds without one.

// As bpf/packet/beside.bpf.h has them.
constexpr std::uint32_t known = 0x1, tagged = 0x2, partial_sum = 0x4;

void in_generic_mode(DatapathConfig &config) {
    config.skb_mode = true;
    config.tags_hidden = true; // the device may take tags off
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
    Beside() : QueueTest(small_queue(in_generic_mode)) {}

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
        : QueueTest(small_queue([this](auto &config) {
              in_generic_mode(config);
              config.deliver = OLAF_DELIVER_FORWARD;
              config.ifindex = net.far;
              config.egress_ifindex = net.near;
              config.output_sums = GetParam();
          })) {}

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
