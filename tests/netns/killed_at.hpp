// SPDX-License-Identifier: BSD-2-Clause
// A command that is killed at a chosen step.
#pragma once

#include <string>
#include <vector>

namespace olaf::test {

/// Runs the command under ptrace and kills it (SIGKILL) where it is about to make its n-th system
/// call, from 1, of those that change something outside the process: BPF maps, programs and links,
/// pins, netlink. False: it made fewer, and ended by itself.
bool killed_at(const std::vector<std::string> &command, unsigned n);

} // namespace olaf::test
