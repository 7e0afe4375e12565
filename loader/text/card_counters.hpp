// SPDX-License-Identifier: BSD-2-Clause
// Which counters of the list (olaf/counters.h) a card has too.
#pragma once

#include <string>

#include "counters.hpp"

namespace olaf {

/// Of a line of the list: all counters of slots, the levels of the queue itself, and those that
/// OLAF_CARD_COUNTER_LIST names.
bool is_on_card(Source source, olaf_group group, const std::string &field);

} // namespace olaf
