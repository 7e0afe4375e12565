// SPDX-License-Identifier: BSD-2-Clause
// A queue's or a cluster's messages, in and out: what status, top, report and the page compare.
#pragma once

#include "reading.hpp"

namespace olaf {

/// What came in, went out and was lost.
struct Flow {
    std::uint64_t received = 0;    ///< messages, dropped ones included
    std::uint64_t departed = 0; ///< messages that left the queue, as `olaf status` counts them
    std::uint64_t messages_out = 0; ///< those, and messages that passed through
    std::uint64_t updates_out = 0;  ///< updates folded into messages_out
    std::uint64_t dropped = 0;     ///< messages
    // Of a whole queue alone:
    std::uint64_t refused = 0;      ///< messages that weren't received: malformed, or not allowed
    std::uint64_t updates_lost = 0; ///< behind the queue

    /// Updates in a departing message, on average; 0 without any.
    [[nodiscard]] double fold_factor() const {
        return messages_out == 0
                   ? 0
                   : static_cast<double>(updates_out) / static_cast<double>(messages_out);
    }
};

Flow flow_of(const olaf_slot_counters &slots);
/// Of a whole queue: with what no slot has counted.
Flow flow_of(const QueueReading &reading);
Flow difference(const Flow &later, const Flow &earlier);

} // namespace olaf
