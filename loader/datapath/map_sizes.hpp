// SPDX-License-Identifier: BSD-2-Clause
// How large each map of the queue is, as its configuration says.
#pragma once

#include <cstdint>
#include <vector>

#include "olaf/queue.h"
#include "olaf/result.hpp"

namespace olaf {

/// A map that the objects share by name. Sizes of 0 stay as the object has them.
struct MapSize {
    const char *name;
    std::uint32_t max_entries = 0;
    std::uint32_t value_size = 0;
    const char *decided_by = nullptr; ///< the options that decide the size
};

/// Every shared map, with its size where that follows from the configuration.
std::vector<MapSize> map_sizes(const olaf_config &config);

/// Whether an existing map is as large as a program of this configuration takes it to be.
Result<void> check_size(const MapSize &want, int fd);

} // namespace olaf
