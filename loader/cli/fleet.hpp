// SPDX-License-Identifier: BSD-2-Clause
// The commands of the package olaf-fleet: their command line is here, what they do is a program
// each.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "olaf/result.hpp"

namespace CLI {
class App;
}

namespace olaf {

struct CommandOptions;

/// Declares plan and admit.
void add_fleet(CLI::App &root, CommandOptions &into);

/// Becomes the program of that name in ../libexec/olaf, as seen from this one, with those options as
/// CBOR on its standard input (fleet/program.hpp). Returns only if that fails, as it does where the
/// package that has the program isn't installed.
Error become_fleet_program(const std::string &name, const nlohmann::json &options);

} // namespace olaf
