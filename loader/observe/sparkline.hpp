// SPDX-License-Identifier: BSD-2-Clause
// A curve in a line of text.
#pragma once

#include <span>
#include <string>

namespace olaf {

/// The last `width` values, the newest at the right, from 0 to the highest of those shown; blank
/// where there is none yet. Blocks of Unicode, or ASCII where the terminal has no such.
std::string sparkline(std::span<const double> values, int width, bool unicode);

/// How full: `width` columns.
std::string bar(double part, int width, bool unicode);

} // namespace olaf
