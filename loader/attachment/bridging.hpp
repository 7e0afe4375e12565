// SPDX-License-Identifier: BSD-2-Clause
// Whether a queue that forwards is a bridge, a router or both.
#pragma once

#include <optional>
#include <string>

#include "loader/host/device.hpp"
#include "olaf/result.hpp"

namespace olaf {

struct Bridging {
    bool bridge = false; ///< frames to other hosts' MAC addresses are taken
    std::string because; ///< what it was decided by
};

/// As asked for. If nothing was asked for, a queue bridges where its device is the port of a
/// bridge, or has neither addresses nor a master: such a device can only serve as a bridge.
Result<Bridging> decide_bridging(const Device &device, std::optional<bool> asked);

/// Whether the kernel routes by this device; the FIB answers programs only then.
bool routes_by(const std::string &device, std::uint32_t family);
std::string routing_remedy(const std::string &device, std::uint32_t family);

/// What the queue forwards as, in a sentence. Fails if as nothing.
Result<std::string> forwarding_note(const std::string &out, const Bridging &bridging);

} // namespace olaf
