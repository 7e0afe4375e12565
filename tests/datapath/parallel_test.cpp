// SPDX-License-Identifier: BSD-2-Clause
// The same queue from several CPUs at once: nothing is lost, nothing counted twice.
//
// OLAF_STEPS / 2 frames a thread.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <thread>

#include "queue_test.hpp"
#include "random_updates.hpp"
#include "testbed.hpp"
#include "tests/effort.hpp"

namespace olaf::test::parallel_test {
namespace {

constexpr std::uint32_t clusters = 5;
constexpr std::size_t data_lanes = 19;

std::uint64_t frames_a_thread() { return from_environment("OLAF_STEPS", 400'000) / 2; }

/// Per cluster: updates, and the sum of every lane, the checksum lane among them.
struct Tally {
    std::array<std::uint64_t, clusters> updates{};
    std::array<std::array<std::uint64_t, data_lanes + 1>, clusters> lanes{};

    void add(std::uint32_t cluster, std::uint64_t count, std::span<const std::uint64_t> values) {
        updates.at(cluster) += count;
        for (std::size_t i = 0; i < values.size(); i++)
            lanes.at(cluster).at(i) += values[i];
    }
    void add(const Frame &like, const Bytes &bytes) {
        std::vector<std::uint64_t> values(data_lanes + 1);
        for (std::size_t i = 0; i < values.size(); i++)
            values[i] = get_le64(bytes, like.message + 48 + 8 * i);
        add(static_cast<std::uint32_t>(get_be(bytes, like.message + 8, 4)),
            get_be(bytes, like.message + 20, 4), values);
    }
    Tally &operator+=(const Tally &other) {
        for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
            add(cluster, other.updates[cluster], other.lanes[cluster]);
        return *this;
    }
    bool operator==(const Tally &) const = default;
};

unsigned threads() { return std::max(2u, cpus()); }

/// Frames of one header form and one shape: a departure can be read where an arrival was written.
std::vector<Frame> similar_frames(std::uint64_t seed) {
    RandomUpdates random(seed, {.clusters = clusters, .segments = 1, .max_lanes = 64});
    std::vector<Frame> frames;
    for (int i = 0; i < 97; i++) {
        Update update = random.update();
        update.lanes = lanes_of(data_lanes, random.below(1000));
        update.format = OLAF_FORMAT_I32X2;
        update.checksum = true;
        update.count = 1 + static_cast<std::uint32_t>(random.below(3));
        frames.push_back(ipv4().carrying(update));
    }
    return frames;
}

/// Every thread offers its frames; `in` and `out` are what they put in and what came back.
void offer_from_all_cpus(Harness &queue, Tally &in, Tally &out) {
    std::vector<std::jthread> pool;
    std::vector<std::pair<Tally, Tally>> tallies(threads());
    std::barrier start(static_cast<std::ptrdiff_t>(threads()));
    std::atomic<int> surprises = 0;
    for (unsigned t = 0; t < threads(); t++)
        pool.emplace_back([&, t] {
            pin_to(t);
            auto frames = similar_frames(t + 1);
            start.arrive_and_wait();
            for (std::uint64_t i = 0; i < frames_a_thread(); i++) {
                const auto &frame = frames[i % frames.size()];
                tallies[t].first.add(frame, frame.bytes);
                auto ran = queue.offer(frame);
                if (ran.verdict == XDP_PASS && ran.bytes.size() == frame.size())
                    tallies[t].second.add(frame, ran.bytes);
                else if (ran.verdict != XDP_DROP)
                    surprises++;
            }
        });
    pool.clear();
    EXPECT_EQ(surprises, 0);
    for (const auto &[put, got] : tallies) {
        in += put;
        out += got;
    }
}

/// Whatever raced, once the link is free each arrival carries the head away.
void expect_progress(Harness &queue) {
    for (std::uint32_t i = 0; i < 2 * clusters && !queue.waiting().empty(); i++) {
        queue.link_free();
        EXPECT_EQ(queue.offer(ipv4().carrying(Update{.cluster = i % clusters})).verdict, XDP_PASS);
    }
    EXPECT_EQ(queue.broken_identity(), "");
}

olaf::DatapathConfig shared_queue(std::uint64_t rate_bps) {
    olaf::DatapathConfig config;
    config.rate_bps = rate_bps;
    config.max_clusters = clusters;
    config.max_lanes = 64;
    return config;
}

class Parallel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Parallel, SumsAreExactWhateverTheRate) {
    Harness queue(shared_queue(GetParam()));
    queue.set_drain_deadline(UINT64_MAX / 2);
    for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
        queue.set_rule(cluster, rule(OLAF_POLICY_AGGREGATE, no_filter, UINT32_MAX));
    Tally in, out;
    offer_from_all_cpus(queue, in, out);
    EXPECT_EQ(queue.broken_identity(), "");
    for (const auto &entry : queue.waiting())
        out.add(entry.pending.cluster, entry.pending.count, entry.lanes);
    EXPECT_EQ(in.updates, out.updates);
    EXPECT_TRUE(in == out) << "lanes differ";
    auto totals = queue.totals();
    EXPECT_EQ(totals.received, threads() * frames_a_thread());
    EXPECT_EQ(totals.updates_dropped, 0u) << totals;
    std::cout << totals << "\n";
    expect_progress(queue);
}

INSTANTIATE_TEST_SUITE_P(Rates, Parallel,
                         testing::Values(50'000'000, 500'000'000, 100'000'000'000),
                         [](const auto &info) { return std::to_string(info.param / 1'000'000); });

class ParallelPolicies : public testing::TestWithParam<olaf_policy> {};

TEST_P(ParallelPolicies, EveryUpdateIsAccountedForInATinyQueue) {
    auto config = shared_queue(300'000'000);
    config.queue_capacity = 2;
    Harness queue(config);
    queue.set_drain_deadline(UINT64_MAX / 2);
    for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
        queue.set_rule(cluster, rule(GetParam(), 50, 4));
    Tally in, out;
    offer_from_all_cpus(queue, in, out);
    EXPECT_EQ(queue.broken_identity(), "");
    auto totals = queue.totals();
    std::uint64_t came = 0, left = 0;
    for (std::uint32_t cluster = 0; cluster < clusters; cluster++) {
        came += in.updates[cluster];
        left += out.updates[cluster];
    }
    EXPECT_EQ(totals.updates_in, came);
    EXPECT_EQ(totals.updates_out, left);
    std::cout << totals << "\n";
    expect_progress(queue);
}

INSTANTIATE_TEST_SUITE_P(Each, ParallelPolicies,
                         testing::Values(OLAF_POLICY_OLAF, OLAF_POLICY_FIFO, OLAF_POLICY_AGGREGATE,
                                         OLAF_POLICY_NEWEST),
                         [](const auto &info) {
                             return std::string(olaf::policy_name(info.param));
                         });

/// Real frames, in batches: they are passed up the stack, and their memory comes back with
/// what departed in it.
TEST(ParallelLive, BatchesOfLiveFramesAreAccountedFor) {
    Testbed net; // its lo takes what is passed up
    auto config = shared_queue(200'000'000);
    config.queue_capacity = 3;
    Harness queue(config);
    queue.set_drain_deadline(UINT64_MAX / 2);
    const auto rounds = std::max<std::uint64_t>(1, frames_a_thread() / 2000);
    std::vector<std::jthread> pool;
    for (unsigned t = 0; t < threads(); t++)
        pool.emplace_back([&, t] {
            pin_to(t);
            auto frames = similar_frames(t + 1);
            for (std::uint64_t i = 0; i < rounds; i++)
                run_live(queue.queue().program_fd("olaf_ingress"), frames[i % frames.size()].bytes, 2000, 0);
        });
    pool.clear();
    EXPECT_EQ(queue.broken_identity(), "");
    auto totals = queue.totals();
    EXPECT_EQ(totals.received + totals.malformed + totals.not_allowed + totals.bypassed,
              threads() * rounds * 2000);
    EXPECT_GT(totals.received, 0u);
    std::cout << totals << "\n";
    expect_progress(queue);
}

} // namespace
} // namespace olaf::test::parallel_test
