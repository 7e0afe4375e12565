// SPDX-License-Identifier: BSD-2-Clause
// The drain: a veth pair in which a token circulates. Tokens are sent into end a, whose
// token-bucket qdisc lets one by every drain interval; at end b a program awaits them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "olaf/result.hpp"

namespace olaf {

struct Drain {
    std::string a, b;
    std::uint32_t ifindex_a = 0, ifindex_b = 0;
};

/// "olaf7a" and "olaf7b" for the device of index 7.
Drain drain_names(std::uint32_t ifindex);

/// Makes the pair, quiet and up, wide enough for frames of that MTU. Leaves nothing on failure.
Result<Drain> make_drain(std::uint32_t ifindex, std::uint32_t mtu, std::uint64_t drain_interval_ns);

/// Shapes end a anew.
Result<void> shape_drain(const Drain &drain, std::uint64_t drain_interval_ns);

/// Removes the pair, if it is still the one of those names and indices.
Result<void> remove_drain(const Drain &drain);

} // namespace olaf
