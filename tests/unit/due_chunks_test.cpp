// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <vector>

#include "due_chunks.hpp"

using namespace olaf;
using std::chrono::nanoseconds;

namespace olaf::test::due_chunks_test {
namespace {

DueChunk due(std::uint64_t position, std::int64_t at) {
    return {.at = nanoseconds(at), .position = position, .sendings = 1};
}

std::vector<std::uint64_t> all_of(DueChunks &chunks) {
    std::vector<std::uint64_t> positions;
    for (; !chunks.empty(); chunks.pop())
        positions.push_back(chunks.top().position);
    return positions;
}

TEST(DueChunks, WhatIsDueFirstIsAtTheTop) {
    DueChunks chunks;
    for (const auto &[position, at] : {std::pair(1, 30), std::pair(2, 10), std::pair(3, 20)})
        chunks.push(due(position, at));
    EXPECT_EQ(all_of(chunks), (std::vector<std::uint64_t>{2, 3, 1}));
}

TEST(DueChunks, WhatIsPutOffIsBehindWhatIsDueBeforeThat) {
    DueChunks chunks;
    for (std::uint64_t position = 1; position <= 3; position++)
        chunks.push(due(position, 10 * position));
    chunks.put_off(nanoseconds(10), nanoseconds(25));
    EXPECT_EQ(all_of(chunks), (std::vector<std::uint64_t>{2, 1, 3}));
}

TEST(DueChunks, WhatIsPutOffSaysSinceWhen) {
    DueChunks chunks;
    chunks.push(due(1, 10));
    EXPECT_EQ(chunks.top().put_off, nanoseconds(0));
    chunks.put_off(nanoseconds(12), nanoseconds(40));
    EXPECT_EQ(chunks.top().put_off, nanoseconds(12));
    EXPECT_EQ(chunks.top().at, nanoseconds(40));
}

// Whoever waits for a slow member does this as long as that takes.
TEST(DueChunks, AllOfThemArePutOffAgainAndAgainInTheirOrder) {
    DueChunks chunks;
    for (std::uint64_t position = 0; position < 100; position++)
        chunks.push(due(position, 10 + position));
    for (std::int64_t turn = 1; turn <= 3; turn++)
        for (std::uint64_t position = 0; position < 100; position++) {
            const nanoseconds now(1000 * turn + position);
            ASSERT_EQ(chunks.top().position, position);
            chunks.put_off(now, now + nanoseconds(1000));
        }
    EXPECT_EQ(all_of(chunks).size(), 100u);
}

// Of those put off, nobody overtakes: who is behind a longer timeout waits for that, and no longer.
TEST(DueChunks, WhatIsBehindALongerTimeoutIsDueRightAfterIt) {
    DueChunks chunks;
    chunks.push(due(1, 10));
    chunks.push(due(2, 11));
    chunks.put_off(nanoseconds(11), nanoseconds(100));
    chunks.put_off(nanoseconds(11), nanoseconds(50));
    chunks.push(due(3, 60));
    EXPECT_EQ(all_of(chunks), (std::vector<std::uint64_t>{3, 1, 2}));
}

} // namespace
} // namespace olaf::test::due_chunks_test
