// SPDX-License-Identifier: BSD-2-Clause
// A device whose frames overtake each other as they leave: some, at random, go through a slow class of
// its qdisc, and what is sent later goes past them. For as long as an object lives.
#pragma once

#include "tc_filter.hpp"

namespace olaf::test {

class Reordering {
  public:
    /// Holds up that many in a hundred; each for about a millisecond, and for those held before it.
    Reordering(const Netns &netns, const std::string &device, unsigned percent);
    ~Reordering();
    Reordering(const Reordering &) = delete;
    Reordering &operator=(const Reordering &) = delete;

    /// How often frames had to wait while others could have gone past them.
    [[nodiscard]] unsigned long held() const;

  private:
    const Netns &netns_;
    const std::string device_;
    TcFilter filter_;
};

} // namespace olaf::test
