// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <iterator>

#include "checks.hpp"
#include "commands.hpp"
#include "loader/host/device.hpp"

namespace olaf {
bool fit_to_attach(const std::vector<Check> &checks) {
    return std::ranges::none_of(checks,
                                [](const Check &check) { return check.verdict == Verdict::bad; });
}

Result<std::vector<Check>> doctor(const DoctorOptions &options) {
    auto checks = check_host();
    if (!options.device.empty()) {
        const auto device = find_device(options.device);
        if (!device)
            return std::unexpected(device.error());
        std::ranges::move(check_device(*device), std::back_inserter(checks));
    }
    return checks;
}

} // namespace olaf
