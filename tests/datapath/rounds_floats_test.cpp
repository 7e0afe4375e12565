// SPDX-License-Identifier: BSD-2-Clause
// Sums of floats.
#include <cerrno>
#include <random>

#include "float_reference.hpp"
#include "loader/datapath/jobs.hpp"
#include "rounds.hpp"

namespace olaf::test::rounds_floats_test {
namespace {

// ---- A job that sums floats, and contributions to it.

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

olaf_job_setup job_of_floats(std::uint32_t children = 2, FloatRules rules = {},
                                    std::uint16_t lanes = 5) {
    auto setup = small_job();
    setup.children = setup.threshold = children;
    setup.lanes = lanes;
    setup.shape = OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT;
    setup.float_bits = static_cast<std::uint8_t>(rules.bits);
    setup.float_headroom = static_cast<std::uint8_t>(rules.headroom);
    return setup;
}

/// A vector for each child.
using FloatVectors = std::vector<std::vector<float>>;

class RoundsOfFloats : public RoundsTest {
  protected:
    explicit RoundsOfFloats(const olaf_job_setup &given = job_of_floats(),
                            const DatapathConfig &config = queue_with_rounds())
        : RoundsTest(given, config) {}

    [[nodiscard]] FloatRules rules() const {
        return {.bits = setup.float_bits, .headroom = setup.float_headroom};
    }
    [[nodiscard]] std::size_t size() const { return 2u * setup.lanes; }

    [[nodiscard]] JobMessage of(std::uint32_t rank, std::uint32_t chunk, std::vector<float> values,
                                std::uint32_t round = 0) const {
        JobMessage message{.flags = setup.shape, .job = setup.id, .rank = rank, .round = round,
                           .chunk = chunk, .generation = job_generation};
        values.resize(size());
        message.lanes = float_lanes(values);
        return message;
    }
    /// What the sum of all must be.
    [[nodiscard]] std::vector<std::uint64_t> expected(const FloatVectors &vectors,
                                                      FloatFaults &faults) const {
        std::vector<std::uint64_t> lanes(setup.lanes);
        for (std::size_t i = 0; i < size(); i++) {
            FloatSum sum(rules());
            for (const auto &vector : vectors)
                sum.add(i < vector.size() ? vector[i] : 0, faults);
            lanes[i / 2] |= std::uint64_t{sum.bits()} << (i % 2 * 32);
        }
        return lanes;
    }
    /// Adds the children's vectors in that order. The result as it leaves.
    std::vector<std::uint64_t> sum_up(const FloatVectors &vectors,
                                      const std::vector<std::uint32_t> &order, std::uint32_t chunk,
                                      std::uint32_t round = 0, int family = 4) {
        Ran last;
        for (const auto rank : order)
            last = offer(of(rank, chunk, vectors[rank], round), family);
        // It is the first that the newest frame's sum is for, whoever sent that.
        const auto received = sent_back(last);
        return received ? received->message.lanes : std::vector<std::uint64_t>{};
    }
    [[nodiscard]] FloatFaults faults() const {
        const auto now = counters();
        return {.overflow = now.float_overflow, .not_finite = now.float_not_finite};
    }
};

// ---- Jobs that sum floats: what the node answers is, bit by bit, what the reference says, whatever the
// order; and what is no number or too large is NaN, and counted.

TEST_F(RoundsOfFloats, WhatIsFlushedIsFloatsToo) {
    dropped(offer(of(0, 0, {1.25f, no_number})));
    olaf_job_order flush{};
    flush.action = OLAF_JOB_FLUSH;
    const auto done = olaf::give_order({.program_fd = queue.queue().program_fd("olaf_job_order"),
                                        .desk_fd = queue.queue().map_fd("olaf_job_desk")},
                                       flush, "flush", "it");
    ASSERT_TRUE(done) << done.error().message();
    const auto flushed = sent_to(0, offer(of(0, 0, {1.25f})));
    EXPECT_EQ(flushed.flags & OLAF_FLAG_PARTIAL, OLAF_FLAG_PARTIAL);
    EXPECT_EQ(flushed.lanes, of(0, 0, {1.25f, no_number}).lanes);
}

TEST_F(RoundsOfFloats, NoJobBeginsThatHasNoRoomForThem) {
    const auto refused = [this](auto change) {
        olaf_job_order asked{};
        asked.action = OLAF_JOB_SET;
        asked.index = 1;
        asked.generation = 1;
        asked.setup = job_of_floats(70, {.bits = OLAF_MOST_FLOAT_BITS, .headroom = 7}, 32);
        asked.setup.id = 9;
        asked.setup.max_count = 70;
        asked.setup.first_slot = 32;
        change(asked.setup);
        const auto done = olaf::give_order({.program_fd = queue.queue().program_fd("olaf_job_order"),
                                            .desk_fd = queue.queue().map_fd("olaf_job_desk")},
                                           asked, "do", "it");
        return done ? 0 : done.error().code;
    };
    EXPECT_EQ(refused([](auto &asked) { asked.lanes = 33; }), EINVAL) << "64 is what a buffer has";
    EXPECT_EQ(refused([](auto &asked) { asked.shape |= OLAF_FLAG_CHECKSUM; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.float_bits++; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.float_headroom--; }), EINVAL) << "70 of 64";
    EXPECT_EQ(refused([](auto &asked) { asked.float_headroom = 17; }), EINVAL);
    EXPECT_EQ(refused([](auto &) {}), 0);
}

struct Arithmetic {
    const char *name;
    FloatRules rules;
    bool generic = false;
};

olaf::DatapathConfig queue_of(bool generic) {
    auto config = queue_with_rounds();
    config.skb_mode = generic;
    return config;
}

class RoundsOfRandomFloats : public RoundsOfFloats, public testing::WithParamInterface<Arithmetic> {
  protected:
    RoundsOfRandomFloats()
        : RoundsOfFloats(job_of_floats(4, GetParam().rules), queue_of(GetParam().generic)) {}

