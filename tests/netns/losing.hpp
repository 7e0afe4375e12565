// SPDX-License-Identifier: BSD-2-Clause
// A device that loses some of what it sends, or of what it gets: a TC filter, for as long as an
// object lives.
#pragma once

#include <string>

#include "netns.hpp"

namespace olaf::test {

class Losing {
  public:
    enum Direction { sent, received };

    /// Loses that many in a hundred, at random; throws if it can't.
    Losing(const Netns &netns, std::string device, Direction direction, unsigned percent);
    ~Losing();
    Losing(const Losing &) = delete;
    Losing &operator=(const Losing &) = delete;

  private:
    const Netns &netns_;
    std::string device_;
    Direction direction_;
};

} // namespace olaf::test
