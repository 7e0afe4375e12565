// SPDX-License-Identifier: BSD-2-Clause
// Sums of floats.
#include <cerrno>
#include <numeric>
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
    /// The same, in the order of ranks; the elements alone.
    std::vector<float> sum_up(const FloatVectors &vectors, std::uint32_t chunk = 0,
                              std::uint32_t round = 0) {
        std::vector<std::uint32_t> order(setup.children);
        std::iota(order.begin(), order.end(), 0);
        std::vector<float> values;
        for (const auto lane : sum_up(vectors, order, chunk, round))
            for (const auto half : {lane, lane >> 32})
                values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(half)));
        values.resize(size());
        return values;
    }
    [[nodiscard]] FloatFaults faults() const {
        const auto now = counters();
        return {.overflow = now.float_overflow, .not_finite = now.float_not_finite};
    }
};

// ---- Jobs that sum floats: what the node answers is, bit by bit, what the reference says, whatever the
// order; and what is no number or too large is NaN, and counted.

TEST_F(RoundsOfFloats, EachElementHasItsSum) {
    const auto sum = sum_up({{1.5f, -2.25f, 0, 1e-3f, 7}, {0.25f, 2.25f, -0.0f, 2e-3f, -9}});
    EXPECT_EQ(sum[0], 1.75f);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sum[1]), 0u);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sum[2]), 0u) << "+0, whatever the signs of zeros were";
    EXPECT_EQ(sum[3], 3e-3f);
    EXPECT_EQ(sum[4], -2.0f);
    EXPECT_EQ(faults(), FloatFaults{});
}

TEST_F(RoundsOfFloats, TheResultIsAMessageLikeAnyOther) {
    dropped(offer(of(0, 0, {1})));
    auto expected = of(0, 0, {3});
    expected.type = OLAF_RESULT;
    expected.count = 2;
    expected.pool = static_cast<std::uint8_t>(setup.pool);
    EXPECT_EQ(sent_to(0, offer(of(1, 0, {2}))), expected);
    expected.rank = 1;
    EXPECT_EQ(sent_to(1, offer(of(1, 0, {2}))), expected) << "asked for again";
    EXPECT_EQ(counters().completed, 1u);
}

TEST_F(RoundsOfFloats, ABufferThatWasUsedIsAsNew) {
    for (std::uint32_t round = 0; round < 5; round++) {
        const auto value = round == 1 ? no_number : 1.0f + static_cast<float>(round);
        const auto sum = sum_up({{value, 1}, {1, 1}}, 0, round);
        EXPECT_EQ(std::isnan(sum[0]), round == 1);
        if (round != 1) {
            EXPECT_EQ(sum[0], value + 1);
        }
        EXPECT_EQ(sum[1], 2.0f);
    }
    EXPECT_EQ(faults(), (FloatFaults{.overflow = 0, .not_finite = 1}));
}

TEST_F(RoundsOfFloats, WhatIsNotFiniteIsNaNAndStaysIt) {
    const auto sum = sum_up({{infinity, -infinity, no_number, 1, infinity, 5},
                             {1, infinity, 1, no_number, -infinity, 6}});
    for (int i = 0; i < 5; i++)
        EXPECT_TRUE(std::isnan(sum[static_cast<std::size_t>(i)])) << i;
    EXPECT_EQ(sum[5], 11.0f) << "its neighbours don't matter";
    EXPECT_EQ(faults(), (FloatFaults{.overflow = 0, .not_finite = 7}));
}

/// With 40 bits behind the point and 256 contributions, each may be 2^13.
TEST_F(RoundsOfFloats, WhatIsTooLargeIsNaNInBothDirections) {
    const float most = 8192, beyond = std::nextafter(most, infinity);
    const auto sum = sum_up({{most, -most, beyond, -beyond, 3e38f, 2}, {most, -most, 0, 0, 1, beyond}});
    EXPECT_EQ(sum[0], 2 * most);
    EXPECT_EQ(sum[1], -2 * most);
    for (int i = 2; i < 6; i++)
        EXPECT_TRUE(std::isnan(sum[static_cast<std::size_t>(i)])) << i;
    EXPECT_EQ(faults(), (FloatFaults{.overflow = 4, .not_finite = 0}));
}

