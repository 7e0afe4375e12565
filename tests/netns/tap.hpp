// SPDX-License-Identifier: BSD-2-Clause
// A device whose other end is this process: what leaves by it waits in a ring until it is read.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "netns.hpp"
#include "wire.hpp"

namespace olaf::test {

class Tap {
  public:
    /// Up, with a ring for so many frames.
    Tap(const Netns &netns, const std::string &device, unsigned frames);
    ~Tap();
    Tap(const Tap &) = delete;
    Tap &operator=(const Tap &) = delete;

    /// The next frame, or nothing within the time.
    [[nodiscard]] std::optional<Bytes> poll(std::chrono::milliseconds time) const;

  private:
    int fd_ = -1;
};

} // namespace olaf::test
