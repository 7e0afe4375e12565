// SPDX-License-Identifier: BSD-2-Clause
#include "serving.hpp"

#include <fmt/core.h>

#include <chrono>

namespace olaf::training {

using Clock = std::chrono::steady_clock;

Result<void> serve(ParameterServer &server, Progress &progress, const ServingOptions &options,
                   const StopSignals &signals) {
    const auto start = Clock::now();
    const auto end = start + std::chrono::duration<double>(options.duration_s);
    auto next_line = start + std::chrono::seconds(1);
    while (options.duration_s == 0 || Clock::now() < end) {
        if (auto received = server.receive(std::chrono::milliseconds(50)); !received)
            return std::unexpected(received.error());
        progress.update();
        if (signals.wait(std::chrono::nanoseconds(0)) ||
            (options.stop_at_target && progress.all_reached()))
            break;
        if (options.quiet || Clock::now() < next_line)
            continue;
        next_line += std::chrono::seconds(1);
        fmt::print(stderr, "{:3.0f} s: mean {} {:.0f}, {} of {} clusters reached {:.0f}\n",
                   std::chrono::duration<double>(Clock::now() - start).count(), options.measure,
                   progress.mean(), progress.reached(), progress.clusters().size(),
                   progress.target());
    }
    return {};
}

} // namespace olaf::training
