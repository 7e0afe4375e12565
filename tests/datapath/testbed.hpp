// SPDX-License-Identifier: BSD-2-Clause
// A throw-away network namespace with one veth pair, for what a program hands to a device. The
// calling thread enters it; it vanishes with the last thread and socket in it.
#pragma once

#include <optional>

#include "frame_socket.hpp"
#include "packet.hpp"

namespace olaf::test {

/// Frames that come in on a device, oldest first.
class Capture {
  public:
    explicit Capture(std::uint32_t ifindex);

    /// The next frame, tags and all; nothing if none comes for a while.
    std::optional<Bytes> next();
    /// Whether next() would have to wait.
    [[nodiscard]] bool empty();

  private:
    FrameSocket socket_;
    std::optional<Bytes> ahead_; ///< received already, and not asked for
};

struct Testbed {
    Testbed();

    std::uint32_t near = 0, far = 0; ///< ifindex of the pair's ends
    Mac near_mac = {2, 0, 0, 0, 1, 1};
    Mac next_hop_mac = {2, 0, 0, 0, 1, 2}; ///< of 10.0.1.2 and fd00:0:0:1::2, behind `near`
};

/// A base of fixtures: the namespace is entered before a queue on its devices is made.
struct InTestbed {
    Testbed net;
};

} // namespace olaf::test
