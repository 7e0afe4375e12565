// SPDX-License-Identifier: BSD-2-Clause
// Frames as nobody should send them: valid ones with a few structural wounds, and garbage.
#pragma once

#include "tests/datapath/random_updates.hpp"

namespace olaf::test {

class Mutator {
  public:
    /// What frames mostly are before they are wounded.
    enum class Way { updates, acks };

    Mutator(std::uint64_t seed, const RandomUpdates::Range &range, Way way = Way::updates)
        : random_(seed, range), way_(way) {}

    /// A whole frame, at least an Ethernet header long.
    Bytes frame();

    RandomUpdates &random() { return random_; }

  private:
    Frame intact();
    Frame intact_ack();
    void wound(Frame &frame);
    void lie_about_length(Frame &frame);
    void break_message(Frame &frame);
    void break_ip(Frame &frame);
    void nest(Frame &frame);
    void flip_bits(Frame &frame);
    void repair_checksum(Frame &frame);

    RandomUpdates random_;
    Way way_;
};

} // namespace olaf::test
