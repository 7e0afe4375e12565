// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "checks.hpp"
#include "commands.hpp"
#include "loader/host/device.hpp"

namespace olaf {
namespace {

std::string_view word(Verdict verdict) {
    switch (verdict) {
    case Verdict::good:
        return "ok";
    case Verdict::hint:
        return "note";
    case Verdict::bad:
        break;
    }
    return "MISS";
}

void print(const std::vector<Check> &checks, bool json) {
    if (!json) {
        for (const auto &check : checks) {
            fmt::print("{:<5} {:<18} {}\n", word(check.verdict), check.subject, check.finding);
            if (!check.remedy.empty())
                fmt::print("{:<24} -> {}\n", "", check.remedy);
        }
        return;
    }
    auto list = nlohmann::ordered_json::array();
    for (const auto &check : checks)
        list.push_back({{"subject", check.subject},
                        {"verdict", word(check.verdict)},
                        {"finding", check.finding},
                        {"remedy", check.remedy}});
    fmt::print("{}\n", list.dump(2));
}

} // namespace

Result<bool> doctor(const DoctorOptions &options, const GlobalOptions &global) {
    auto checks = check_host();
    if (!options.device.empty()) {
        const auto device = find_device(options.device);
        if (!device)
            return std::unexpected(device.error());
        std::ranges::move(check_device(*device), std::back_inserter(checks));
    }
    print(checks, global.json);
    return std::ranges::none_of(checks,
                                [](const Check &check) { return check.verdict == Verdict::bad; });
}

} // namespace olaf
