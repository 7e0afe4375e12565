// SPDX-License-Identifier: BSD-2-Clause
// Network namespaces: entering one, telling them apart.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "fd.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// Moves this thread into the namespace of `ip netns`, and only that: the mount namespace stays,
/// so that pins below /sys/fs/bpf remain visible.
Result<void> enter_netns(const std::string &name);

/// What tells this thread's namespace from others while it lives.
Result<std::uint64_t> netns_inode();

/// A namespace that can be entered.
struct KnownNetns {
    std::uint64_t inode = 0;
    std::string name; ///< "NAME" of ip netns, or "of process PID"
    std::string path;
};
/// Those that `ip netns` names, then those that only processes are in; each once.
std::vector<KnownNetns> known_netns();

/// This thread is in another namespace for as long as the object lives.
class NetnsVisit {
  public:
    static Result<NetnsVisit> enter(const KnownNetns &netns);
    NetnsVisit(NetnsVisit &&) noexcept = default;
    NetnsVisit &operator=(NetnsVisit &&) = delete;
    ~NetnsVisit();

  private:
    explicit NetnsVisit(Fd home) : home_(std::move(home)) {}
    Fd home_;
};

/// Every namespace that a process is in or that `ip netns` names.
std::set<std::uint64_t> visible_netns();

} // namespace olaf
