// SPDX-License-Identifier: BSD-2-Clause
// Generic mode: what the note of an skb says beside the frame's bytes, and what holds without one.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>

#include "queue_test.hpp"
#include "testbed.hpp"

namespace olaf::test::beside_test {
namespace {

// As bpf/packet/beside.bpf.h has them.
constexpr std::uint32_t known = 0x1, tagged = 0x2, partial = 0x4;

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

    void note(std::uint32_t says) { beside_test::note(queue, says); }
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
    EXPECT_FALSE(rides_beside(known | partial));
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
    beside_test::note(queue, known | partial);
    const auto verdict = queue.offer(ipv4().carrying(Update{.cluster = 1})).verdict;
    EXPECT_EQ(verdict == XDP_REDIRECT, GetParam());
    EXPECT_EQ(queue.waiting().size(), GetParam() ? 0u : 1u);
}

INSTANTIATE_TEST_SUITE_P(Output, BesideForwarding, testing::Bool(), [](const auto &info) {
    return info.param ? "WithOffload" : "WithoutOffload";
});

} // namespace
} // namespace olaf::test::beside_test
