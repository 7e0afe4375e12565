// SPDX-License-Identifier: BSD-2-Clause
// The parts of judge(): what keeps updates from coming in and leaving, what jobs wait for, and what
// became of those that didn't arrive.
#pragma once

#include "verdict.hpp"

namespace olaf {

/// What a verdict is made of.
struct Evidence {
    const Attachment &attachment;
    const QueueReading &reading;
    const HostState &host;

    [[nodiscard]] const olaf_config &config() const { return attachment.record.config; }
    [[nodiscard]] std::uint64_t now_ns() const { return reading.aom.now_ns; }
    [[nodiscard]] std::uint64_t waiting() const { return reading.snapshot.levels.queue_length; }
    [[nodiscard]] std::optional<std::uint64_t> oldest_wait_ns() const {
        return ago(reading.snapshot.oldest_arrival_ns);
    }
    /// How long ago a moment of CLOCK_MONOTONIC was; nothing for 0: it never was.
    [[nodiscard]] std::optional<std::uint64_t> ago(std::uint64_t moment_ns) const {
        if (moment_ns == 0)
            return {};
        return now_ns() > moment_ns ? now_ns() - moment_ns : 0;
    }
};

void find_obstacles(const Evidence &evidence, std::vector<Finding> &found);
void find_jobs(const Evidence &evidence, std::vector<Finding> &found);
/// Where nothing is wrong and jobs have been at work; nothing: they haven't.
std::optional<Finding> usual_of_jobs(const Evidence &evidence);
void find_losses(const Evidence &evidence, std::vector<Finding> &found);

} // namespace olaf
