// SPDX-License-Identifier: BSD-2-Clause
// A trace: when each worker had an update ready. The format is in evaluation/traces/README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <olaf/result.hpp>

namespace olaf::evaluation {

struct Moment {
    std::int64_t at_ns = 0; ///< from the start of the trace
    std::uint32_t cluster = 0;
    std::uint32_t worker = 0; ///< of the cluster
};

/// Moments in order of time. Fails on a line that isn't TIME_US CLUSTER WORKER, a time before the
/// line above's, or a file without any.
Result<std::vector<Moment>> read_trace(const std::string &path);

} // namespace olaf::evaluation
