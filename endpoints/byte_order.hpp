// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <bit>
#include <concepts>

namespace olaf {

/// To and from network byte order: its own inverse. libc's htonl() family has no 64-bit member.
template <std::unsigned_integral T> constexpr T big_endian(T value) {
    if constexpr (std::endian::native == std::endian::little)
        return std::byteswap(value);
    return value;
}

} // namespace olaf
