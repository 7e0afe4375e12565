// SPDX-License-Identifier: BSD-2-Clause
// What `olaf send` and `olaf receive` are asked for, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loader/text/units.hpp"
#include "olaf/protocol.h"

namespace olaf {

/// In nanoseconds.
inline constexpr std::uint64_t second = 1'000'000'000;

struct SendOptions {
    std::string server = {};    ///< ADDR[:PORT], or a name
    int family = 0;             ///< 4 or 6, for a name that has both; 0: either
    std::uint32_t clusters = 1; ///< first_cluster and those that follow
    std::uint32_t first_cluster = 0;
    std::uint32_t workers = 1; ///< of each cluster, first_worker and those that follow
    std::uint32_t first_worker = 0;
    std::uint32_t lanes = 64; ///< of an update, its checksum lane among them
    std::string format = "i32x2";
    Rate rate{.bps = 10'000'000}; ///< of all of them together, Ethernet headers included
    std::uint32_t lag = 0;        ///< versions that updates claim to be behind the model
    std::uint64_t for_ns = 10'000'000'000;
    std::optional<std::uint64_t> updates = {}; ///< end after so many
    std::uint64_t patience_ns = 3'000'000'000; ///< a server this long silent isn't there
};

struct ReceiveOptions {
    std::string bind = {}; ///< address; "": every one of this host
    std::uint32_t port = OLAF_DEFAULT_PORT;
    std::uint32_t mtu = 1500;                  ///< of the way to the workers: answers fit it
    std::uint32_t max_clusters = 1024;         ///< more are refused
    std::optional<std::uint64_t> for_ns = {};  ///< nothing: until interrupted
    std::optional<std::uint64_t> idle_ns = {}; ///< end after this long a silence behind an update
};

} // namespace olaf
