// SPDX-License-Identifier: BSD-2-Clause
// A training server's loop: whatever arrives is applied and recorded, until something ends it.
#pragma once

#include "progress.hpp"
#include "signals.hpp"

#include <string>

namespace olaf::training {

struct ServingOptions {
    double duration_s = 0;       ///< 0: until a signal
    bool stop_at_target = false; ///< end once all clusters reached it
    bool quiet = false;          ///< no line a second on stderr
    std::string measure;         ///< what that line calls a reward: "episode"
};

/// Serves until SIGINT, SIGTERM, the duration or, if asked for, the target ends it. Fails only if
/// the socket does.
Result<void> serve(ParameterServer &server, Progress &progress, const ServingOptions &options,
                   const StopSignals &signals);

} // namespace olaf::training
