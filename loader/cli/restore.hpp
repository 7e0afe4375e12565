// SPDX-License-Identifier: BSD-2-Clause
// `olaf cluster restore`: the rules of the device's file, as if each had been typed.
#pragma once

#include <string>

#include "olaf/result.hpp"

namespace olaf {

Result<void> restore_clusters(const std::string &device);

} // namespace olaf
