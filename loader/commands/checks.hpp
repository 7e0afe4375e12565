// SPDX-License-Identifier: BSD-2-Clause
// What `olaf doctor` looks at: each a finding and, where something is missing, its remedy. It
// attaches nothing.
#pragma once

#include <string>
#include <vector>

#include "loader/host/device.hpp"

namespace olaf {

enum class Verdict {
    good,
    hint, ///< works, but may not be what one wants
    bad,  ///< prevents a native attach
};

struct Check {
    std::string subject;
    Verdict verdict;
    std::string finding;
    std::string remedy; ///< empty when there is nothing to do
};

std::vector<Check> check_host();
std::vector<Check> check_device(const Device &device);

} // namespace olaf
