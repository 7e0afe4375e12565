// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/packing.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <olaf/try.hpp>

#include "endpoints/wire/lane_kernels.hpp"

namespace olaf {

static_assert(std::endian::native == std::endian::little,
              "lanes are little-endian on the wire and would need swapping here");

namespace {

std::uint64_t element_maximum(Format format) {
    switch (format) {
    case Format::i16x4:
        return std::numeric_limits<std::int16_t>::max();
    case Format::i64x1:
        return std::numeric_limits<std::int64_t>::max();
    default:
        return std::numeric_limits<std::int32_t>::max();
    }
}

Result<void> check_lanes(std::string operation, Format format, std::size_t elements,
                         std::size_t lanes) {
    if (lanes == lanes_for(format, elements))
        return {};
    return fail(std::move(operation), std::string(name(format)), 0, {},
                std::to_string(elements) + " elements need " +
                    std::to_string(lanes_for(format, elements)) + " lanes, not " +
                    std::to_string(lanes));
}

} // namespace

std::string_view name(Format format) {
    switch (format) {
    case Format::i32x2:
        return "i32x2";
    case Format::i16x4:
        return "i16x4";
    case Format::i64x1:
        return "i64x1";
    case Format::f32x2:
        return "f32x2";
    }
    return "unknown";
}

Result<void> validate(const Packing &packing) {
    const auto refuse = [](std::string reason, std::string hint = {}) {
        return fail("use packing", {}, 0, std::move(hint), std::move(reason));
    };
    if (packing.format != Format::i32x2 && packing.format != Format::i16x4 &&
        packing.format != Format::i64x1)
        return refuse("format " + std::string(name(packing.format)) + " can't be folded",
                      "choose i32x2, i16x4 or i64x1");
    if (!std::isfinite(packing.scale) || packing.scale <= 0)
        return refuse("the scale must be positive and finite");
    if (packing.max_count == 0 || packing.max_count > OLAF_LIMIT_MAX_COUNT)
        return refuse("max_count must be 1 to " + std::to_string(OLAF_LIMIT_MAX_COUNT));
    if (element_maximum(packing.format) < packing.max_count)
        return refuse("a sum of max_count elements has no room in the format",
                      "lower max_count or choose a wider format");
    return {};
}

double clip_limit(const Packing &packing) {
    const std::uint64_t limit = element_maximum(packing.format) / packing.max_count;
    const double rounded = static_cast<double>(limit);
    // Above 2^53 the conversion may have rounded up, past the limit: 2^63 itself is
    // out of int64's range.
    if (rounded >= 0x1p53 && static_cast<std::uint64_t>(rounded) > limit)
        return std::nextafter(rounded, 0.0);
    return rounded;
}

Result<PackReport> pack(const Packing &packing, std::span<const float> gradient,
                        std::span<std::uint64_t> lanes) {
    OLAF_TRY(validate(packing));
    OLAF_TRY(check_lanes("pack gradient", packing.format, gradient.size(), lanes.size()));

    const auto run = packing.format == Format::i32x2   ? kernels::pack_i32
                     : packing.format == Format::i16x4 ? kernels::pack_i16
                                                       : kernels::pack_i64;
    const kernels::Losses lost =
        run(gradient.data(), gradient.size(), packing.scale, clip_limit(packing), lanes.data());
    return PackReport{.clipped = static_cast<std::size_t>(lost.clipped),
                      .nans = static_cast<std::size_t>(lost.nans)};
}

Result<void> unpack(Format format, double factor, std::span<const std::uint64_t> lanes,
                    std::span<float> out) {
    OLAF_TRY(check_lanes("unpack gradient", format, out.size(), lanes.size()));
    switch (format) {
    case Format::i32x2:
        kernels::unpack_i32(lanes.data(), out.size(), factor, out.data());
        return {};
    case Format::i16x4:
        kernels::unpack_i16(lanes.data(), out.size(), factor, out.data());
        return {};
    case Format::i64x1:
        kernels::unpack_i64(lanes.data(), out.size(), factor, out.data());
        return {};
    case Format::f32x2:
        break;
    }
    return fail("unpack gradient", std::string(name(format)), 0, {}, "not a sum of updates");
}

Result<void> pack_weights(std::span<const float> weights, std::span<std::uint64_t> lanes) {
    OLAF_TRY(check_lanes("pack weights", Format::f32x2, weights.size(), lanes.size()));
    if (lanes.empty())
        return {};
    lanes.back() = 0; // the padding of an odd count
    std::memcpy(lanes.data(), weights.data(), weights.size_bytes());
    return {};
}

Result<void> unpack_weights(std::span<const std::uint64_t> lanes, std::span<float> weights) {
    OLAF_TRY(check_lanes("unpack weights", Format::f32x2, weights.size(), lanes.size()));
    if (!lanes.empty())
        std::memcpy(weights.data(), lanes.data(), weights.size_bytes());
    return {};
}

std::uint64_t checksum(std::span<const std::uint64_t> data) {
    return kernels::checksum(data.data(), data.size());
}

} // namespace olaf
