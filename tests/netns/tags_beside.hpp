// SPDX-License-Identifier: BSD-2-Clause
// Puts VLAN tag 7 beside the bytes of what a worker's device sends from one MAC address, as a VLAN
// device on hardware with that offload does. The device must have tx-vlan-offload on, or the
// kernel moves the tag into the frame.
#pragma once

#include "netns.hpp"
#include "packet.hpp"

namespace olaf::test {

/// Frames from here get the tag.
inline constexpr Mac tagged_mac = {2, 0, 0, 0, 7, 0x0a};

class TagsBeside {
  public:
    /// Stays until the device goes.
    TagsBeside(const Netns &netns, const std::string &device);
};

/// The frame with the tag among its bytes.
Bytes with_tag(const Frame &frame);

} // namespace olaf::test
