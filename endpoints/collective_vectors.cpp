// SPDX-License-Identifier: BSD-2-Clause
// A vector of n pieces of floats takes n + lag chunks: chunk c brings the exponent of piece c, and
// the data of piece c - lag, whose exponent all know by then. Integers need no exponent, nor do floats
// that the node adds: lag 0.
#include <algorithm>
#include <cstring>

#include <olaf/clock.hpp>

#include "block_exponent.hpp"
#include "collective_member.hpp"

namespace olaf {
namespace {

// Integers to lanes that add up, and back.
void pack_integers(std::span<const std::int32_t> in, bool two_a_lane,
                   std::span<std::uint64_t> lanes) {
    const auto wide = [&](std::size_t i) {
        return i < in.size() ? static_cast<std::uint64_t>(std::int64_t{in[i]}) : 0;
    };
    for (std::size_t lane = 0; lane < lanes.size(); lane++)
        lanes[lane] = two_a_lane ? wide(2 * lane) + (wide(2 * lane + 1) << 32) : wide(lane);
}

void unpack_integers(std::span<const std::uint64_t> lanes, bool two_a_lane,
                     std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); i++) {
        const std::uint64_t lane = lanes[two_a_lane ? i / 2 : i];
        const auto low = static_cast<std::int32_t>(static_cast<std::uint32_t>(lane));
        const std::uint64_t above = lane - static_cast<std::uint64_t>(std::int64_t{low});
        out[i] = two_a_lane && i % 2 == 1
                     ? static_cast<std::int32_t>(static_cast<std::uint32_t>(above >> 32))
                     : low;
    }
}

} // namespace

std::size_t CollectiveMember::elements_a_piece(Element element) const {
    return data_lanes() * (element == Element::i64 ? 1 : elements_per_lane(options_.format));
}

template <class T>
std::span<T> CollectiveMember::piece(const Vector &vector, std::uint32_t number) const {
    return std::span(static_cast<T *>(vector.data), vector.elements)
        .subspan(number * elements_a_piece(vector.element), elements_of(vector, number));
}

std::size_t CollectiveMember::elements_of(const Vector &vector, std::uint32_t number) const {
    const std::size_t each = elements_a_piece(vector.element);
    return std::min(each, vector.elements - number * each);
}

std::size_t CollectiveMember::pieces_of(Element element, std::size_t elements) const {
    const std::size_t each = elements_a_piece(element);
    return (elements + each - 1) / each;
}

std::uint32_t CollectiveMember::lag_of(Element element, std::uint32_t pieces) const {
    if (element != Element::f32 || options_.format == Format::f32x2)
        return 0;
    return std::min(pieces, options_.ahead);
}

Result<std::uint64_t> CollectiveMember::add(Element element, void *data, std::size_t elements,
                                            Combine combine, Part part) {
    if (broken_)
        return std::unexpected(*broken_);
    if (element == Element::i32 && options_.format == Format::i16x4)
        return fail("sum 32-bit integers", {}, 0, "choose i32x2 or i64x1",
                    "the job's format is i16x4");
    if (element != Element::f32 && options_.format == Format::f32x2)
        return fail("sum integers", {}, 0, "choose i32x2 or i64x1", "the job's format is f32x2");
    const std::size_t pieces = pieces_of(element, elements);
    if (pieces > UINT32_MAX / 2)
        return fail("sum vector", {}, 0, {}, "it is too long");
    Vector vector = {.number = next_number_++,
                     .element = element,
                     .combine = combine,
                     .part = part,
                     .data = data,
                     .elements = elements,
                     .pieces = static_cast<std::uint32_t>(pieces)};
    if (pieces == 0) {
        ended_.emplace_back(vector.number, SumReport{.least_count = options_.workers});
        return vector.number;
    }
    vector.lag = lag_of(element, vector.pieces);
    vector.exponents.resize(vector.lag == 0 ? 0 : pieces);
    vector.left = vector.pieces + vector.lag;
    vector.report = {.chunks = vector.left, .least_count = UINT32_MAX};
    vector.round = child_->add(vector.left, vector.lag, tai_now_ns());
    vectors_.push_back(std::move(vector));
    return vectors_.back().number;
}

std::uint64_t CollectiveMember::add_farewell() {
    Vector vector = {.number = next_number_++,
                     .element = Element::i64,
                     .data = &farewell_,
                     .elements = 1,
                     .pieces = 1,
                     .left = 1};
    vector.report = {.chunks = 1, .least_count = UINT32_MAX};
    vector.round = child_->add_farewell(tai_now_ns());
    vectors_.push_back(std::move(vector));
    return vectors_.back().number;
}

