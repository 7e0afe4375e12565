// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <olaf/segments.hpp>

namespace olaf::test::segments_test {
namespace {

using olaf::Format;
using olaf::Segments;

TEST(Segments, CoverTheModelOnceAndFit) {
    for (const Format format : {Format::i32x2, Format::i16x4, Format::i64x1, Format::f32x2}) {
        for (const std::size_t lanes : {4U, 5U, 178U}) {
            for (std::size_t elements = 1; elements < 3000; elements += 7) {
                const auto segments = Segments::fitting(elements, format, lanes);
                ASSERT_TRUE(segments) << elements;
                std::size_t next = 0;
                for (std::size_t segment = 0; segment < segments->count(); segment++) {
                    const olaf::Slice slice = segments->slice(segment);
                    ASSERT_EQ(slice.begin, next);
                    ASSERT_GT(slice.size(), 0U);
                    ASSERT_LE(olaf::lanes_for(format, slice.size()), lanes);
                    ASSERT_EQ(segments->holding(slice.begin), segment);
                    ASSERT_EQ(segments->holding(slice.end - 1), segment);
                    next = slice.end;
                }
                ASSERT_EQ(next, elements);
                // The receiver, told only the count, cuts alike.
                const auto again = Segments::of(elements, segments->count());
                ASSERT_TRUE(again);
                ASSERT_EQ(again->slice(0).end, segments->slice(0).end);
            }
        }
    }
}

TEST(Segments, RefuseEmptyOnes) {
    EXPECT_FALSE(Segments::of(0, 1));
    EXPECT_FALSE(Segments::of(10, 0));
    EXPECT_FALSE(Segments::of(10, 65536));
    EXPECT_FALSE(Segments::of(5, 3)) << "4 + 1 + 0";
    EXPECT_TRUE(Segments::of(9, 3)) << "4 + 4 + 1";
    EXPECT_FALSE(Segments::fitting(10, Format::i64x1, 3)) << "no room for an aligned segment";
    EXPECT_FALSE(Segments::fitting(1 << 20, Format::i64x1, 4)) << "too many";
}

TEST(Segments, FramesFitTheMtu) {
    EXPECT_EQ(olaf::lanes_in_mtu(1500, false), 178U); // 1500 − 20 − 8 − 48 = 1424 bytes
    EXPECT_EQ(olaf::lanes_in_mtu(1500, true), 175U);
    EXPECT_EQ(olaf::lanes_in_mtu(83, false), 0U);
    EXPECT_EQ(olaf::lanes_in_mtu(84, false), 1U);
    EXPECT_EQ(olaf::lanes_in_mtu(65535, false), static_cast<std::size_t>(OLAF_MAX_LANES));
}

} // namespace
} // namespace olaf::test::segments_test
