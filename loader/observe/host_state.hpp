// SPDX-License-Identifier: BSD-2-Clause
// What a queue's host does that its maps don't tell of: devices, hooks, addresses, memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/attachment/attachment.hpp"
#include "loader/attachment/own_addresses.hpp"

namespace olaf {

struct HostState {
    std::uint64_t memory_bytes = 0; ///< what the maps take
    OwnDifference own;
    std::string dead;          ///< why the queue isn't alive, in words; "": it is
    std::string other_program; ///< of somebody else's, where the queue's XDP program was; "": none
    std::optional<std::uint64_t> other_age_ns; ///< how long ago that was loaded; nothing: not known
    std::string device_obstacle; ///< "in is down", "in has no carrier"; "": none
    std::string output;          ///< name of the output now; "": local, or it has gone
    std::string output_obstacle; ///< the same of the output, or that it has gone
    std::string drain_obstacle;  ///< the same of an end of the drain
    /// Programs that aren't on their hooks any more. Not known, and empty, without CAP_SYS_ADMIN.
    std::vector<std::string> missing_programs;
    std::vector<std::string> allowed; ///< sources that it takes updates from; none: everybody
    std::uint64_t wall_ns = 0;        ///< CLOCK_REALTIME, when this was read
};

/// As it is now. Needs no more than the right to read the pins.
Result<HostState> read_host_state(const Attachment &attachment);

} // namespace olaf