    /// What is rounded or refused just so, or just not. The first six are about a unit at most.
    std::vector<float> edges() const {
        const auto unit = std::ldexp(1.0f, -rules().bits);
        const auto most = std::ldexp(1.0f, OLAF_FLOAT_SUM_BITS - rules().headroom - rules().bits);
        return {0, 1e-45f, 0.49f * unit, unit / 2, 0.75f * unit, 1.5f * unit,
                most, std::nextafter(most, infinity), infinity, no_number};
    }
    float some_edge(std::size_t of_the_first) {
        const auto edge = edges()[random() % of_the_first];
        return random() % 2 == 0 ? edge : -edge;
    }
    /// Any bits at all, an edge, or a number whose exponent is near what the job can tell apart.
    float some_float() {
        const auto any = static_cast<std::uint32_t>(random());
        const auto kind = random() % 8;
        if (kind == 0)
            return std::bit_cast<float>(any);
        if (kind == 1)
            return some_edge(edges().size());
        const int exponent = static_cast<int>(random() % 70) - rules().bits - 3;
        const auto mantissa = 1 + static_cast<double>(any & 0x7fffff) / 0x800000;
        return static_cast<float>(std::ldexp(any >> 31 ? -mantissa : mantissa, exponent));
    }
    FloatVectors some_vectors() {
        FloatVectors vectors(setup.children);
        for (auto &vector : vectors)
            for (std::size_t i = 0; i < size(); i++)
                vector.push_back(i == 1 ? some_edge(6) : some_float()); // one element is always about zero
        return vectors;
    }

    std::mt19937_64 random{1};
};

INSTANTIATE_TEST_SUITE_P(
    With, RoundsOfRandomFloats,
    testing::Values(Arithmetic{"TheUsualUnit", {}}, Arithmetic{"NoHeadroom", {.headroom = 0}},
                    Arithmetic{"WholeNumbers", {.bits = 0, .headroom = 2}},
                    Arithmetic{"SmallNumbers", {.bits = 126, .headroom = 2}},
                    Arithmetic{"EveryDenormal", {.bits = OLAF_MOST_FLOAT_BITS, .headroom = 2}},
                    Arithmetic{"MostHeadroom", {.headroom = OLAF_MOST_FLOAT_HEADROOM}},
                    Arithmetic{"GenericXdp", {.headroom = 2}, true}),
    [](const auto &info) { return info.param.name; });

TEST_P(RoundsOfRandomFloats, EverySumIsTheReferencesWhateverTheOrder) {
    FloatFaults expected_faults;
    std::uint64_t numbers = 0;
    std::vector<std::uint32_t> order{0, 1, 2, 3};
    for (std::uint32_t round = 0; round < 1000 && !HasFailure(); round++) {
        const auto vectors = some_vectors();
        std::ranges::shuffle(order, random);
        const auto want = expected(vectors, expected_faults);
        EXPECT_EQ(sum_up(vectors, order, 0, round), want) << "round " << round;
        for (const auto lane : want)
            numbers += (lane & 0xffffffff) != 0x7fc00000;
    }
    EXPECT_EQ(faults(), expected_faults);
    EXPECT_GT(numbers, 1000u) << "not everything is NaN";
    EXPECT_GT(expected_faults.overflow + expected_faults.not_finite, 100u);
    identities_hold = true;
}

/// The most floats that a frame can bring: they don't lie in one piece.
class RoundsOfManyFloats : public RoundsOfFloats {
  protected:
    RoundsOfManyFloats()
        : RoundsOfFloats(many(), queue_with_rounds(OLAF_MAX_LANES)) {}
    static olaf_job_setup many() {
        auto setup = job_of_floats(2, {}, OLAF_MAX_LANES / OLAF_FLOAT_LANES);
        setup.slots = 2;
        setup.pool = 1;
        return setup;
    }
    void expect_all_sums(int family) {
        FloatVectors vectors(2);
        for (std::size_t i = 0; i < size(); i++)
            for (auto &vector : vectors)
                vector.push_back(static_cast<float>(i + 1) * (&vector == &vectors[0] ? 0.37f : -7.1f));
        FloatFaults none;
        const auto want = expected(vectors, none);
        EXPECT_EQ(sum_up(vectors, {0, 1}, 0, 0, family), want);
        EXPECT_EQ(sum_up(vectors, {1, 0}, 0, 1, family), want);
        EXPECT_EQ(faults(), FloatFaults{});
    }
};

TEST_F(RoundsOfManyFloats, AllHaveTheirSums) {
    expect_all_sums(4);
}

TEST_F(RoundsOfManyFloats, OverIpv6TheChecksumIsRightToo) {
    expect_all_sums(6);
}

} // namespace
} // namespace olaf::test::rounds_floats_test
