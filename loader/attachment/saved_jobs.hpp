// SPDX-License-Identifier: BSD-2-Clause
// The jobs of a queue, written down with what is attached: each as the words that follow the device
// in `olaf job set`.
#pragma once

#include <string>
#include <vector>

#include "attachment.hpp"
#include "loader/datapath/jobs.hpp"

namespace olaf {

/// "7 --children 4 --lanes 128".
std::string job_words(const JobReading &job);

/// Those that are set.
Result<std::vector<std::string>> jobs_of(const Attachment &attached);

} // namespace olaf
