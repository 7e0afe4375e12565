// SPDX-License-Identifier: BSD-2-Clause
// A token-bucket qdisc at the root of a device, to the byte.
#pragma once

#include <cstdint>
#include <string>

#include "olaf/result.hpp"

namespace olaf {

struct TokenBucket {
    std::uint64_t bytes_per_second = 0;
    std::uint32_t burst = 0; ///< bytes; also the largest packet that passes
    std::uint32_t limit = 0; ///< bytes that may wait
};

/// Puts the qdisc there, or changes the one that is.
Result<void> set_tbf(const std::string &device, std::uint32_t ifindex, const TokenBucket &bucket);

} // namespace olaf
