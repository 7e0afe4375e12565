// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <utility>

#include <olaf/transmission_control.hpp>

namespace olaf {

/// Lets updates pass as a rule says, with one draw an update however often it is asked for. Not
/// thread-safe.
class SendGate {
  public:
    /// No rule: all pass. No source of random numbers: one of its own.
    SendGate(SendRule rule, UniformRandom random)
        : rule_(std::move(rule)), random_(random ? std::move(random) : uniform_random()) {}

    /// Whether an update may pass now. A yes is kept until pass() uses it up; a no stands
    /// for the update that it was asked for only.
    bool may_pass(const QueueState &state) {
        if (!rule_ || permitted_)
            return true;
        const double probability = rule_(state);
        // NaN passes: see SendRule.
        permitted_ = !(random_() >= probability);
        return permitted_;
    }

    bool pass(const QueueState &state) {
        const bool may = may_pass(state);
        permitted_ = false;
        return may;
    }

  private:
    SendRule rule_;
    UniformRandom random_;
    bool permitted_ = false;
};

} // namespace olaf
