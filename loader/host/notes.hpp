// SPDX-License-Identifier: BSD-2-Clause
// What a person should know besides a command's result: a line each, as it happens.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace olaf {

/// Gets each line from now on; lines before are dropped. Call this before other threads start.
void set_note_handler(std::function<void(const std::string &line)> handler);

/// Hands the handler a line.
void note(const std::string &line);

/// Hands the handler several lines about something: "ABOUT: LINE".
void note(const std::string &about, const std::vector<std::string> &lines);

} // namespace olaf
