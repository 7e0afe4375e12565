// SPDX-License-Identifier: BSD-2-Clause
// Plain loops that g++ -O3 vectorises. This file is compiled with -fno-trapping-math,
// without which comparisons of doubles stay scalar, and -ffp-contract=off, so that
// every host rounds alike.
#include "endpoints/wire/lane_kernels.hpp"

#include <cmath>
#include <cstring>

// OLAF_CLONES compiles a function once per vector extension and picks one when the
// program loads, so that one binary is fast where it can be and runs anywhere.
// Needs ifunc, hence glibc. Sanitizers instrument the resolvers, which run before
// their runtime is up, so those builds get the portable version only.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) &&                         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OLAF_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define OLAF_CLONES
#endif

namespace olaf::kernels {
namespace {

constexpr std::size_t kBlock = 512; // elements; a block of either side stays in L1

// The top bit of each element. A lane plus all of these holds each element offset to
// unsigned, with no borrow between them; flipping them back leaves plain
// two's complement elements side by side. So linear packing is an array of integers
// and two operations a lane, in both directions.
template <class Int> constexpr std::uint64_t kBias = 0;
template <> constexpr std::uint64_t kBias<std::int32_t> = 0x8000'0000'8000'0000;
template <> constexpr std::uint64_t kBias<std::int16_t> = 0x8000'8000'8000'8000;

// Adding and subtracting 1.5 · 2^52 rounds to nearest, ties to even, for any |x| < 2^51;
// unlike rint() it vectorises on every target.
constexpr double kRound = 6755399441055744.0;

// An element in steps, not yet rounded, and what clipping it lost.
[[gnu::always_inline]] inline double clip(double in, double scale, double limit, Losses &losses) {
    const double x = in * scale;
    const double number = x != x ? 0.0 : x;
    const double below = number > limit ? limit : number;
    const double clipped = below < -limit ? -limit : below;
    losses.nans += x != x ? 1 : 0;
    losses.clipped += clipped != number ? 1 : 0;
    return clipped;
}

// Strictly within ±1/2, so that rounding x plus this to nearest gives the whole number above x
// as often as x is near to it, and a whole number stays as it is. A counter's hash (Wellons'
// lowbias32) needs no state from one element to the next, so it vectorises.
[[gnu::always_inline]] inline double dither(std::uint32_t counter) {
    std::uint32_t x = counter;
    x = (x ^ (x >> 16)) * 0x7feb352dU;
    x = (x ^ (x >> 15)) * 0x846ca68bU;
    x ^= x >> 16;
    return (static_cast<double>(static_cast<std::int32_t>(x)) + 0.5) * 0x1p-32;
}

// One element in steps, not yet rounded; and what rounding left of it goes into the residual.
template <bool stochastic, bool feedback, class Round>
[[gnu::always_inline]] inline double whole(float in, std::size_t i, double scale, double limit,
                                           const Keeping &keeping, Losses &losses,
                                           const Round &round) {
    const double wanted =
        static_cast<double>(in) + (feedback ? static_cast<double>(keeping.residual[i]) : 0.0);
    const double clipped = clip(wanted, scale, limit, losses);
    const double near =
        stochastic ? clipped + dither(keeping.key + static_cast<std::uint32_t>(i)) : clipped;
    const double rounded = round(near);
    if constexpr (feedback)
        keeping.residual[i] = static_cast<float>((clipped - rounded) * keeping.step);
    return rounded;
}

template <class Int, bool stochastic, bool feedback>
[[gnu::always_inline]] inline Losses quantise(const float *in, std::size_t n, double scale,
                                              double limit, const Keeping &keeping, Int *out) {
    Losses losses;
    for (std::size_t i = 0; i < n; i++)
        out[i] = static_cast<Int>(static_cast<std::int32_t>(
            whole<stochastic, feedback>(in[i], i, scale, limit, keeping, losses,
                                        [](double x) { return (x + kRound) - kRound; })));
    return losses;
}

template <class Int, bool stochastic = false, bool feedback = false>
[[gnu::always_inline]] inline Losses pack_linear(const float *in, std::size_t n, double scale,
                                                 double limit, std::uint64_t *lanes,
                                                 Keeping keeping = {}) {
    constexpr std::size_t per_lane = sizeof(std::uint64_t) / sizeof(Int);
    alignas(64) Int block[kBlock];
    Losses losses;

    while (n > 0) {
        const std::size_t now = n < kBlock ? n : kBlock;
        const std::size_t filled = (now + per_lane - 1) / per_lane;
        const Losses lost =
            quantise<Int, stochastic, feedback>(in, now, scale, limit, keeping, block);
        losses.clipped += lost.clipped;
        losses.nans += lost.nans;
        for (std::size_t i = now; i < filled * per_lane; i++)
            block[i] = 0;
        std::memcpy(lanes, block, filled * sizeof(std::uint64_t));
        for (std::size_t i = 0; i < filled; i++)
            lanes[i] = (lanes[i] ^ kBias<Int>)-kBias<Int>;
        in += now;
        lanes += filled;
        n -= now;
        keeping.key += static_cast<std::uint32_t>(now);
        if constexpr (feedback)
            keeping.residual += now;
    }
    return losses;
}

template <class Int>
[[gnu::always_inline]] inline Losses pack_keeping(const float *in, std::size_t n, double scale,
                                                  double limit, std::uint64_t *lanes,
                                                  const Keeping &keeping) {
    if (keeping.residual == nullptr)
        return pack_linear<Int, true, false>(in, n, scale, limit, lanes, keeping);
    return keeping.stochastic ? pack_linear<Int, true, true>(in, n, scale, limit, lanes, keeping)
                              : pack_linear<Int, false, true>(in, n, scale, limit, lanes, keeping);
}

template <class Int>
[[gnu::always_inline]] inline void unpack_linear(const std::uint64_t *lanes, std::size_t n,
                                                 double factor, float *out) {
    constexpr std::size_t per_lane = sizeof(std::uint64_t) / sizeof(Int);
    alignas(64) std::uint64_t plain[kBlock / per_lane];
    alignas(64) Int block[kBlock];

    while (n > 0) {
        const std::size_t now = n < kBlock ? n : kBlock;
        const std::size_t filled = (now + per_lane - 1) / per_lane;
        for (std::size_t i = 0; i < filled; i++)
            plain[i] = (lanes[i] + kBias<Int>)^kBias<Int>;
        std::memcpy(block, plain, filled * sizeof(std::uint64_t));
        for (std::size_t i = 0; i < now; i++)
            out[i] = static_cast<float>(static_cast<double>(block[i]) * factor);
        out += now;
        lanes += filled;
        n -= now;
    }
}

} // namespace

OLAF_CLONES Losses pack_i32(const float *in, std::size_t n, double scale, double limit,
                            std::uint64_t *lanes) {
    return pack_linear<std::int32_t>(in, n, scale, limit, lanes);
}

OLAF_CLONES Losses pack_i16(const float *in, std::size_t n, double scale, double limit,
                            std::uint64_t *lanes) {
    return pack_linear<std::int16_t>(in, n, scale, limit, lanes);
}

OLAF_CLONES Losses pack_i32_keeping(const float *in, std::size_t n, double scale, double limit,
                                    std::uint64_t *lanes, const Keeping &keeping) {
    return pack_keeping<std::int32_t>(in, n, scale, limit, lanes, keeping);
}

OLAF_CLONES Losses pack_i16_keeping(const float *in, std::size_t n, double scale, double limit,
                                    std::uint64_t *lanes, const Keeping &keeping) {
    return pack_keeping<std::int16_t>(in, n, scale, limit, lanes, keeping);
}

OLAF_CLONES void unpack_i32(const std::uint64_t *lanes, std::size_t n, double factor, float *out) {
    unpack_linear<std::int32_t>(lanes, n, factor, out);
}

OLAF_CLONES void unpack_i16(const std::uint64_t *lanes, std::size_t n, double factor, float *out) {
    unpack_linear<std::int16_t>(lanes, n, factor, out);
}

// 64-bit elements are beyond the rounding trick and rare enough to stay scalar.
Losses pack_i64(const float *in, std::size_t n, double scale, double limit, std::uint64_t *lanes) {
    Losses losses;
    for (std::size_t i = 0; i < n; i++)
        lanes[i] = static_cast<std::uint64_t>(
            static_cast<std::int64_t>(std::nearbyint(clip(in[i], scale, limit, losses))));
    return losses;
}

void unpack_i64(const std::uint64_t *lanes, std::size_t n, double factor, float *out) {
    for (std::size_t i = 0; i < n; i++)
        out[i] =
            static_cast<float>(static_cast<double>(static_cast<std::int64_t>(lanes[i])) * factor);
}

// Magnitudes of floats are ordered as their bits are, which are no negative integers.
OLAF_CLONES std::uint32_t largest_magnitude(const float *in, std::size_t n) {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < n; i++) {
        std::int32_t bits;
        std::memcpy(&bits, in + i, sizeof(bits));
        bits &= 0x7fff'ffff;
        largest = bits > largest ? bits : largest;
    }
    return static_cast<std::uint32_t>(largest);
}

OLAF_CLONES std::uint64_t checksum(const std::uint64_t *lanes, std::size_t n) {
    // No multiplication in the loop (AVX2 has none for 64 bits): with `sum` the running
    // sum of a column and `sums` the sum of those, lane k of n rows is in `sums`
    // n − k times, hence Σ k · lane_k = n · sum − sums.
    constexpr std::size_t width = 8;
    typedef std::uint64_t Row __attribute__((vector_size(width * sizeof(std::uint64_t))));
    Row sum = {}, sums = {};
    const std::size_t rows = n / width;
    for (std::size_t k = 0; k < rows; k++) {
        Row row;
        std::memcpy(&row, lanes + k * width, sizeof(row));
        sum += row;
        sums += sum;
    }

    std::uint64_t total = 0;
    for (std::size_t j = 0; j < width; j++)
        total += 2 * width * (rows * sum[j] - sums[j]) + (2 * j + 1) * sum[j];
    for (std::size_t i = rows * width; i < n; i++)
        total += (2 * i + 1) * lanes[i];
    return total;
}

} // namespace olaf::kernels
