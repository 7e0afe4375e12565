// SPDX-License-Identifier: BSD-2-Clause
// The pins of queues in bpffs, and the pin that tells whether a device is still the one that it was.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "fd.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// Below it: one directory a device, "NETNS_INODE-IFINDEX" (bpffs allows no dots in names).
inline constexpr auto pin_root = "/sys/fs/bpf/olaf";

bool bpffs_mounted();

/// Isn't it there because this process has mounts of its own, which go with it? `ip netns exec` makes
/// such. A queue that is pinned in one would vanish with the command.
bool bpffs_is_hidden();

/// Mounts it where it belongs, if it isn't. Not where it would go with this process.
Result<void> mount_bpffs();

/// Opens a pinned object; file flags are 0 or BPF_F_RDONLY. -1 with errno if it can't be.
int get_pin(const std::string &path, std::uint32_t file_flags);

/// Where a device's objects are pinned.
struct PinPlace {
    std::uint64_t netns = 0;
    std::uint32_t ifindex = 0;
    [[nodiscard]] std::string path() const;
    [[nodiscard]] std::string path(std::string_view name) const {
        return path() + "/" + std::string(name);
    }
};

/// Every device directory there is, of every namespace. Fails for one who may not look.
Result<std::vector<PinPlace>> pinned_places();

/// A device's directory, locked against other olafs for as long as this lives.
class PinLock {
  public:
    /// Makes the directory if it isn't there.
    static Result<PinLock> create(const PinPlace &place);
    /// Fails with ENOENT if it isn't there.
    static Result<PinLock> existing(const PinPlace &place);

    [[nodiscard]] const PinPlace &place() const { return place_; }

    /// Unlinks everything in the directory.
    Result<void> clear();
    /// Everything but these.
    Result<void> clear_but(std::initializer_list<std::string_view> kept);
    /// The directory as well, and the root if it is the last.
    Result<void> remove();

  private:
    PinLock(PinPlace place, Fd fd) : place_(place), fd_(std::move(fd)) {}
    static Result<PinLock> lock(const PinPlace &place, bool make);
    PinPlace place_;
    Fd fd_;
};

// Whether a device is still the one that it was, told from any network and mount namespace.
//
// The kernel takes a device out of every map of the type devmap as the device is deleted, moves to
// another network namespace, or goes with its namespace. So a devmap that holds the device is pinned
// with the first thing that is done to it. No program uses it, and nothing is sent by it.

namespace pin {
inline constexpr auto device = "olaf_device";          ///< the queue's own
inline constexpr auto parents = "olaf_parents_device"; ///< by a job's index: where its parent is behind
} // namespace pin

enum class Presence {
    there,
    gone,
    unknown, ///< no such pin (an attach that was killed before it), or no right to look
};

/// Takes no lock; the kernel is the only one that ever takes a device out.
Presence device_presence(const PinPlace &place);

/// Pins the place's device, which is of this network namespace. Does nothing if it is pinned already.
/// The caller holds the lock of the pins. Fails with what can't be made or pinned.
Result<void> pin_device(const PinPlace &place);

/// Pins the device, of this network namespace, that a job's parent is behind. The caller holds the lock of
/// the pins. Fails with what can't be made or pinned.
Result<void> pin_parents_device(const PinPlace &place, std::uint32_t job_index, std::uint32_t ifindex);

/// The devices that were pinned for jobs, also of jobs that have gone since.
std::vector<std::uint32_t> parents_devices(const PinPlace &place);

/// Whether that index still means the device that was pinned for the job.
bool is_parents_device(const PinPlace &place, std::uint32_t job_index, std::uint32_t ifindex);

} // namespace olaf
