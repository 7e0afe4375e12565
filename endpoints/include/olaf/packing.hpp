// SPDX-License-Identifier: BSD-2-Clause
// Gradients to lanes and back. A lane packs elements linearly (docs/protocol.md):
// adding lanes adds elements, which is all that the kernel does to them.
//
// Lanes are little-endian on the wire and host-order here; every host that Olaf
// runs on is little-endian, which packing.cpp asserts. All functions are pure
// and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <olaf/protocol.h>
#include <olaf/result.hpp>

namespace olaf {

/// How a lane holds elements; the values are those on the wire.
enum class Format : std::uint8_t {
    i32x2 = OLAF_FORMAT_I32X2,
    i16x4 = OLAF_FORMAT_I16X4,
    i64x1 = OLAF_FORMAT_I64X1,
    f32x2 = OLAF_FORMAT_F32X2,
};

[[nodiscard]] constexpr unsigned elements_per_lane(Format format) {
    switch (format) {
    case Format::i16x4:
        return 4;
    case Format::i64x1:
        return 1;
    default:
        return 2;
    }
}

/// Data lanes that `elements` need; the checksum lane is not among them.
[[nodiscard]] constexpr std::size_t lanes_for(Format format, std::size_t elements) {
    return (elements + elements_per_lane(format) - 1) / elements_per_lane(format);
}

[[nodiscard]] std::string_view name(Format format);

/// What a cluster's workers and its server must agree on.
struct Packing {
    Format format = Format::i32x2;
    /// Fixed-point steps per unit of gradient. The default suits i32x2, where it
    /// clips at ±128; i16x4 has only ±127 steps at the default max_count, so
    /// choose its scale (and max_count) from the gradients' real range.
    double scale = 65536.0;
    /// The most updates that the queue ever folds into one.
    std::uint32_t max_count = OLAF_DEFAULT_MAX_COUNT;
};

/// Fails on a format that is not linear, a scale that is not positive and finite, or a
/// max_count that is 0, above OLAF_LIMIT_MAX_COUNT or leaves an element no steps at all.
[[nodiscard]] Result<void> validate(const Packing &packing);

/// Largest magnitude of one update's element, in steps: floor((2^(w-1) - 1) / max_count).
/// For i64x1 with a small max_count, the largest binary64 not above that.
[[nodiscard]] double clip_limit(const Packing &packing);

/// What packing lost.
struct PackReport {
    std::size_t clipped = 0; ///< elements beyond the clip limit, ±inf included
    std::size_t nans = 0;    ///< NaN elements, packed as 0

    PackReport &operator+=(const PackReport &other) {
        clipped += other.clipped;
        nans += other.nans;
        return *this;
    }
};

/// Packs one update: element = gradient × scale, computed in binary64, clipped to
/// ±clip_limit and rounded to nearest, ties to even. NaN becomes 0; ±inf is clipped.
/// The last lane is padded with zeros. Fails if `packing` is invalid or
/// `lanes` is not exactly lanes_for(format, gradient.size()) long.
[[nodiscard]] Result<PackReport> pack(const Packing &packing, std::span<const float> gradient,
                                      std::span<std::uint64_t> lanes);

/// Unpacks a sum of packed updates: out = element × factor, computed in binary64 and
/// rounded to binary32 (to unpack the mean: factor = 1 / (scale × count)). Elements
/// beyond out.size() are padding and ignored. Fails on f32x2 or a wrong number of lanes.
[[nodiscard]] Result<void> unpack(Format format, double factor,
                                  std::span<const std::uint64_t> lanes, std::span<float> out);

/// Weights to f32x2 lanes: bit copies, NaN and all, padded with +0.
[[nodiscard]] Result<void> pack_weights(std::span<const float> weights,
                                        std::span<std::uint64_t> lanes);

/// f32x2 lanes to weights: bit copies.
[[nodiscard]] Result<void> unpack_weights(std::span<const std::uint64_t> lanes,
                                          std::span<float> weights);

/// The checksum lane over data lanes: Σ (2i + 1) · lane_i mod 2^64. Linear: the
/// checksum of a sum of payloads is the sum of their checksums.
[[nodiscard]] std::uint64_t checksum(std::span<const std::uint64_t> data);

} // namespace olaf
