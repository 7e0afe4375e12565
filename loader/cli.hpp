// SPDX-License-Identifier: BSD-2-Clause
// The command line as data. Parsing it touches nothing and needs no privileges.
#pragma once

#include <string>
#include <variant>

#include "commands.hpp"

namespace olaf {

struct CommandLine {
    GlobalOptions global;
    std::variant<AttachOptions, DetachOptions, StatusOptions, ClusterOptions, DoctorOptions,
                 MeterOptions>
        command;
};

/// What to do, or what to say and exit with: help, version, or wrong usage (status 2).
struct Farewell {
    int status = 0;
    std::string text;
};
std::variant<CommandLine, Farewell> parse_command_line(int argc, const char *const *argv);

} // namespace olaf
