// SPDX-License-Identifier: BSD-2-Clause
// Words for what events tell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "olaf/events.h"

namespace olaf {

std::string_view kind_name(const olaf_event &event);   ///< "arrival", "departure", "drop", "loss"
std::string_view action_name(const olaf_event &event); ///< "aggregated", "riding", "full", "transmit"
/// Why a message was malformed or refused; "" for any other event.
std::string_view cause_name(const olaf_event &event);

/// Whether such events are about an update whose cluster, worker and age are known.
bool names_updates(std::string_view kind_or_action);

/// Every kind and every action: what `--action` takes.
const std::vector<std::string> &event_names();

} // namespace olaf
