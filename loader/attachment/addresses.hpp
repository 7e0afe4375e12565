// SPDX-License-Identifier: BSD-2-Clause
// The lists of addresses that the programs look in: sources that may send updates (--allow), and
// this host's own addresses.
#pragma once

#include <string>
#include <vector>

#include "attachment.hpp"
#include "hooks.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/host/addresses.hpp"
#include "olaf/own.h"
#include "olaf/queue.h"
#include "olaf/result.hpp"

namespace olaf {

// The sources that may send updates. --replace changes the list in two steps, so that a source on both
// lists is never refused: allow() before the new programs run, allow_only() after.

/// Adds the prefixes that aren't in the map. The undo removes them again.
Result<void> allow(int fd, const std::vector<olaf_prefix> &prefixes, Undo *undo = nullptr);

/// The prefixes in the map.
std::vector<olaf_prefix> allowed_prefixes(int fd);

/// Removes all other prefixes.
Result<void> allow_only(int fd, const std::vector<olaf_prefix> &prefixes);

// This host's own addresses: the programs' copy of the kernel's list.

/// Brings a queue's maps up to date. An address that stays is never missing in between. The caller holds
/// the lock of the pins.
Result<void> refresh_addresses(const Datapath &queue, std::uint32_t ifindex);

/// The same for a pinned queue. Does nothing where another olaf holds the lock: that olaf does it.
Result<void> refresh_running(const Attachment &attachment);

/// How the copy differs from the kernel's list; addresses as people write them.
struct OwnDifference {
    std::vector<std::string> unknown; ///< addresses and MAC addresses that the programs don't know
    std::vector<std::string> gone;    ///< addresses that the host has lost
};
Result<OwnDifference> own_difference(const Attachment &attachment);

/// A sentence for each, with the remedy.
std::vector<std::string> own_notes(const OwnDifference &difference, const std::string &device);

} // namespace olaf
