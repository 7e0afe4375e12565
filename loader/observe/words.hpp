// SPDX-License-Identifier: BSD-2-Clause
// Figures of the list of counters in words, as people are told of them.
#pragma once

#include <string>
#include <string_view>

#include "loader/text/counters.hpp"
#include "olaf/queue.h"

namespace olaf {

/// What follows its number: "cluster id 1024 or above", "passed through"; "" for a group itself.
std::string words_of(const Figure &figure, const olaf_config &config);

/// "messages", or "message" for one: of a unit of the list.
std::string unit_text(std::uint64_t number, std::string_view unit);

/// The reasons of a group that aren't 0: "231 cluster id 1024 or above, 12 count above the
/// cluster's max_count", the largest first. The number is left out where there is only one.
std::string reasons_text(olaf_group group, const Numbers &numbers, const olaf_config &config);

/// The key of the one that has counted most; "" if none has.
std::string_view main_reason(olaf_group group, const Numbers &numbers);

} // namespace olaf
