// SPDX-License-Identifier: BSD-2-Clause
// The command line as it describes itself: what manual and completions are generated from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loader/cli/help.hpp"

namespace olaf {

struct OptionDescription {
    std::vector<std::string> names; ///< "-v", "--verbose"; of an argument: its one name
    std::string type;               ///< of the value, as --help shows it; "": a flag
    std::string values;             ///< what it can be: "auto|N"
    std::string text;
    bool required = false;
    bool repeatable = false;

    /// What its value can be, where that is known: "auto" of "auto|N".
    [[nodiscard]] std::vector<std::string> words() const;
};

struct CommandDescription {
    std::vector<std::string> path; ///< "olaf", "cluster", "set"
    std::string text;
    std::vector<std::string> usages;          ///< "olaf detach DEV [OPTION]...", a line each way
    std::vector<Example> examples;            ///< its own
    std::vector<OptionDescription> arguments; ///< by position
    std::vector<OptionDescription> options;   ///< its own
    std::vector<OptionDescription> inherited; ///< of the commands above, allowed here as well
    std::vector<CommandDescription> commands;

    [[nodiscard]] std::string name() const { return joined(" "); } ///< "olaf cluster set"
    [[nodiscard]] std::string joined(const std::string &separator) const;
    [[nodiscard]] const std::string &word() const { return path.back(); }
    /// Own options, then inherited ones.
    [[nodiscard]] std::vector<OptionDescription> all_options() const;
};

/// Everything that define_command_line() declares.
CommandDescription describe_command_line();

/// A command and those below it, parents first.
std::vector<CommandDescription> flattened(const CommandDescription &command);

/// Pages of the manual, section 8: the file's name without ".8", and its text in man(7).
struct ManualPage {
    std::string name, text;
};
std::vector<ManualPage> manual(const CommandDescription &root, const std::string &version);

/// The list of counters (olaf/counters.h) for the manual, by group.
struct DescribedCounter {
    std::string path, unit, meaning;
};
struct DescribedGroup {
    std::string name, meaning;
    std::vector<DescribedCounter> counters;
};
std::vector<DescribedGroup> described_counters();
std::vector<std::string> described_identities();

/// Kinds of events and what may have happened.
struct DescribedEvent {
    std::string kind, meaning;
    std::vector<std::pair<std::string, std::string>> actions; ///< with their meanings
};
std::vector<DescribedEvent> described_events();

std::string counters_page();   ///< docs/counters.md
std::string counters_schema(); ///< docs/schema/counters.json

std::string bash_completion(const CommandDescription &root);
std::string zsh_completion(const CommandDescription &root);

} // namespace olaf