CollectiveMember::Vector &CollectiveMember::vector_of(std::uint32_t round) {
    return vectors_[round - vectors_.front().round];
}

std::optional<std::int16_t> CollectiveMember::contribute(std::uint32_t round, std::uint32_t chunk,
                                                         std::span<std::uint64_t> lanes) {
    Vector &vector = vector_of(round);
    if (vector.part == Part::nothing)
        return {};
    if (chunk >= vector.lag && !vector.unknown.empty() && vector.unknown[chunk - vector.lag])
        return {};
    std::ranges::fill(lanes, 0);
    if (chunk >= vector.lag)
        pack_piece(vector, chunk - vector.lag, lanes);
    if (vector.exponents.empty())
        return 0;
    return chunk < vector.pieces ? exponent_of(piece<const float>(vector, chunk)) : kAllZero;
}

void CollectiveMember::pack_piece(Vector &vector, std::uint32_t number,
                                  std::span<std::uint64_t> lanes) {
    if (vector.element == Element::i64) {
        const auto in = piece<const std::int64_t>(vector, number);
        std::memcpy(lanes.data(), in.data(), in.size_bytes());
    } else if (vector.element == Element::i32) {
        pack_integers(piece<const std::int32_t>(vector, number), options_.format == Format::i32x2,
                      lanes);
    } else if (vector.exponents.empty()) {
        const auto in = piece<const float>(vector, number);
        std::memcpy(lanes.data(), in.data(), in.size_bytes());
    } else {
        const auto in = piece<const float>(vector, number);
        vector.report.clipped +=
            pack_block(options_.format, options_.workers, vector.exponents[number], in,
                       lanes.first(lanes_for(options_.format, in.size())));
    }
}

void CollectiveMember::unpack_piece(Vector &vector, std::uint32_t number,
                                    std::span<const std::uint64_t> lanes) {
    if (vector.element == Element::i64) {
        const auto out = piece<std::int64_t>(vector, number);
        std::memcpy(out.data(), lanes.data(), out.size_bytes());
    } else if (vector.element == Element::i32) {
        unpack_integers(lanes, options_.format == Format::i32x2,
                        piece<std::int32_t>(vector, number));
    } else if (vector.exponents.empty()) {
        const auto out = piece<float>(vector, number);
        std::memcpy(out.data(), lanes.data(), out.size_bytes());
        vector.report.not_finite += static_cast<std::uint64_t>(
            std::ranges::count_if(out, [](float element) { return element != element; }));
    } else {
        const auto out = piece<float>(vector, number);
        const std::int16_t exponent = vector.exponents[number];
        unpack_block(options_.format, options_.workers, exponent,
                     lanes.first(lanes_for(options_.format, out.size())), out);
        vector.report.not_finite += exponent == kNotFinite ? out.size() : 0;
    }
}

// Puts the result's exponent and sum into the vector.
void CollectiveMember::unpack(Vector &vector, const RoundResult &result,
                              std::span<const std::uint64_t> lanes) {
    if (result.chunk < vector.exponents.size())
        vector.exponents[result.chunk] = result.exponent;
    if (result.chunk >= vector.lag)
        unpack_piece(vector, result.chunk - vector.lag, lanes);
    if (result.chunk >= vector.lag && vector.combine == Combine::mean)
        for (float &element : piece<float>(vector, result.chunk - vector.lag))
            element /= static_cast<float>(result.count);
}

void CollectiveMember::take(const RoundResult &result, std::span<const std::uint64_t> lanes) {
    Vector &vector = vector_of(result.round);
    unpack(vector, result, lanes);
    vector.report.least_count = std::min(vector.report.least_count, result.count);
    vector.report.partial += result.partial ? 1 : 0;
    vector.report.late += result.late ? 1 : 0;
    if (result.late && result.chunk >= vector.lag)
        vector.report.left_out += elements_of(vector, result.chunk - vector.lag);
    vector.left--;
}

void CollectiveMember::miss(std::uint32_t round, std::uint32_t chunk) {
    Vector &vector = vector_of(round);
    if (chunk < vector.exponents.size()) {
        vector.unknown.resize(vector.pieces);
        vector.unknown[chunk] = true;
        vector.exponents[chunk] = kNotFinite; // the sum has no meaning here
    }
    vector.missed++;
    vector.left--;
}

} // namespace olaf
