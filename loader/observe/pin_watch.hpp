// SPDX-License-Identifier: BSD-2-Clause
// Whether a queue is still the one that was opened: maps that are held open outlive a detach, and
// say nothing of it.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "loader/attachment/attachment.hpp"

namespace olaf {

class PinWatch {
  public:
    explicit PinWatch(const Attachment &attachment)
        : device_(attachment.device), path_(attachment.place.path(pin::record)),
          inode_(inode(path_)) {}

    /// Fails with ENOENT once it was detached, also if another was attached since.
    [[nodiscard]] Result<void> check() const {
        if (inode_ != 0 && inode(path_) == inode_)
            return {};
        return fail("read the queue on", device_, ENOENT, "olaf status lists what is attached",
                    "it was detached");
    }

    /// Tells one attachment from every other, also from a later one on the same device.
    [[nodiscard]] std::string identity() const { return path_ + "#" + std::to_string(inode_); }

  private:
    /// 0 if it isn't there.
    static std::uint64_t inode(const std::string &path) {
        struct stat status {};
        return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
    }
    std::string device_, path_;
    std::uint64_t inode_;
};

} // namespace olaf
