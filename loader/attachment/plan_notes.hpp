// SPDX-License-Identifier: BSD-2-Clause
// What follows from a plan that a person may not expect.
#pragma once

#include "plan.hpp"

namespace olaf {

/// Fills in the consequences for a new queue: that nothing will wait, how large updates may be, whom --strict
/// takes, and which of its devices is down.
void note_consequences(Plan &plan, const AttachOptions &options, const Device &device);

} // namespace olaf
