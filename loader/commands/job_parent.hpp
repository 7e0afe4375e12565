// SPDX-License-Identifier: BSD-2-Clause
// A job's way to its parent.
#pragma once

#include "commands.hpp"
#include "loader/host/bpffs.hpp"

namespace olaf {

/// The smallest MTU of the devices that the job's frames pass: the queue's own, and the parent's.
Result<std::uint32_t> mtu_of_job(const JobOptions &options);
/// Finds the device that the job's parent is behind and this host's address towards it, and writes both
/// into *setup. Fails where the node couldn't send its sums there.
Result<void> find_parent(olaf_job_setup &setup, const PinPlace &place, const JobOptions &options);

} // namespace olaf
