// SPDX-License-Identifier: BSD-2-Clause
// Generic mode: what the note of an skb says beside the frame's bytes, and what holds without one.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>

#include "queue_test.hpp"

using namespace olaf::test;

namespace {

// As bpf/packet/beside.bpf.h has them.
constexpr std::uint32_t known = 0x1, tagged = 0x2, partial = 0x4;

olaf::DatapathConfig generic() {
    auto config = small_queue();
    config.skb_mode = true;
    config.tags_hidden = true; // the device may take tags off
    return config;
}

/// On one CPU: notes are kept by CPU.
class Beside : public QueueTest {
  protected:
    Beside() : QueueTest(generic()) {
        CPU_ZERO(&before_);
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    ~Beside() override { sched_setaffinity(0, sizeof before_, &before_); }

    /// The tracepoint's note for the next frame.
    void note(std::uint32_t says) {
        // Values of a per-CPU map are eight bytes apart.
        const std::vector<std::uint64_t> values(
            static_cast<std::size_t>(libbpf_num_possible_cpus()), says);
        const std::uint32_t zero = 0;
        ASSERT_EQ(
            bpf_map_update_elem(queue.queue().map_fd("olaf_beside"), &zero, values.data(), BPF_ANY),
            0);
    }
    /// An update of cluster 1 is due, another frame comes. Did it take the first one along?
    bool rides() {
        queue.reset();
        note(known);
        append(ipv4().carrying(Update{.cluster = 1}));
        queue.link_free();
        note(next_);
        queue.offer(ipv4().carrying(Update{.cluster = 2}));
        return queue.totals().departed_riding == 1;
    }

    std::uint32_t next_ = 0;

  private:
    cpu_set_t before_{};
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
    next_ = known;
    EXPECT_TRUE(rides());
    next_ = 0; // nobody knows: it may have a tag
    EXPECT_FALSE(rides());
    next_ = known | partial;
    EXPECT_FALSE(rides());
}

} // namespace
