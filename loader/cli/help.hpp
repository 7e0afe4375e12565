// SPDX-License-Identifier: BSD-2-Clause
// What the command line says of itself: `--help`, and one line for wrong usage.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Error;
class FormatterBase;
} // namespace CLI

namespace olaf {

/// A command line that does something, and what that is.
struct Example {
    std::string_view line, meaning;
};
/// Of a command by its name, "olaf cluster set"; none if there is no such command.
const std::vector<Example> &examples_of(const std::string &command);

/// The words with the separator between each two.
std::string joined(const std::vector<std::string> &words, const std::string &separator);

/// "olaf cluster set".
std::string full_name(const CLI::App &app);

/// "olaf detach DEV [OPTION]...", with all that must be given; a line each way to call it.
std::vector<std::string> usages_of(const CLI::App &app);

/// Writes `--help` in the words of the manual.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Why a command line isn't one, and where to read more: one line, without its end.
std::string usage_error(const CLI::App &app, const CLI::Error &error);

} // namespace olaf
