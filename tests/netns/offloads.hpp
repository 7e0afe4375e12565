// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace olaf::test {

class Netns;

/// What a test wants of a device, so that nothing depends on defaults.
struct Offloads {
    bool gro = true;          ///< on: the device has NAPI, so that frames may be redirected to it
    bool tx_checksum = false; ///< on: sockets leave the checksum to the device
    bool tx_vlan = false;     ///< on: tags travel beside the frame
};

void set_offloads(const Netns &netns, const std::string &device, const Offloads &offloads);

} // namespace olaf::test
