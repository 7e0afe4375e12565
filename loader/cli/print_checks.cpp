// SPDX-License-Identifier: BSD-2-Clause
#include "print.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

} // namespace

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

} // namespace olaf
