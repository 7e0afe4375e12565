// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/segments.hpp>

#include <algorithm>
#include <limits>
#include <string>

namespace olaf {
namespace {

constexpr std::size_t kAlignment = 4; // elements: the most that a lane holds
constexpr std::size_t kMaxSegments = std::numeric_limits<std::uint16_t>::max();

constexpr std::size_t divide_up(std::size_t a, std::size_t b) {
    return a / b + (a % b != 0);
}

std::unexpected<Error> refuse(std::size_t elements, std::string reason, std::string hint = {}) {
    return fail("cut model into segments", std::to_string(elements) + " elements", 0,
                std::move(hint), std::move(reason));
}

} // namespace

Result<Segments> Segments::of(std::size_t elements, std::size_t segments) {
    if (elements == 0 || segments == 0 || segments > kMaxSegments)
        return refuse(elements, "1 to 65535 segments of at least one element are possible, not " +
                                    std::to_string(segments));
    const std::size_t each = divide_up(divide_up(elements, segments), kAlignment) * kAlignment;
    if ((segments - 1) * each >= elements)
        return refuse(elements,
                      "the last of " + std::to_string(segments) + " segments would be empty");
    return Segments(elements, each, static_cast<std::uint16_t>(segments));
}

Result<Segments> Segments::fitting(std::size_t elements, Format format, std::size_t lanes) {
    const std::size_t places = lanes * elements_per_lane(format);
    if (elements <= places) // nothing is cut, so nothing is aligned
        return of(elements, 1);
    const std::size_t room = places / kAlignment * kAlignment;
    if (room == 0)
        return refuse(elements, "a frame has no room for any", "raise the MTU");
    // Equal segments of at most `room`, a multiple of the alignment, are never empty.
    return of(elements, divide_up(elements, room));
}

Slice Segments::slice(std::size_t segment) const {
    const std::size_t begin = segment * each_;
    return {.begin = begin, .end = std::min(begin + each_, elements_)};
}

std::size_t packet_of_lanes(std::size_t lanes, bool ipv6) {
    return (ipv6 ? 40 : 20) + 8 + sizeof(olaf_header) + lanes * sizeof(std::uint64_t);
}

std::size_t lanes_in_mtu(std::size_t mtu, bool ipv6) {
    const std::size_t headers = packet_of_lanes(0, ipv6);
    if (mtu <= headers)
        return 0;
    return std::min<std::size_t>((mtu - headers) / sizeof(std::uint64_t), OLAF_MAX_LANES);
}

} // namespace olaf
