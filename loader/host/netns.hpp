// SPDX-License-Identifier: BSD-2-Clause
// Network namespaces: entering one, telling them apart.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "olaf/result.hpp"

namespace olaf {

/// Moves this thread into the namespace of `ip netns`, and only that: the mount namespace stays,
/// so that pins below /sys/fs/bpf remain visible.
Result<void> enter_netns(const std::string &name);

/// What tells this thread's namespace from others while it lives.
Result<std::uint64_t> netns_inode();

/// Every namespace that a process is in or that `ip netns` names.
std::set<std::uint64_t> visible_netns();

} // namespace olaf
