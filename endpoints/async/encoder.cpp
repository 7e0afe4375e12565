// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/encoder.hpp>

#include <cmath>
#include <random>
#include <string>

#include <olaf/try.hpp>

#include "endpoints/wire/lane_kernels.hpp"

namespace olaf {
namespace {

std::uint64_t seed_of(const Rounding &rounding) {
    if (rounding.seed)
        return *rounding.seed;
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
}

// splitmix64: any seed will do, and workers of neighbouring seeds differ.
std::uint32_t next_key(std::uint64_t &state) {
    std::uint64_t x = state += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<std::uint32_t>(x >> 32);
}

} // namespace

Result<double> fitting_scale(const Packing &packing, double largest, double headroom) {
    OLAF_TRY(validate({.format = packing.format, .scale = 1, .max_count = packing.max_count}));
    const auto refuse = [](std::string reason) {
        return fail("choose scale", {}, 0, {}, std::move(reason));
    };
    if (!std::isfinite(largest) || largest <= 0)
        return refuse("the largest element must be positive and finite");
    if (!std::isfinite(headroom) || headroom < 1)
        return refuse("the headroom must be 1 or more");
    const double scale =
        std::exp2(std::floor(std::log2(clip_limit(packing)) - std::log2(largest * headroom)));
    if (!std::isfinite(scale) || scale <= 0)
        return refuse("no number is as large or as small as it would have to be");
    return scale;
}

Encoder::Encoder(const Packing &packing, const Rounding &rounding, std::size_t elements)
    : packing_(packing), rounding_(rounding), elements_(elements),
      residual_(rounding.error_feedback ? elements : 0), random_(seed_of(rounding)) {}

Result<Encoder> Encoder::make(const Packing &packing, const Rounding &rounding,
                              std::size_t elements) {
    OLAF_TRY(validate(packing));
    if (packing.format == Format::i64x1 && (rounding.stochastic || rounding.error_feedback))
        return fail("round gradients", "i64x1", 0, "raise the scale instead",
                    "it has steps to spare, and is rounded to nearest only");
    return Encoder(packing, rounding, elements);
}

Result<PackReport> Encoder::pack(std::size_t begin, std::span<const float> slice,
                                 std::span<std::uint64_t> lanes) {
    if (begin > elements_ || slice.size() > elements_ - begin)
        return fail("pack gradient", {}, 0, {},
                    "elements " + std::to_string(begin) + " to " +
                        std::to_string(begin + slice.size()) + " aren't all of the model's " +
                        std::to_string(elements_));
    if ((!rounding_.stochastic && !rounding_.error_feedback) ||
        lanes.size() != lanes_for(packing_.format, slice.size()))
        return olaf::pack(packing_, slice, lanes);
    const kernels::Keeping keeping = {
        .stochastic = rounding_.stochastic,
        .key = rounding_.stochastic ? next_key(random_) : 0,
        .residual = rounding_.error_feedback ? residual_.data() + begin : nullptr,
        .step = 1 / packing_.scale};
    const auto run =
        packing_.format == Format::i32x2 ? kernels::pack_i32_keeping : kernels::pack_i16_keeping;
    const kernels::Losses lost = run(slice.data(), slice.size(), packing_.scale,
                                     clip_limit(packing_), lanes.data(), keeping);
    return PackReport{.clipped = static_cast<std::size_t>(lost.clipped),
                      .nans = static_cast<std::size_t>(lost.nans)};
}

} // namespace olaf
