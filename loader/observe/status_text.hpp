// SPDX-License-Identifier: BSD-2-Clause
// `olaf status` for people: the same reading as `--json`, and the same names.
#pragma once

#include <string>

#include "loader/attachment/own_addresses.hpp"
#include "reading.hpp"

namespace olaf {

/// What `olaf status` shows besides the reading of the queue's maps.
struct HostState {
    std::uint64_t memory_bytes = 0; ///< what the maps take
    OwnDifference own;
    std::string obstacle; ///< of the way out, in words; "": none
};

/// The counters of a group that aren't 0: "12: 3 riding, 9 drain"; "" if all are.
std::string counted_text(olaf_group group, const Numbers &numbers);

std::string status_text(const Attachment &attachment, const QueueReading &reading,
                        const HostState &host, bool clusters);

} // namespace olaf
