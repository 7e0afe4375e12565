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

/// As asked for. Else a port of a bridge does, and a device that has neither addresses nor a
/// master: nothing but a bridge could stand there.
Result<Bridging> decide_bridging(const Device &device, std::optional<bool> asked);

/// Whether the kernel routes by this device; the FIB answers programs only then.
bool routes_by(const std::string &device, std::uint32_t family);
std::string routing_remedy(const std::string &device, std::uint32_t family);

/// What the queue forwards as, in a sentence. Fails if as nothing.
Result<std::string> forwarding_note(const std::string &out, const Bridging &bridging);

} // namespace olaf
