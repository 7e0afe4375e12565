// SPDX-License-Identifier: BSD-2-Clause
// The counters of jobs (olaf/job_counters.h) as a table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "olaf/rounds.h"

namespace olaf {

/// One number of struct olaf_job_counters.
struct JobCounter {
    std::string_view object, key; ///< object "": of the job itself
    std::string_view unit, metric, meaning;
    std::size_t offset;

    [[nodiscard]] std::uint64_t in(const olaf_job_counters &counters) const;
    /// "contributions.added", "probes".
    [[nodiscard]] std::string path() const;
};

std::span<const JobCounter> job_counters();

/// An equation of a job's counters, and when it holds.
struct JobIdentity {
    std::string equation, when;
};
std::vector<JobIdentity> job_identities();

} // namespace olaf
