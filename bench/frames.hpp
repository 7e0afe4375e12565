// SPDX-License-Identifier: BSD-2-Clause
// Builds the frames that frame.h describes.
#pragma once

#include <array>

#include "frame.h"
#include "support.hpp"

namespace olaf::bench {

using Mac = std::array<std::uint8_t, 6>;

/// Where the frames of a benchmark come from and go to.
struct Addresses {
    Mac source{2, 0, 0, 0, 0, 1};
    Mac destination{2, 0, 0, 0, 0, 2};
    std::array<std::uint8_t, 4> source_ip{10, 0, 0, 1};
    std::array<std::uint8_t, 4> destination_ip{10, 0, 0, 2};
};

/// One UPDATE from a worker; the last lane is the checksum lane. `narrow`: lanes of four elements
/// of 16 bits, else of two of 32.
Frame olaf_frame(std::uint32_t cluster, std::uint32_t worker, std::uint32_t lanes = BENCH_LANES,
                 const Addresses &addresses = {}, bool narrow = false);

/// The same with a UDP checksum, which costs nothing unless the queue verifies it.
Frame with_udp_checksum(Frame olaf_frame);

/// One gradient fragment of XAgg's.
Frame xagg_frame(std::uint32_t idx, std::uint32_t id, std::uint32_t lanes = BENCH_LANES,
                 const Addresses &addresses = {});

/// One CONTRIBUTION of rank 0 to chunk 0 of round 0 of a job whose vector has so many chunks.
Frame contribution_frame(std::uint32_t job, std::uint32_t generation, std::uint32_t chunks,
                         std::uint16_t shape);

/// The last of `lanes` lanes of a frame of cluster 0; cluster c's is c more.
std::uint64_t checksum(std::uint32_t lanes, bool narrow = false);

/// The configuration for frame-making programs.
bench_config config_for(bool xagg, std::uint32_t clusters, std::uint32_t workers,
                        std::uint32_t lanes = BENCH_LANES, bool narrow = false);

} // namespace olaf::bench
