// SPDX-License-Identifier: BSD-2-Clause
// What a person should know besides a command's result: a line each, as it happens.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace olaf {

/// Who is told of notes from now on; nobody at first. To be set before other threads start.
void take_notes(std::function<void(const std::string &line)> taker);

/// Tells them a line.
void note(const std::string &line);

/// Tells them several lines about something: "ABOUT: LINE".
void note(const std::string &about, const std::vector<std::string> &lines);

} // namespace olaf
