// SPDX-License-Identifier: BSD-2-Clause
// What a listener is told, and that nobody else pays for it.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>

#include <cstring>
#include <memory>
#include <thread>

#include "olaf/events.h"
#include "queue_test.hpp"

namespace olaf::test::events_test {
namespace {

struct Told {
    olaf_event event{};
    Bytes frame;
};

class Events : public QueueTest {
  protected:
    Events()
        : buffer_(ring_buffer__new(queue.queue().map_fd("olaf_events"), take, &told_, nullptr),
                  ring_buffer__free) {
        EXPECT_TRUE(buffer_);
    }

    static constexpr std::uint64_t for_ever = UINT64_MAX;

    /// Writes what to listen to; by default everything, with whole frames.
    void listen(olaf_listen wanted) const {
        const std::uint32_t key = 0;
        ASSERT_EQ(bpf_map_update_elem(queue.queue().map_fd("olaf_listen"), &key, &wanted, BPF_ANY),
                  0);
    }
    static olaf_listen everything() {
        return {.first_cluster = 0,
                .last_cluster = UINT32_MAX,
                .kinds = (1u << OLAF_EVENT_KINDS) - 1,
                .sample = 1,
                .frame_bytes = OLAF_EVENT_FRAME_MAX,
                .pad = 0,
                .until_ns = for_ever};
    }

    /// What was told since the last call.
    std::vector<Told> told() {
        told_.clear();
        EXPECT_GE(ring_buffer__consume(buffer_.get()), 0);
        return std::move(told_);
    }
    Told told_once() {
        auto all = told();
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? Told{} : all.front();
    }

  private:
    static int take(void *into, void *data, std::size_t size) {
        Told told;
        std::memcpy(&told.event, data, sizeof told.event);
        EXPECT_EQ(size, sizeof told.event + told.event.captured_bytes);
        const auto *frame = static_cast<const std::uint8_t *>(data) + sizeof told.event;
        told.frame.assign(frame, frame + told.event.captured_bytes);
        static_cast<std::vector<Told> *>(into)->push_back(std::move(told));
        return 0;
    }

    std::vector<Told> told_;
    std::unique_ptr<ring_buffer, void (*)(ring_buffer *)> buffer_;
};

void expect_kind(const Told &told, olaf_event_kind kind, unsigned detail, unsigned cause = 0) {
    EXPECT_EQ(told.event.kind, kind);
    EXPECT_EQ(told.event.detail, detail);
    EXPECT_EQ(told.event.cause, cause);
}

TEST_F(Events, NobodyListensUnlessTheLeaseLastsOn) {
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    auto ended = everything();
    ended.until_ns = monotonic_ns();
    listen(ended);
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    queue.offer(ipv4().carrying(Update{.cluster = 99}));
    EXPECT_TRUE(told().empty());
    EXPECT_EQ(queue.counters().events_lost, 0u);
    listen(everything());
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    EXPECT_EQ(told().size(), 1u);
}

TEST_F(Events, TellWhatBecameOfEachArrival) {
    listen(everything());
    const Frame first = ipv4().carrying(Update{.cluster = 1, .worker = 1, .sequence = 7});
    append(first);
    auto told = told_once();
    expect_kind(told, OLAF_EVENT_ARRIVAL, OLAF_JOINED_APPENDED);
    EXPECT_EQ(told.event.cluster, 1u);
    EXPECT_EQ(told.event.worker, 1u);
    EXPECT_EQ(told.event.sequence, 7u);
    EXPECT_EQ(told.event.count, 1u);
    EXPECT_EQ(told.event.queue_length, 1u);
    EXPECT_EQ(told.event.frame_bytes, first.size());
    EXPECT_EQ(hex(told.frame), hex(first.bytes));

    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 1}));
    expect_kind(told_once(), OLAF_EVENT_ARRIVAL, OLAF_JOINED_REPLACED);
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 2, .count = 5}));
    told = told_once();
    expect_kind(told, OLAF_EVENT_ARRIVAL, OLAF_JOINED_AGGREGATED);
    EXPECT_EQ(told.event.count, 5u);
    for (const std::uint32_t cluster : {2u, 3u, 4u})
        append(ipv4().carrying(Update{.cluster = cluster}));
    EXPECT_EQ(this->told().size(), 3u);
    queue.offer(ipv4().carrying(Update{.cluster = 5}));
    expect_kind(told_once(), OLAF_EVENT_DROP, OLAF_DROPPED_FULL);
    queue.set_rule(1, rule(OLAF_POLICY_OLAF, 0));
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 3, .reward = -1}));
    expect_kind(told_once(), OLAF_EVENT_DROP, OLAF_DROPPED_REWARD);
    queue.set_rule(1, rule(OLAF_POLICY_AGGREGATE, no_filter, 6));
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 3}));
    expect_kind(told_once(), OLAF_EVENT_DROP, OLAF_DROPPED_SEALED);
}

TEST_F(Events, TellWhyAFrameWasRefused) {
    listen(everything());
    const Frame bad = ipv4().carrying(Update{.cluster = 1, .count = 0});
    queue.offer(bad);
    auto told = told_once();
    expect_kind(told, OLAF_EVENT_DROP, OLAF_DROPPED_MALFORMED, OLAF_MALFORMED_COUNT);
    EXPECT_EQ(hex(told.frame), hex(bad.bytes));
    queue.offer(ipv4().carrying(Update{.cluster = 99}));
    told = told_once();
    expect_kind(told, OLAF_EVENT_DROP, OLAF_DROPPED_NOT_ALLOWED, OLAF_NOT_ALLOWED_CLUSTER);
    EXPECT_EQ(told.event.cluster, 99u);
    queue.offer(ipv4().carrying(Ack{.cluster = 1}));
    EXPECT_TRUE(this->told().empty());
}

