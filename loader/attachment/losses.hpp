// SPDX-License-Identifier: BSD-2-Clause
// What was lost behind the queue, as the programs of bpf/loss.bpf.c counted it.
#pragma once

#include <optional>

#include "attachment.hpp"
#include "olaf/events.h"
#include "olaf/result.hpp"

namespace olaf {

/// Sums over CPUs; nothing: not watched, so not known.
Result<std::optional<olaf_losses>> read_losses(const Attachment &attachment);

} // namespace olaf
