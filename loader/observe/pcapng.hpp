// SPDX-License-Identifier: BSD-2-Clause
// Writes packets with comments as pcapng (draft-ietf-opsawg-pcapng), in host byte order.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace olaf {

struct Packet {
    std::uint64_t time_ns = 0; ///< since 1970, UTC
    std::uint32_t interface = 0;
    bool outbound = false;
    std::uint32_t length = 0; ///< of the whole frame
    std::span<const std::uint8_t> bytes;
    std::string comment;
};

/// Builds blocks; whoever has the file writes them.
namespace pcapng {

std::string section_header(const std::string &application);
/// An Ethernet interface; they count from 0 in the order in which they are written.
std::string interface_description(const std::string &name, std::uint32_t snap_bytes);
std::string packet(const Packet &packet);
/// What an interface has seen: packets in the file and those that never got there.
std::string interface_statistics(std::uint32_t interface, std::uint64_t time_ns,
                                 std::uint64_t received, std::uint64_t dropped);

} // namespace pcapng
} // namespace olaf
