// SPDX-License-Identifier: BSD-2-Clause
// `olaf job` as data.
#pragma once

#include "loader/commands/commands.hpp"

namespace CLI {
class App;
}

namespace olaf {

void add_job(CLI::App &root, JobOptions &options);

} // namespace olaf
