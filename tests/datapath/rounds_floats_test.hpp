// SPDX-License-Identifier: BSD-2-Clause
// A job that sums floats, and contributions to it.
#pragma once

#include <numeric>
#include <random>

#include "float_reference.hpp"
#include "rounds_test.hpp"

namespace olaf::test {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

inline olaf_job_setup job_of_floats(std::uint32_t children = 2, FloatRules rules = {},
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

} // namespace olaf::test
