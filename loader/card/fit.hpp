// SPDX-License-Identifier: BSD-2-Clause
// Whether a queue as it is asked for can be in a card.
#pragma once

#include <string>

#include "card.hpp"
#include "loader/datapath/config.hpp"

namespace olaf {

/// What of a queue was asked for by name. What wasn't is made to fit.
struct Asked {
    bool queue = false, clusters = false, lanes = false, workers = false;
};

/// Makes what wasn't asked for fit; returns what can't: "it has no window of unacknowledged
/// departures". "": all of it can.
std::string fit_to_card(DatapathConfig &config, const Asked &asked, const CardCapabilities &can);

/// The same of a rule; "" if the card can follow it.
std::string rule_obstacle(const olaf_rule &rule, const CardCapabilities &can);

} // namespace olaf
