// SPDX-License-Identifier: BSD-2-Clause
// The command line as data. Parsing it touches nothing and needs no privileges.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "fleet/admit/options.hpp"
#include "fleet/plan/options.hpp"
#include "loader/commands/commands.hpp"
#include "loader/traffic/options.hpp"

namespace CLI {
class App;
}

namespace olaf {

struct GlobalOptions {
    std::string netns; ///< "": the one we are in
    bool json = false;
    bool verbose = false;
};

struct StatusOptions {
    std::string device; ///< "": every one
    bool clusters = false;
    bool all = false;                         ///< of every network namespace
    std::optional<std::uint64_t> interval_ns; ///< rates, a line an interval; nothing: once, counters
    std::optional<std::uint32_t> count;       ///< so many lines; nothing: until interrupted
};

/// `olaf cluster restore`: cli/restore.hpp.
struct RestoreOptions {
    std::string device; ///< "": not asked for
};

/// What the command line fills in: the options of every command.
struct CommandOptions {
    GlobalOptions global;
    AttachOptions attach;
    DetachOptions detach;
    ResetOptions reset;
    StatusOptions status;
    ClusterOptions cluster;
    RestoreOptions restore;
    JobOptions job;
    TraceOptions trace;
    TopOptions top;
    ReportOptions report;
    ServeOptions serve;
    DoctorOptions doctor;
    MeterOptions meter;
    SendOptions send;
    ReceiveOptions receive;
    PlanOptions plan;
    AdmitOptions admit;
    std::vector<std::string> help; ///< about which command
};

/// Declares every command and option: for parsing, and for the manual and the completions, which
/// are generated from it. `into` must outlive `app`.
void define_command_line(CLI::App &app, CommandOptions &into);

struct CommandLine {
    GlobalOptions global;
    std::variant<AttachOptions, DetachOptions, ResetOptions, StatusOptions, ClusterOptions,
                 RestoreOptions, JobOptions, TraceOptions, TopOptions, ReportOptions, ServeOptions,
                 DoctorOptions, MeterOptions, SendOptions, ReceiveOptions, PlanOptions, AdmitOptions>
        command;
};

/// What to do, or what to say and exit with: help, version, or wrong usage (status 2).
struct Farewell {
    int status = 0;
    std::string text;
};
std::variant<CommandLine, Farewell> parse_command_line(int argc, const char *const *argv);

} // namespace olaf
