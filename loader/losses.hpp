// SPDX-License-Identifier: BSD-2-Clause
// What is lost behind the queue: the tracepoint programs that count them (bpf/loss.bpf.c).
#pragma once

#include <cstdint>
#include <optional>

#include "attachment.hpp"
#include "datapath.hpp"
#include "olaf/events.h"
#include "olaf/result.hpp"

namespace olaf {

/// Whose losses count: the queue's device, and the one that departures leave by.
olaf_watched watched_of(const PinPlace &place, const olaf_config &config);

/// Loads and attaches the programs and pins them with their maps at the queue's place, all or
/// nothing. Those that are there go on (--replace), told what may have changed. Fails where the
/// kernel has no BTF or lets no tracepoint program in: the queue works without.
Result<void> watch_losses(const Datapath &queue, const PinPlace &place);

/// Sums over CPUs; nothing: not watched, so not known.
Result<std::optional<olaf_losses>> read_losses(const Attachment &attachment);

} // namespace olaf
