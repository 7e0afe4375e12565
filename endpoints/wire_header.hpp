// SPDX-License-Identifier: BSD-2-Clause
// What encoding and decoding of all message types share.
#pragma once

#include <cstring>

#include <olaf/message.hpp>

#include "byte_order.hpp"

namespace olaf {

inline unsigned format_flags(Format format) {
    return static_cast<unsigned>(format) << OLAF_FLAG_FORMAT_SHIFT;
}

inline Format format_of(std::uint16_t flags) {
    return static_cast<Format>((flags & OLAF_FLAG_FORMAT_MASK) >> OLAF_FLAG_FORMAT_SHIFT);
}

/// A header with bytes 0 ... 7 filled in, the others 0. `flags` in host order.
inline olaf_header header_with(olaf_message_type type, unsigned flags, std::uint16_t lanes) {
    olaf_header header{};
    header.magic_be = big_endian<std::uint16_t>(OLAF_MAGIC);
    header.version = OLAF_VERSION;
    header.type = static_cast<std::uint8_t>(type);
    header.flags_be = big_endian(static_cast<std::uint16_t>(flags));
    header.lanes_be = big_endian(lanes);
    return header;
}

/// The header of a message whose prefix is right and whose type is as wanted.
inline Decoded<olaf_header> header_of(std::span<const std::byte> message,
                                      olaf_message_type wanted) {
    const auto type = decode_type(message);
    if (!type)
        return std::unexpected(type.error());
    if (*type != wanted)
        return std::unexpected(Reject::wrong_type);
    olaf_header header;
    std::memcpy(&header, message.data(), sizeof(header));
    return header;
}

} // namespace olaf
