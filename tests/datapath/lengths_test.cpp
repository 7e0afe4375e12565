// SPDX-License-Identifier: BSD-2-Clause
// Every element format and a range of lengths, in one buffer and in several, up to jumbo frames.
#include "queue_test.hpp"

namespace olaf::test::lengths_test {
namespace {

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

} // namespace
} // namespace olaf::test::lengths_test
