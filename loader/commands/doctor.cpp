// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <iterator>

#include "checks.hpp"
#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/host/device.hpp"
#include "olaf/try.hpp"

namespace olaf {
bool fit_to_attach(const std::vector<Check> &checks) {
    return std::ranges::none_of(checks,
                                [](const Check &check) { return check.verdict == Verdict::bad; });
}

Result<std::vector<Check>> doctor(const DoctorOptions &options) {
    if (options.device.empty())
        return check_host();
    const auto device = OLAF_TRY(find_device(options.device));
    auto output = output_of_queue(options.device);
    if (!options.output.empty()) {
        output = OLAF_TRY(find_device(options.output));
    }
    auto checks = check_verdict(options.device);
    std::ranges::move(check_host(), std::back_inserter(checks));
    std::ranges::move(check_device(device, output), std::back_inserter(checks));
    auto card = options.card;
    if (const auto attached = find_attachment(options.device); card.empty() && attached)
        card = attached->card.value_or("");
    std::ranges::move(check_card(device, card), std::back_inserter(checks));
    if (output && output->ifindex != device.ifindex)
        std::ranges::move(check_output(*output), std::back_inserter(checks));
    return checks;
}

} // namespace olaf
