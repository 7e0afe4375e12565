// SPDX-License-Identifier: BSD-2-Clause
// A device whose frames a kernel thread receives: as a node that others on its CPU keep from
// running.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "netns.hpp"

namespace olaf::test {

/// The CPUs that this process may run on, and the first one of them.
std::vector<int> allowed_cpus();
int first_cpu();

/// Has a thread of that CPU receive what comes to the device, which has one receive queue; it goes
/// with the device. `send_one` lets a datagram come by it, to that UDP port. Throws if it can't.
void receive_in_thread(const Netns &netns, const std::string &device, int cpu, std::uint16_t port,
                       const std::function<void()> &send_one);

/// The calling thread runs on that CPU alone.
void stay_on(int cpu);

/// The calling thread runs on that CPU, before all that has no real-time priority.
void go_first_on(int cpu);

/// Frames that a device dropped since the other end's ring was full.
unsigned long overflowed(const Netns &netns, const std::string &device);

} // namespace olaf::test
