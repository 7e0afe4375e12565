// SPDX-License-Identifier: BSD-2-Clause
// Workers sum floats, which their node adds, with real sockets: bit by bit what the reference says,
// whatever the network loses, and what is no number is NaN at everybody.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "losing.hpp"
#include "round_tree.hpp"
#include "rounds.hpp"
#include "tests/datapath/float_reference.hpp"

namespace olaf::test::rounds_floats_test {
namespace {

constexpr unsigned workers = 4, lanes = 64, chunks = 20, rounds = 10;
constexpr std::size_t elements = std::size_t{2} * lanes * (chunks - 1) + 17;

void as_floats(CollectiveOptions &options) {
    options.format = Format::f32x2;
    options.lanes = lanes;
}

const std::vector<std::string> floats = {"--format", "f32"};

/// Of such a size that the order of additions would matter; the elements that end in 99 aren't fit to be added.
float element(unsigned rank, unsigned round, std::size_t i) {
    if (i % 100 == 99 && rank == i / 100 % workers)
        return i % 200 == 99 ? std::numeric_limits<float>::quiet_NaN() : 1e20F;
    const auto mixed = static_cast<std::uint32_t>((i + 1) * 0x9e3779b97f4a7c15ull >> 40) + 977 * rank + round;
    return std::ldexp(static_cast<float>(mixed % 20011) - 10005, -8 * static_cast<int>(rank % 3));
}

std::vector<float> part(unsigned rank, unsigned round) {
    std::vector<float> values(elements);
    for (std::size_t i = 0; i < elements; i++)
        values[i] = element(rank, round, i);
    return values;
}

/// Bits, for a NaN equals none.
std::vector<std::uint32_t> sum(unsigned round, FloatFaults &faults) {
    std::vector<std::uint32_t> bits(elements);
    for (std::size_t i = 0; i < elements; i++) {
        FloatSum sum({.bits = OLAF_DEFAULT_FLOAT_BITS, .headroom = 2});
        for (unsigned rank = 0; rank < workers; rank++)
            sum.add(element(rank, round, i), faults);
        bits[i] = sum.bits();
    }
    return bits;
}

std::vector<std::uint32_t> bits_of(const std::vector<float> &values) {
    std::vector<std::uint32_t> bits(values.size());
    std::ranges::transform(values, bits.begin(), [](float each) { return std::bit_cast<std::uint32_t>(each); });
    return bits;
}

void sum_times(Collective &collective, unsigned rank, unsigned times) {
    for (unsigned round = 0; round < times; round++) {
        auto vector = part(rank, round);
        FloatFaults faults;
        const auto want = sum(round, faults);
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_TRUE(report) << report.error().message();
        ASSERT_EQ(bits_of(vector), want) << "round " << round;
        EXPECT_EQ(report->not_finite, faults.overflow + faults.not_finite);
        EXPECT_EQ(report->chunks, chunks) << "no exponent travels ahead";
    }
}

void sum_at(Collective &collective, unsigned rank) {
    sum_times(collective, rank, rounds);
}

void expect_books(const nlohmann::json &job, unsigned times = rounds) {
    SCOPED_TRACE(job.dump(1));
    expect_job_identities(job);
    FloatFaults faults;
    for (unsigned round = 0; round < times; round++)
        sum(round, faults);
    EXPECT_EQ(job["format"], "f32");
    EXPECT_EQ(job["float_bits"], OLAF_DEFAULT_FLOAT_BITS);
    EXPECT_EQ(job["chunks"]["completed"], times * chunks);
    EXPECT_EQ(job["float"]["overflow"], faults.overflow);
    EXPECT_EQ(job["float"]["not_finite"], faults.not_finite);
    EXPECT_GT(faults.overflow, 0u);
    EXPECT_GT(faults.not_finite, 0u);
}

struct Setting {
    const char *name;
    int family;
    bool generic;
};

class FloatRounds : public testing::TestWithParam<Setting> {
  protected:
    Testbed bed{{.way = Way::local}};
};

TEST_P(FloatRounds, GiveEveryWorkerTheSumOfTheReference) {
    bed.attach({"--round-slots", "256", "--mode", GetParam().generic ? "skb" : "native"});
    set_job(bed, workers, lanes, floats);
    for_each_worker(bed, workers, sum_at, [&](CollectiveOptions &options) {
        as_floats(options);
        options.node = Address::resolve(bed.target(GetParam().family).address).value();
    });
    expect_books(job_status(bed));
}

INSTANTIATE_TEST_SUITE_P(Of, FloatRounds,
                         testing::Values(Setting{"Ipv4", 4, false}, Setting{"Ipv6", 6, false},
                                         Setting{"GenericMode", 4, true},
                                         Setting{"GenericModeOverIpv6", 6, true}),
                         [](const auto &info) { return info.param.name; });

class FloatRoundsAtOneHost : public testing::Test {
  protected:
    Testbed bed{{.way = Way::local}};
};

class FloatRoundsWithLoss : public FloatRoundsAtOneHost, public testing::WithParamInterface<unsigned> {};

TEST_P(FloatRoundsWithLoss, AreTheSame) {
    bed.attach({"--round-slots", "64"});
    set_job(bed, workers, lanes, floats);
    const Losing there(bed.worker, "eth0", Losing::sent, GetParam());
    const Losing back(bed.worker, "eth0", Losing::received, GetParam());
    const unsigned times = GetParam() == 20 ? 5 : rounds; // where each takes long
    for_each_worker(
        bed, workers,
        [=](Collective &collective, unsigned rank) { sum_times(collective, rank, times); },
        as_floats);
    const auto job = job_status(bed);
    expect_books(job, times);
    EXPECT_GT(job["contributions"]["duplicate"], 0);
}

INSTANTIATE_TEST_SUITE_P(Of, FloatRoundsWithLoss, testing::Values(1u, 5u, 20u),
                         [](const auto &info) { return std::to_string(info.param) + "Percent"; });

TEST_F(FloatRoundsAtOneHost, GoOnWhileProgramsAreReplaced) {
    bed.attach({"--round-slots", "64"});
    set_job(bed, workers, lanes, floats);
    {
        const std::jthread swapping([&] {
            for (int i = 0; i < 3; i++) {
                const auto outcome = bed.olaf({"attach", "in", "--local", "--replace"});
                EXPECT_EQ(outcome.status, 0) << outcome.err;
            }
        });
        for_each_worker(bed, workers, sum_at, as_floats);
    }
    expect_books(job_status(bed));
}

TEST_F(FloatRoundsAtOneHost, AnIntegerIsNoFloat) {
    bed.attach({"--round-slots", "64"});
    set_job(bed, 1, lanes, floats);
    for_each_worker(
        bed, 1,
        [](Collective &collective, unsigned) {
            std::vector<std::int64_t> integers(3);
            const auto refused = collective.allreduce_async(std::span(integers));
            ASSERT_FALSE(refused);
            EXPECT_NE(refused.error().message().find("the job's format is f32x2"), std::string::npos);
            EXPECT_TRUE(collective.leave());
        },
        as_floats);
}

/// Sums of nodes are rounded each by itself: these need no rounding anywhere.
TEST(FloatRoundsInATree, TravelAsFloatsAndSoDoesNaN) {
    RoundTree tree({{0, 1}, {0, 2}, {0, 2}});
    tree.sum_in("f32");
    for (unsigned node = 0; node < 3; node++)
        tree.start(node, lanes);
    tree.lose(5);
    tree.for_each_worker(
        [&](Collective &collective, unsigned worker) {
            std::vector<float> vector(elements);
            for (std::size_t i = 0; i < elements; i++)
                vector[i] = std::ldexp(static_cast<float>(i * (worker + 1)), -12);
            if (worker == 3)
                vector[7] = std::numeric_limits<float>::infinity();
            ASSERT_TRUE(collective.allreduce(std::span(vector)));
            for (std::size_t i = 0; i < elements; i++)
                if (i == 7)
                    EXPECT_TRUE(std::isnan(vector[i]));
                else
                    ASSERT_EQ(vector[i], std::ldexp(static_cast<float>(15 * i), -12)) << i;
        },
        as_floats);
    EXPECT_EQ(tree.job(2)["float"]["not_finite"], 1) << "where the worker's node took it";
    EXPECT_EQ(tree.job(0)["float"]["not_finite"], 1) << "and where that one's parent did";
    EXPECT_EQ(tree.job(1)["float"]["not_finite"], 0);
}

} // namespace
} // namespace olaf::test::rounds_floats_test
