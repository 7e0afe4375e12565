// SPDX-License-Identifier: BSD-2-Clause
// Ages of the last minute, from what the kernel keeps of it.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "loader/datapath/recent_age.hpp"
#include "metered.hpp"

namespace olaf::test::recent_age_test {
namespace {

using namespace olaf::test;
using olaf::Wide;

/// What recent_age() should say: the same departures, summed from that moment on.
struct Expected {
    Wide twice_area = 0;
    std::uint64_t highest_ns = 0;
};
Expected expected(const std::vector<std::pair<std::uint64_t, std::int64_t>> &departures,
                  std::uint64_t from, std::uint64_t now) {
    Expected result;
    std::int64_t newest = departures.front().second;
    std::uint64_t last = departures.front().first;
    const auto age = [&](std::uint64_t at) { return Wide(at - static_cast<std::uint64_t>(newest)); };
    const auto grow = [&](std::uint64_t to) {
        const auto begin = std::max(last, from);
        if (to > begin)
            result.twice_area += age(to) * age(to) - age(begin) * age(begin);
        last = to;
    };
    for (const auto &[at, generated] : departures) {
        grow(at);
        if (generated <= newest)
            continue;
        // A peak counts from the second that the interval began in.
        if (at >> OLAF_AGE_SECOND_SHIFT >= from >> OLAF_AGE_SECOND_SHIFT)
            result.highest_ns = std::max(result.highest_ns, static_cast<std::uint64_t>(age(at)));
        newest = generated;
    }
    grow(now);
    result.highest_ns = std::max(result.highest_ns, static_cast<std::uint64_t>(age(now)));
    return result;
}

/// At whatever pace departures come, and however long they pause.
TEST(Recent, TheLastMinuteIsWhatWasDepartedInIt) {
    std::mt19937_64 random(3);
    for (int run = 0; run < 300; run++) {
        std::vector<std::pair<std::uint64_t, std::int64_t>> departures;
        olaf_aom aom{};
        std::uint64_t now = 500 * second + random() % (100 * second);
        const auto pace = second / (1 + random() % 200);
        for (int i = 0; i < 2000; i++) {
            now += random() % (random() % 500 == 0 ? 40 * second : pace);
            const auto generated = static_cast<std::int64_t>(now - random() % second);
            departures.emplace_back(now, generated);
            depart(aom, now, now, generated);
        }
        now += random() % (20 * second);
        const auto from = now - olaf::minute_ns;
        const auto age = olaf::recent_age(aom, olaf::generated_members, from, now);
        const auto asked = std::min<std::uint64_t>(olaf::minute_ns, now - aom.first_ns);
        EXPECT_LE(age.time_ns, asked);
        EXPECT_GE(age.time_ns + (std::uint64_t{1} << OLAF_AGE_MARK_SHIFT), asked);
        const auto right = expected(departures, now - age.time_ns, now);
        EXPECT_EQ(age.twice_area, right.twice_area);
        EXPECT_EQ(age.highest_ns, right.highest_ns);
        EXPECT_LE(age.average_ns(), static_cast<double>(age.highest_ns));
    }
}

TEST(Recent, APauseIsNotForgotten) {
    olaf_aom aom{};
    depart(aom, 1000 * second, 1000 * second, 1000 * second);
    depart(aom, 1050 * second, 1050 * second, 1050 * second);
    olaf::ClusterAom cluster;
    olaf::add_segment(cluster, aom, 1070 * second);
    EXPECT_FALSE(cluster.idle);
    // From 1,010 on it grew from 10 s to 50, then from 0 to 20.
    EXPECT_EQ(cluster.arrival.minute.time_ns, 60 * second);
    EXPECT_EQ(cluster.arrival.minute.twice_area,
              Wide{50 * second} * (50 * second) - Wide{10 * second} * (10 * second) +
                  Wide{20 * second} * (20 * second));
    EXPECT_EQ(cluster.arrival.minute.highest_ns, 50 * second);
    EXPECT_EQ(cluster.arrival.highest_ns(1052 * second, 1070 * second), 20 * second);
    olaf::ClusterAom later;
    olaf::add_segment(later, aom, 1111 * second);
    EXPECT_TRUE(later.idle);
}

TEST(Recent, AMeterThatForgetsBeginsWithItsNextDeparture) {
    olaf_aom aom{};
    for (std::uint64_t i = 0; i < 100; i++)
        depart(aom, (1000 + i) * second, (1000 + i) * second, static_cast<std::int64_t>(i * second));
    olaf_age_forget(&aom);
    olaf::ClusterAom nothing;
    olaf::add_segment(nothing, aom, 1100 * second);
    EXPECT_EQ(nothing.segments, 0u);
    depart(aom, 1200 * second, 1190 * second, 1190 * second);
    depart(aom, 1201 * second, 1201 * second, 1201 * second);
    olaf_aom fresh{};
    depart(fresh, 1200 * second, 1190 * second, 1190 * second);
    depart(fresh, 1201 * second, 1201 * second, 1201 * second);
    fresh.begun = fresh.ended = aom.ended;
    fresh.forgotten = 100;
    EXPECT_EQ(std::memcmp(&aom, &fresh, sizeof aom), 0);
}

} // namespace
} // namespace olaf::test::recent_age_test
