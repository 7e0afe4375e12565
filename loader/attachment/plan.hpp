// SPDX-License-Identifier: BSD-2-Clause
// From the options of `attach` and the host's devices and routes to a queue in full.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attachment.hpp"
#include "loader/datapath/config.hpp"
#include "loader/host/device.hpp"
#include "olaf/result.hpp"
#include "options.hpp"

namespace olaf {

struct Plan {
    DatapathConfig config;          ///< all but drain and mode
    std::string target;             ///< of deliveries, as people write it; "" for local
    std::optional<Device> egress;   ///< FORWARD, UPSTREAM
    Hardware hardware = Hardware::automatic; ///< as it was asked for
    std::string no_card;            ///< why the queue isn't in a card; "": nobody looked
    std::vector<std::string> notes; ///< what was decided and is worth knowing
    std::vector<std::string> consequences; ///< what follows for a new queue, once it is there
};

/// With a running queue's record: what the options leave open stays as it is.
Result<Plan> make_plan(const AttachOptions &options, const Device &device,
                       const Record *running = nullptr);

// Whether a queue that forwards is a bridge, a router or both.

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

// How large a planned queue is: its tables, and the updates that it takes.

/// Nothing given: the default or, with replace, the running queue's.
template <class T, class Given> void take(T &into, const std::optional<Given> &given) {
    if (given)
        into = static_cast<T>(*given);
}

/// To be called once the delivery is planned: updates that are too large to leave by it aren't
/// taken.
Result<void> plan_sizes(Plan &plan, const AttachOptions &options, const Device &device,
                        const Record *running);

// What follows from a plan that a person may not expect.

/// Fills in the consequences for a new queue: that nothing will wait, how large updates may be, whom --strict
/// takes, and which of its devices is down.
void note_consequences(Plan &plan, const AttachOptions &options, const Device &device);

// Whether a planned queue can use native XDP.

/// Why native XDP is out of the question, if the kernel can tell beforehand.
std::string native_obstacle(const Device &device, const Plan &plan);

} // namespace olaf
