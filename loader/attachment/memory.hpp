// SPDX-License-Identifier: BSD-2-Clause
// What a queue takes of the host's memory.
#pragma once

#include <cstdint>

#include "loader/datapath/datapath.hpp"
#include "loader/host/bpffs.hpp"

namespace olaf {

/// Bytes of every map that is pinned at a place, as the kernel accounts for them.
std::uint64_t map_memory(const PinPlace &place);

/// The same of the maps of a queue that is loaded.
std::uint64_t map_memory(const Datapath &queue);

} // namespace olaf
