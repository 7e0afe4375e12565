// SPDX-License-Identifier: BSD-2-Clause
// What Z3 proves and refutes of `olaf admit`, without the search before it; and that a simulation
// ends at its deadline.
#include <gtest/gtest.h>

#include <map>

#include "fleet/admit/model.hpp"
#include "fleet/admit/proof.hpp"
#include "fleet/admit/simulation.hpp"

namespace olaf::fleet::test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

/// So late that only a test that hangs notices, however busy the machine is.
std::chrono::steady_clock::time_point late() {
    return std::chrono::steady_clock::now() + std::chrono::minutes(5);
}

/// Clusters of 1,000 bytes, a frame of 1,090, through one queue with a place for each.
Setting peak_of(std::size_t clusters, std::uint64_t interval_ns, std::uint64_t jitter_ns,
                std::uint64_t rate_bps, std::uint64_t delay_ns, std::uint64_t most_ns) {
    AdmitOptions options;
    for (std::uint32_t id = 0; id < clusters; ++id)
        options.clusters.push_back(
            {.id = id, .interval_ns = interval_ns, .jitter_ns = jitter_ns, .bytes = 1000});
    options.hops = {{.rate_bps = rate_bps, .places = 0, .ids = {}, .delay_ns = delay_ns}};
    options.objective = {.kind = "peak", .most_ns = most_ns};
    return *setting_of(options);
}

/// 2 ms a frame: no peak of two clusters at 100 ms is above 104 ms, which both reach that begin at
/// once.
Setting fast(std::uint64_t most_ns, std::uint64_t delay_ns = 0) {
    return peak_of(2, 100 * ms, 0, 4'360'000, delay_ns, most_ns);
}

/// 60 ms a frame: the closed bound, 290 ms, is reached.
Setting loaded(std::uint64_t most_ns) {
    return peak_of(2, 100 * ms, 10 * ms, 145'334, 0, most_ns);
}

TEST(Proof, HoldsFromTheHighestPeakOnAndNoNanosecondEarlier) {
    EXPECT_EQ(prove(fast(104 * ms), late()), Proof::holds);
    for (const std::uint64_t below : {1, 2, 3, 1000})
        EXPECT_EQ(prove(fast(104 * ms - below), late()), Proof::may_break) << below;
}

TEST(Proof, LooksAtEachGapThatTheJitterAllows) {
    EXPECT_EQ(prove(loaded(290 * ms), late()), Proof::holds);
    EXPECT_EQ(prove(loaded(289 * ms), late()), Proof::may_break);
}

TEST(Proof, CountsTheHopsDelay) {
    EXPECT_EQ(prove(fast(111 * ms, 7 * ms), late()), Proof::holds);
    EXPECT_EQ(prove(fast(111 * ms - 1, 7 * ms), late()), Proof::may_break);
    EXPECT_EQ(prove(fast(6 * ms, 7 * ms), late()), Proof::may_break);
}

TEST(Proof, IsForOneQueueAndThreeClusters) {
    EXPECT_EQ(prove(peak_of(4, 100 * ms, 0, 4'360'000, 0, 104 * ms), late()), Proof::out_of_reach);
    auto fairness = fast(104 * ms);
    fairness.objective.kind = Objective::Kind::fairness;
    EXPECT_EQ(prove(fairness, late()), Proof::out_of_reach);
}

void expect_refuted(const Setting &setting) {
    const auto found = refute(setting, late());
    ASSERT_TRUE(found) << setting.objective.most_ns;
    EXPECT_TRUE(found->outcome.breaks(setting));
    const auto again = simulate(setting, found->arrivals, late());
    EXPECT_EQ(again->highest_ns, found->outcome.highest_ns);
    std::map<std::size_t, std::uint64_t> last;
    for (const auto &arrival : found->arrivals) {
        const auto &cluster = setting.clusters[arrival.cluster];
        if (const auto before = last.find(arrival.cluster); before != last.end()) {
            EXPECT_GE(arrival.at_ns - before->second, cluster.interval_ns - cluster.jitter_ns);
            EXPECT_LE(arrival.at_ns - before->second, cluster.interval_ns + cluster.jitter_ns);
        }
        last[arrival.cluster] = arrival.at_ns;
    }
    EXPECT_EQ(last.size(), setting.clusters.size());
}

TEST(Refutation, IsARunThatTheIntervalsAllow) {
    expect_refuted(fast(103 * ms));
    expect_refuted(fast(104 * ms - 1000));
    expect_refuted(fast(110 * ms, 7 * ms));
    expect_refuted(loaded(289 * ms));
    expect_refuted(peak_of(3, 100 * ms, 10 * ms, 436'000, 0, 168 * ms));
}

TEST(Refutation, ThereIsNoneOfWhatHolds) {
    EXPECT_FALSE(refute(fast(104 * ms), late()));
}

TEST(Simulation, EndsAtItsDeadlineUnlessItIsShort) {
    const auto setting = fast(104 * ms);
    std::vector<Arrival> arrivals;
    for (std::uint64_t i = 0; i < 4000; ++i)
        arrivals.push_back({i % 2, i * 50 * ms});
    const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    EXPECT_TRUE(simulate(setting, arrivals, late()));
    EXPECT_FALSE(simulate(setting, arrivals, past));
    arrivals.resize(100);
    EXPECT_TRUE(simulate(setting, arrivals, past));
}

TEST(Simulation, AModelIsAsNewAsTheOldestOfItsSegments) {
    AdmitOptions options;
    // Three segments, of 1 ms each or less: 178 lanes are 1,514 bytes.
    options.clusters = {{.id = 0, .interval_ns = 100 * ms, .jitter_ns = 0, .bytes = 3 * 1424}};
    options.hops = {{.rate_bps = 12'112'000, .places = 0, .ids = {}, .delay_ns = 0}};
    options.objective = {.kind = "peak", .most_ns = 1};
    const auto outcome =
        simulate(*setting_of(options), {{0, 0}, {0, 100 * ms}, {0, 200 * ms}}, late());
    EXPECT_EQ(outcome->highest_ns, std::vector<std::uint64_t>{103 * ms});
    EXPECT_EQ(outcome->mean_ns, std::vector<double>{103e6});
}

} // namespace
} // namespace olaf::fleet::test
