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

// Whose updates a queue takes. It changes in two steps, so that a sender on both lists is never
// refused: allow(), then, once the programs that ask the list are in place, allow_only().

/// Adds those that aren't there; takes them away again if the undo comes to it.
Result<void> allow(int fd, const std::vector<olaf_prefix> &prefixes, Undo *undo = nullptr);

/// Those that are there.
std::vector<olaf_prefix> allowed_prefixes(int fd);

/// Removes all others.
Result<void> allow_only(int fd, const std::vector<olaf_prefix> &prefixes);

// This host's own addresses: the copy of the kernel's list that the queue's programs have.

/// Makes the maps of a queue hold this host's addresses, just these. One that stays is never missing in
/// between. Only one olaf at a time may do so: hold its lock.
Result<void> refresh_addresses(const Datapath &queue, std::uint32_t ifindex);

/// The same for a pinned queue, unless another olaf holds its lock: that one does it.
Result<void> refresh_running(const Attachment &attachment);

/// How that copy differs from the kernel's list; addresses as people write them.
struct OwnDifference {
    std::vector<std::string> unknown; ///< addresses and MAC addresses that the programs don't know
    std::vector<std::string> gone;    ///< ones that aren't the host's any more
};
Result<OwnDifference> own_difference(const Attachment &attachment);

/// A sentence for each, with the remedy.
std::vector<std::string> own_notes(const OwnDifference &difference, const std::string &device);

} // namespace olaf
