// SPDX-License-Identifier: BSD-2-Clause
// Where a queue's figures start: the kernel's counters only ever grow, so `olaf reset` keeps what
// they were, and everything that is shown is the difference.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "olaf/events.h"
#include "snapshot.hpp"

namespace olaf {

struct Start {
    std::uint64_t at_ns = 0; ///< CLOCK_MONOTONIC
    olaf_counters counters{};
    olaf_ack_counters acks{};
    olaf_window window{}; ///< its counters alone
    olaf_losses losses{};
    std::vector<olaf_slot_counters> clusters; ///< by id
};

/// The start of figures that begin with this reading. What waits counts as having arrived just
/// then. So the identities hold of the differences whenever they hold of the counters, even if the
/// parts of the reading are of different moments. (Only that of the window wants that none of its
/// departures is in flight.)
Start start_of(const Snapshot &snapshot, const std::optional<olaf_losses> &losses,
               std::uint64_t now_ns);

/// Takes away what was before.
void subtract(Snapshot &from, const Start &start);
void subtract(olaf_losses &from, const Start &start);

/// As 64-bit words, the way it is kept.
std::vector<std::uint64_t> words_of(const Start &start);
/// Nothing if there aren't as many words as so many clusters make.
std::optional<Start> start_from(const std::vector<std::uint64_t> &words, std::uint32_t clusters);
std::size_t start_words(std::uint32_t clusters);

} // namespace olaf
