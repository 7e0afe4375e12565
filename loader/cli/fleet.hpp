// SPDX-License-Identifier: BSD-2-Clause
// The commands of the package olaf-fleet: their command line is here, what they do is a program
// each.
#pragma once

#include <string>

#include "olaf/result.hpp"

namespace CLI {
class App;
}

namespace olaf {

struct CommandOptions;

/// Declares plan and admit.
void add_fleet(CLI::App &root, CommandOptions &into);

/// Becomes the program of that name in ../libexec/olaf, as seen from this one, with those options.
/// Returns only if that fails: the package that has it isn't installed.
Error become_fleet_program(const std::string &name, const std::string &options);

} // namespace olaf
