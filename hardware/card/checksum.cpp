// SPDX-License-Identifier: BSD-2-Clause
#include "checksum.hpp"

namespace olaf::card {

bool complete_checksum(std::span<std::uint8_t> frame, std::size_t start, std::size_t offset) {
    if (start > frame.size() || offset > frame.size() - start ||
        frame.size() - start - offset < 2)
        return false;
    std::uint64_t sum = 0;
    for (std::size_t i = start; i < frame.size(); i++)
        sum += (i - start) % 2 == 0 ? std::uint64_t{frame[i]} << 8 : frame[i];
    while (sum >> 16 != 0)
        sum = (sum & 0xffff) + (sum >> 16);
    auto checksum = static_cast<std::uint16_t>(~sum);
    if (checksum == 0)
        checksum = 0xffff; // 0 says of UDP that there is none
    frame[start + offset] = static_cast<std::uint8_t>(checksum >> 8);
    frame[start + offset + 1] = static_cast<std::uint8_t>(checksum);
    return true;
}

} // namespace olaf::card