TEST_F(Events, TellADepartureWithTheFrameThatLeaves) {
    listen(everything());
    append(ipv4().carrying(Update{.cluster = 1, .worker = 1}));
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 2, .sequence = 9}));
    told();
    queue.link_free();
    const auto ran = queue.offer(ipv4().carrying(Update{.cluster = 2}));
    const auto both = told();
    ASSERT_EQ(both.size(), 2u);
    expect_kind(both[0], OLAF_EVENT_ARRIVAL, OLAF_JOINED_APPENDED);
    expect_kind(both[1], OLAF_EVENT_DEPARTURE, OLAF_LEFT_RIDING);
    const auto &event = both[1].event;
    EXPECT_EQ(event.cluster, 1u);
    EXPECT_EQ(event.worker, 2u);
    EXPECT_EQ(event.sequence, 9u);
    EXPECT_EQ(event.count, 2u);
    EXPECT_LT(event.first_arrived_ns, event.arrived_ns);
    EXPECT_LT(event.arrived_ns, event.time_ns);
    EXPECT_EQ(hex(both[1].frame), hex(ran.bytes));
    // The very moment that the meter has.
    EXPECT_EQ(event.time_ns, queue.aom(1 * queue.config().max_segments).last_ns);
}

TEST_F(Events, TellAPassage) {
    listen(everything());
    queue.link_free();
    const Frame frame = ipv4().carrying(Update{.cluster = 3});
    queue.offer(frame);
    const auto told = told_once();
    expect_kind(told, OLAF_EVENT_DEPARTURE, OLAF_LEFT_PASSED);
    EXPECT_EQ(told.event.arrived_ns, told.event.time_ns);
    EXPECT_EQ(hex(told.frame), hex(frame.bytes));
}

TEST_F(Events, OnlyWhatIsAskedFor) {
    auto wanted = everything();
    wanted.first_cluster = wanted.last_cluster = 2;
    wanted.kinds = 1u << OLAF_EVENT_ARRIVAL;
    wanted.frame_bytes = 20;
    listen(wanted);
    append(ipv4().carrying(Update{.cluster = 1}));
    EXPECT_TRUE(told().empty());
    const Frame frame = ipv4().carrying(Update{.cluster = 2});
    append(frame);
    const auto told = told_once();
    EXPECT_EQ(told.event.cluster, 2u);
    EXPECT_EQ(told.event.frame_bytes, frame.size());
    EXPECT_EQ(hex(told.frame), hex(Bytes(frame.bytes.begin(), frame.bytes.begin() + 20)));
    wanted.frame_bytes = 0;
    listen(wanted);
    queue.link_free();
    queue.offer(ipv4().carrying(Update{.cluster = 2})); // a departure as well, of cluster 1
    EXPECT_EQ(told_once().event.captured_bytes, 0u);
}

TEST_F(Events, OneOfSoMany) {
    auto wanted = everything();
    wanted.sample = 10;
    listen(wanted);
    std::jthread one_cpu([&] { // sampling counts by CPU
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(0, &set);
        sched_setaffinity(0, sizeof set, &set);
        queue.link_free();
        for (int i = 0; i < 200; i++)
            queue.offer(ipv4().carrying(Update{.cluster = 1}));
    });
    one_cpu.join();
    const auto all = told();
    EXPECT_EQ(all.size(), 20u);
    for (const auto &told : all)
        EXPECT_EQ(told.event.sampled, 10u);
}

/// Every CPU tells at once: nothing is told twice, and what isn't told is counted.
TEST_F(Events, FromEveryCpuAtOnce) {
    listen(everything());
    constexpr std::uint32_t frames = 20'000, cpus = 2;
    std::uint64_t seen = 0;
    {
        std::vector<std::jthread> pool;
        for (std::uint32_t cpu = 0; cpu < cpus; cpu++)
            pool.emplace_back([&, cpu] {
                for (std::uint32_t i = 0; i < frames; i++)
                    queue.offer(ipv4().carrying(Update{.cluster = i % 3, .worker = cpu}));
            });
        for (std::uint32_t i = 0; i < 50; i++)
            seen += told().size();
    }
    seen += told().size();
    const auto totals = queue.totals();
    EXPECT_EQ(totals.received, frames * cpus);
    EXPECT_EQ(seen + queue.counters().events_lost, frames * cpus + totals.departed_riding);
}

/// Nobody reads: what doesn't fit is lost and counted, and no update notices.
TEST_F(Events, AFullBufferLosesEventsAndNoUpdate) {
    listen(everything());
    constexpr std::uint64_t frames = 30'000;
    const Frame frame = ipv4().carrying(Update{.cluster = 1});
    for (std::uint64_t i = 0; i < frames; i++) {
        queue.link_free(); // a fast CPU offers the next frame before the link has sent the last one
        EXPECT_EQ(queue.offer(frame).verdict, XDP_PASS);
    }
    EXPECT_EQ(queue.totals().received, frames);
    EXPECT_EQ(queue.totals().updates_out + queue.updates_waiting(), frames);
    const auto lost = queue.counters().events_lost;
    EXPECT_GT(lost, 0u);
    EXPECT_EQ(told().size() + lost, queue.totals().passed_through + queue.totals().appended +
                                        queue.totals().aggregated + queue.totals().replaced +
                                        queue.totals().departed_riding);
}

} // namespace
} // namespace olaf::test::events_test
