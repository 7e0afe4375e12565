// SPDX-License-Identifier: BSD-2-Clause
// From the options of `attach` and the host's devices and routes to a queue in full.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loader/datapath/config.hpp"
#include "loader/host/device.hpp"
#include "olaf/result.hpp"
#include "options.hpp"
#include "record.hpp"

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

} // namespace olaf
