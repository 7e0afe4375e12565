// SPDX-License-Identifier: BSD-2-Clause
// A program of the test's own that loses a tenth of what comes back to the workers, chosen by
// chance, before Olaf's filter sees it. Made after `olaf attach`: of two filters of one priority,
// the kernel runs the one that came last first.
#pragma once

#include "testbed.hpp"

namespace olaf::test {

class LossyWayBack {
  public:
    explicit LossyWayBack(const Testbed &bed);
    ~LossyWayBack();
    LossyWayBack(const LossyWayBack &) = delete;
    LossyWayBack &operator=(const LossyWayBack &) = delete;

  private:
    const Netns &netns_;
    std::string device_;
    bool ingress_;
};

} // namespace olaf::test
