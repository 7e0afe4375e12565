// SPDX-License-Identifier: BSD-2-Clause
// What a queue puts into a namespace and into the kernel, so that tests can see it go.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "loader/host/fd.hpp"
#include "netns.hpp"

namespace olaf::test {

/// Devices, qdiscs, filters, programs on hooks, offloads and pins of a namespace, as text.
std::string traces(const Netns &netns);

/// Where the queue of a device has its pins (loader/host/bpffs.hpp).
std::string pin_directory(const Netns &netns, const std::string &device);

/// Programs attached in a namespace, XDP and TC, and their maps, by id.
struct KernelObjects {
    std::set<std::uint32_t> programs, maps;
};
KernelObjects kernel_objects(const Netns &netns);

/// Waits until the kernel has freed them all. Throws WaitRanOut.
void await_freed(const KernelObjects &objects);

/// How often they have run, while somebody holds count_runs().
std::uint64_t run_count(const KernelObjects &objects);

/// As long as it lives, the kernel counts runs of programs.
class CountRuns {
  public:
    CountRuns();

  private:
    Fd fd_;
};

} // namespace olaf::test
