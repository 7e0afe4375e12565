// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "replica.hpp"

namespace olaf::test::replica_test {
namespace {

using olaf::Reject;
using olaf::Replica;
using Taken = olaf::Replica::Taken;

// Gives `replica` one segment of eight weights, all of `value`.
olaf::Decoded<Taken> give(Replica &replica, std::uint32_t version, float value, int segment = 0,
                          int segments = 1) {
    const std::vector<float> weights(static_cast<std::size_t>(8 / segments), value);
    std::vector<std::uint64_t> lanes(weights.size() / 2);
    EXPECT_TRUE(olaf::pack_weights(weights, lanes));
    return replica.take({.model_version = version,
                         .segment = static_cast<std::uint16_t>(segment),
                         .segments = static_cast<std::uint16_t>(segments)},
                        lanes);
}

TEST(Replica, KeepsTheNewest) {
    Replica replica(8);
    EXPECT_FALSE(replica.complete());
    EXPECT_EQ(give(replica, 0xffffffff, 1.0F), Taken::fresh);
    EXPECT_TRUE(replica.complete());
    EXPECT_EQ(give(replica, 3, 2.0F), Taken::fresh) << "versions wrap";
    EXPECT_EQ(give(replica, 3, 9.0F), Taken::nothing);
    EXPECT_EQ(give(replica, 0xffffffff, 1.0F), Taken::stale);
    EXPECT_EQ(replica.weights()[7], 2.0F);
    EXPECT_EQ(replica.version(), 3U);
}

TEST(Replica, BelievesAServerThatStartedAnew) {
    Replica replica(8);
    ASSERT_EQ(give(replica, 1000, 1.0F), Taken::fresh);
    for (std::uint32_t i = 1; i < Replica::kRestart; i++)
        ASSERT_EQ(give(replica, i, 2.0F), Taken::stale) << i;
    EXPECT_EQ(give(replica, 16, 3.0F), Taken::fresh);
    EXPECT_EQ(replica.version(), 16U);
    EXPECT_EQ(give(replica, 17, 4.0F), Taken::fresh);
}

TEST(Replica, IsAsOldAsItsOldestSegment) {
    Replica replica(8);
    EXPECT_EQ(give(replica, 5, 1.0F, 0, 2), Taken::fresh);
    EXPECT_FALSE(replica.complete());
    EXPECT_EQ(replica.version(), 0U);
    EXPECT_EQ(give(replica, 6, 2.0F, 1, 2), Taken::fresh);
    EXPECT_TRUE(replica.complete());
    EXPECT_EQ(replica.version(), 5U);
    EXPECT_EQ(give(replica, 9, 3.0F, 0, 2), Taken::fresh);
    EXPECT_EQ(replica.version(), 6U);
    EXPECT_EQ(replica.weights()[3], 3.0F);
    EXPECT_EQ(replica.weights()[4], 2.0F);
    // Another cut: what is held stays, as old as it was.
    EXPECT_EQ(give(replica, 7, 4.0F), Taken::fresh);
    EXPECT_EQ(replica.version(), 7U);
}

TEST(Replica, RejectsWhatDoesNotFitTheModel) {
    Replica replica(8);
    const std::vector<std::uint64_t> lanes(3);
    EXPECT_EQ(replica.take({}, lanes).error(), Reject::wrong_lanes);
    EXPECT_EQ(replica.take({.segments = 9}, lanes).error(), Reject::wrong_segment);
    EXPECT_EQ(replica.take({}, {}), Taken::nothing) << "an ACK may be without weights";
    EXPECT_FALSE(replica.complete());
}

} // namespace
} // namespace olaf::test::replica_test
