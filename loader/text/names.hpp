// SPDX-License-Identifier: BSD-2-Clause
// Words for numbers of the configuration. Reasons are named in olaf/counters.h.
#pragma once

#include <array>
#include <string_view>

namespace olaf {

inline constexpr std::array<std::string_view, 3> deliver_names{"local", "forward", "upstream"};

} // namespace olaf
