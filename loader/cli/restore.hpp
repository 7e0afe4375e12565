// SPDX-License-Identifier: BSD-2-Clause
// `olaf cluster restore`, `olaf job restore`: what the device's file has, as if each had been typed.
#pragma once

#include <string>

#include "olaf/result.hpp"

namespace olaf {

Result<void> restore_clusters(const std::string &device);

/// Jobs that are set already stay as they are.
Result<void> restore_jobs(const std::string &device);

} // namespace olaf
