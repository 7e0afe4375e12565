// SPDX-License-Identifier: BSD-2-Clause
// A million frames that nobody should send, from every CPU: nothing invalid enters or leaves the
// queue as an update, what is not ours stays as it was, and everything is accounted for.
//
// OLAF_FUZZ_FRAMES sets how many, OLAF_SEED the seed.
#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "mutate.hpp"
#include "tests/datapath/harness.hpp"
#include "tests/effort.hpp"

namespace olaf::test::fuzz_test {
namespace {

constexpr RandomUpdates::Range range{.clusters = 6, .segments = 2, .max_lanes = 48};

/// Would a strict receiver take it as an update, but for its checksums? The lanes' own is end to end: the
/// queue doesn't look at it. One whose UDP checksum is wrong is refused, and what waits may leave in its frame.
bool valid_update(const Bytes &bytes) {
    std::string why;
    return parse_update(bytes, &why) || why == "checksum lane" || why == "UDP checksum";
}

/// What may come out of one frame; the first thing wrong, or nothing.
std::string wrong(const Bytes &in, const Ran &ran) {
    if (ran.verdict == XDP_DROP)
        return {};
    if (ran.verdict != XDP_PASS)
        return "verdict";
    if (ran.bytes == in) // passed through or bypassed
        return {};
    std::string why;
    if (!parse_update(ran.bytes, &why) && why != "checksum lane")
        return "what departs is not valid: " + why;
    if (!valid_update(in))
        return "an update departed in a frame that isn't one";
    return {};
}

struct Report {
    std::mutex mutex;
    std::uint64_t failures = 0;

    void add(const std::string &what, const Bytes &in, const Ran &ran) {
        std::scoped_lock lock(mutex);
        if (failures++ < 5)
            ADD_FAILURE() << what << "\n in  " << hex(in) << "\n out " << hex(ran.bytes);
    }
};

void fuzz(Harness &queue, std::uint64_t seed, std::uint64_t frames, Report &report) {
    Mutator mutator(seed, range);
    for (std::uint64_t i = 0; i < frames; i++) {
        auto in = mutator.frame();
        auto ran = queue.offer(in);
        if (auto what = wrong(in, ran); !what.empty())
            report.add(what, in, ran);
    }
}

class Fuzz : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Fuzz, NothingInvalidPassesAsAnUpdateAndAllIsAccountedFor) {
    const auto seed = from_environment("OLAF_SEED", 1);
    const auto frames = from_environment("OLAF_FUZZ_FRAMES", 1'200'000) / 3;
    const auto threads = cpus();
    olaf::DatapathConfig config;
    config.rate_bps = GetParam();
    config.queue_capacity = 5;
    config.max_clusters = range.clusters;
    config.max_segments = range.segments;
    config.max_lanes = range.max_lanes;
    Harness queue(config);
    queue.set_drain_deadline(UINT64_MAX / 2);
    for (std::uint32_t cluster = 0; cluster < range.clusters; cluster++)
        queue.set_rule(cluster, {.policy = cluster % OLAF_POLICIES,
                                 .max_count = 8,
                                 .reward_threshold = cluster < 4 ? 20 : -1});
    Report report;
    {
        std::vector<std::jthread> pool;
        for (unsigned t = 0; t < threads; t++)
            pool.emplace_back([&, t] {
                fuzz(queue, seed * 1000 + t + GetParam(), frames / threads + 1, report);
            });
    }
    EXPECT_EQ(report.failures, 0u) << "OLAF_SEED=" << seed;
    EXPECT_EQ(queue.broken_identity(), "");
    auto totals = queue.totals();
    EXPECT_EQ(totals.received + totals.malformed + totals.not_allowed + totals.bypassed,
              threads * (frames / threads + 1));
    std::cout << "seed " << seed << ": " << totals << "\n";
}

INSTANTIATE_TEST_SUITE_P(Rates, Fuzz, testing::Values(2'000'000, 50'000'000, 0),
                         [](const auto &info) {
                             return info.param ? "mbit" + std::to_string(info.param / 1'000'000)
                                               : std::string("unlimited");
                         });

/// Frames taken for valid updates, allowed here or not.
std::uint64_t taken(const olaf_counters &counters) {
    return counters.received + counters.not_allowed[OLAF_NOT_ALLOWED_CLUSTER] +
           counters.not_allowed[OLAF_NOT_ALLOWED_SEGMENT] + counters.not_allowed[OLAF_NOT_ALLOWED_SIZE];
}

TEST(FuzzVerdicts, OnlyWhatAStrictReceiverTakesIsTakenForAnUpdate) {
    olaf::DatapathConfig config;
    config.max_clusters = range.clusters;
    config.max_segments = range.segments;
    config.max_lanes = range.max_lanes;
    Harness queue(config); // unlimited: every valid update passes through
    Mutator mutator(from_environment("OLAF_SEED", 1) + 77, range);
    std::uint64_t valid = 0;
    for (std::uint64_t i = 0; i < 30'000; i++) {
        auto in = mutator.frame();
        auto before = taken(queue.counters());
        queue.offer(in);
        if (taken(queue.counters()) == before)
            continue;
        valid++;
        std::string why;
        ASSERT_TRUE(valid_update(in)) << (parse_update(in, &why), why) << "\n" << hex(in);
    }
    EXPECT_GT(valid, 3000u) << "the generator hardly makes valid updates any more";
}

} // namespace
} // namespace olaf::test::fuzz_test
