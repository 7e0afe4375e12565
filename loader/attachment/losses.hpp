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

/// Frames that died while the program that counts losses looked at another one on the same CPU: the
/// kernel runs no tracing program inside itself. Any frame of this host, ours or not. Nothing: not
/// known (not watched, or this process may not look programs up).
std::optional<std::uint64_t> deaths_unseen(const Attachment &attachment);

} // namespace olaf
