// SPDX-License-Identifier: BSD-2-Clause
// olaf-admit: what `olaf admit` becomes. Exit status 0 admitted, 1 rejected, 2 options that don't fit
// each other, 3 unknown.
#include <fmt/format.h>

#include "admit.hpp"
#include "fleet/program.hpp"
#include "loader/text/json.hpp"

namespace {

using namespace olaf;
using namespace olaf::fleet;

int run(const AdmitOptions &options) {
    constexpr int unreadable = 2, statuses[] = {0, 1, 3}; // by Verdict::Kind
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

} // namespace

int main() {
    return run_program("olaf admit", run);
}
