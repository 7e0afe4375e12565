// SPDX-License-Identifier: BSD-2-Clause
// Words for the numbers that the kernel's side counts by.
#pragma once

#include <array>
#include <string_view>

#include "olaf/events.h"
#include "olaf/queue.h"

namespace olaf {

inline constexpr std::array<std::string_view, 3> deliver_names{"local", "forward", "upstream"};

inline constexpr std::array<std::string_view, OLAF_MALFORMED_REASONS> malformed_names{
    "version", "type", "length", "truncated", "lanes", "format", "count", "segment", "ip_checksum",
    "udp_checksum"};

inline constexpr std::array<std::string_view, OLAF_REFUSED_REASONS> refused_names{
    "source", "cluster", "segment", "size", "worker", "address", "count"};

inline constexpr std::array<std::string_view, OLAF_BYPASS_REASONS> bypass_names{
    "other", "foreign", "tagged", "unbridged"};

/// Where something was lost behind the queue, as `olaf status` calls it.
inline constexpr std::array<std::string_view, OLAF_LOST_PLACES> lost_names{
    "redirect", "transmit", "send_back", "lane", "socket", "stack", "device"};

} // namespace olaf
