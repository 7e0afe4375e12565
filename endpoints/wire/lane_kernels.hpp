// SPDX-License-Identifier: BSD-2-Clause
// The loops behind packing.hpp, one function per element width so that each can be
// compiled for several vector extensions. Sizes are checked by the callers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace olaf::kernels {

struct Losses {
    std::int64_t clipped = 0;
    std::int64_t nans = 0;
};

/// `n` gradients to ceil(n / elements per lane) lanes; `limit` as from clip_limit().
Losses pack_i32(const float *in, std::size_t n, double scale, double limit, std::uint64_t *lanes);
Losses pack_i16(const float *in, std::size_t n, double scale, double limit, std::uint64_t *lanes);
Losses pack_i64(const float *in, std::size_t n, double scale, double limit, std::uint64_t *lanes);

/// Rounding that isn't just to nearest.
struct Keeping {
    bool stochastic = false;
    std::uint32_t key = 0;     ///< of the first element's random number; the next has the next key
    float *residual = nullptr; ///< error feedback: `n` of them, read and written; or none
    double step = 0;           ///< 1 / scale
};

/// The same; at least one of `keeping.stochastic` and `keeping.residual` is set.
Losses pack_i32_keeping(const float *in, std::size_t n, double scale, double limit,
                        std::uint64_t *lanes, const Keeping &keeping);
Losses pack_i16_keeping(const float *in, std::size_t n, double scale, double limit,
                        std::uint64_t *lanes, const Keeping &keeping);

/// Lanes to `n` floats.
void unpack_i32(const std::uint64_t *lanes, std::size_t n, double factor, float *out);
void unpack_i16(const std::uint64_t *lanes, std::size_t n, double factor, float *out);
void unpack_i64(const std::uint64_t *lanes, std::size_t n, double factor, float *out);

/// The bits of the largest |x|; those of infinity and NaN are larger than any number's.
std::uint32_t largest_magnitude(const float *in, std::size_t n);

/// Σ (2i + 1) · lane_i mod 2^64.
std::uint64_t checksum(const std::uint64_t *lanes, std::size_t n);

} // namespace olaf::kernels
