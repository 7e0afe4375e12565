// SPDX-License-Identifier: BSD-2-Clause
// Bytes of a frame: big-endian fields, little-endian lanes, internet checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace olaf::test {

using Bytes = std::vector<std::uint8_t>;

/// Appends `width` bytes of `value`, most significant first.
inline void put_be(Bytes &out, std::uint64_t value, int width) {
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8)
        out.push_back(static_cast<std::uint8_t>(value >> shift));
}

inline void put_le64(Bytes &out, std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
        out.push_back(static_cast<std::uint8_t>(value >> shift));
}

inline void set_be(Bytes &bytes, std::size_t at, std::uint64_t value, int width) {
    for (int i = 0; i < width; i++)
        bytes.at(at + i) = static_cast<std::uint8_t>(value >> (8 * (width - 1 - i)));
}

inline std::uint64_t get_be(std::span<const std::uint8_t> bytes, std::size_t at, int width) {
    std::uint64_t value = 0;
    for (int i = 0; i < width; i++)
        value = value << 8 | bytes[at + i];
    return value;
}

inline std::uint64_t get_le64(std::span<const std::uint8_t> bytes, std::size_t at) {
    std::uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[at + i];
    return value;
}

/// Ones' complement sum of 16-bit big-endian words, not yet folded or inverted.
inline std::uint64_t checksum_add(std::span<const std::uint8_t> bytes, std::uint64_t sum = 0) {
    for (std::size_t i = 0; i < bytes.size(); i++)
        sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
    return sum;
}

inline std::uint16_t checksum_finish(std::uint64_t sum) {
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

/// Header checksum of the IPv4 header at `l3`, taking its checksum field as zero.
inline std::uint16_t ipv4_checksum(std::span<const std::uint8_t> frame, std::size_t l3) {
    std::size_t bytes = (frame[l3] & 0xf) * 4u;
    std::uint64_t sum = checksum_add(frame.subspan(l3, bytes));
    return checksum_finish(sum - get_be(frame, l3 + 10, 2));
}

/// UDP checksum of the datagram at `l4`, taking its checksum field as zero; never 0 itself.
inline std::uint16_t udp_checksum(std::span<const std::uint8_t> frame, std::size_t l3,
                                  std::size_t l4) {
    bool v4 = frame[l3] >> 4 == 4;
    std::size_t length = get_be(frame, l4 + 4, 2);
    std::uint64_t sum = checksum_add(v4 ? frame.subspan(l3 + 12, 8) : frame.subspan(l3 + 8, 32));
    sum += 17 + length;
    sum = checksum_add(frame.subspan(l4, length), sum) - get_be(frame, l4 + 6, 2);
    std::uint16_t checksum = checksum_finish(sum);
    return checksum == 0 ? 0xffff : checksum;
}

} // namespace olaf::test