TEST_F(RoundsOfFloats, WhatIsBelowTheUnitIsRoundedToEven) {
    const auto unit = std::ldexp(1.0f, -OLAF_DEFAULT_FLOAT_BITS);
    const auto sum = sum_up({{unit / 2, 1.5f * unit, 0.75f * unit, -unit / 2, -1.5f * unit, 1e-45f, 0.49f * unit}, {}});
    EXPECT_EQ(sum[0], 0.0f);
    EXPECT_EQ(sum[1], 2 * unit);
    EXPECT_EQ(sum[2], unit);
    EXPECT_EQ(sum[3], 0.0f);
    EXPECT_EQ(sum[4], -2 * unit);
    EXPECT_EQ(sum[5], 0.0f);
    EXPECT_EQ(sum[6], 0.0f);
}

TEST_F(RoundsOfFloats, ProbesAndRepetitionsAddNothing) {
    auto probe = of(0, 0, {});
    probe.lanes.clear();
    dropped(offer(probe));
    dropped(offer(of(0, 0, {1})));
    dropped(offer(of(0, 0, {1})));
    EXPECT_EQ(sent_to(0, offer(of(1, 0, {2}))).lanes, of(0, 0, {3}).lanes);
    EXPECT_EQ(counters().duplicate, 1u);
    EXPECT_EQ(counters().probes, 1u);
}

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

TEST_F(RoundsOfFloats, WhatIsCompletedPastItsDeadlineIsFloatsToo) {
    auto hurried = job();
    hurried.setup.deadline_ns = 1;
    set_job(hurried);
    dropped(offer(of(0, 0, {1.25f, no_number})));
    const auto sealed = sent_to(0, offer(of(0, 0, {1.25f})));
    EXPECT_EQ(sealed.flags & OLAF_FLAG_PARTIAL, OLAF_FLAG_PARTIAL);
    EXPECT_EQ(sealed.lanes, of(0, 0, {1.25f, no_number}).lanes);
}

TEST_F(RoundsOfFloats, IntegersAreAnotherShape) {
    auto integers = of(0, 0, {1});
    integers.flags = 0;
    dropped(offer(integers));
    EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_JOB], 1u);
    EXPECT_EQ(counters().received, 0u);
}

/// Another sender with a bound rank.
TEST_F(RoundsOfFloats, ASourceThatIsNotTheChildIsRefused) {
    dropped(offer(of(0, 0, {1})));
    dropped(offer(of(0, 1, {1}), path_of(1)));
    EXPECT_EQ(queue.counters().not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE], 1u);
    EXPECT_EQ(counters().received, 1u);
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

    /// Any bits at all, or a number whose exponent is near what the job can tell apart.
    float some_float() {
        const auto any = static_cast<std::uint32_t>(random());
        if (random() % 8 == 0)
            return std::bit_cast<float>(any);
        const int exponent = static_cast<int>(random() % 70) - rules().bits - 3;
        const auto mantissa = 1 + static_cast<double>(any & 0x7fffff) / 0x800000;
        return static_cast<float>(std::ldexp(any >> 31 ? -mantissa : mantissa, exponent));
    }
    FloatVectors some_vectors() {
        FloatVectors vectors(setup.children);
        for (auto &vector : vectors)
            for (std::size_t i = 0; i < size(); i++)
                vector.push_back(some_float());
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

TEST_P(RoundsOfRandomFloats, EveryOrderHasTheSameSum) {
    const auto vectors = some_vectors();
    FloatFaults each;
    const auto want = expected(vectors, each);
    std::vector<std::uint32_t> order{0, 1, 2, 3};
    std::uint32_t round = 0;
    do
        EXPECT_EQ(sum_up(vectors, order, 0, round++), want);
    while (std::ranges::next_permutation(order).found);
    EXPECT_EQ(faults(), (FloatFaults{.overflow = 24 * each.overflow, .not_finite = 24 * each.not_finite}));
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
