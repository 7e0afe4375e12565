// SPDX-License-Identifier: BSD-2-Clause
// olaf-admit OPTIONS: what `olaf admit` runs, with its options as JSON. Exit status 0 admitted, 1
// rejected, 2 options that don't fit each other, 3 unknown.
#include <fmt/format.h>

#include "admit.hpp"
#include "loader/text/json.hpp"

int main(int argc, char **argv) {
    using namespace olaf;
    using namespace olaf::fleet;
    constexpr int unreadable = 2, statuses[] = {0, 1, 3}; // by Verdict::Kind
    if (argc != 2) {
        fmt::print(stderr, "olaf-admit is a part of `olaf admit`; run that\n");
        return unreadable;
    }
    const auto options = nlohmann::json::parse(argv[1]).get<AdmitOptions>();
    const auto setting = setting_of(options);
    if (!setting) {
        fmt::print(stderr, "olaf: {}\n", setting.error().message());
        return unreadable;
    }
    const auto verdict = admit(*setting, options.seed, options.time_limit_ns);
    fmt::print("{}", options.json ? json_text(verdict_json(*setting, verdict)) + "\n"
                                  : verdict_text(*setting, verdict));
    return statuses[static_cast<std::size_t>(verdict.kind)];
}
