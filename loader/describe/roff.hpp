// SPDX-License-Identifier: BSD-2-Clause
// The manual's markup, man(7), and the sections that only some pages have.
#pragma once

#include <string>

#include "description.hpp"

namespace olaf {

/// Text as roff reads it: hyphens that can be copied, no line that is taken for a request.
std::string roff(const std::string &text);
std::string bold(const std::string &text);
std::string italic(const std::string &text);
/// A sentence of --help as one of prose: a capital first letter, a full stop.
std::string sentence(std::string text);
/// Nothing where there is no text.
std::string section(const std::string &title, const std::string &text);

/// What a command is about, all of it: policies, counters, events.
std::string subjects(const CommandDescription &command);
std::string exit_statuses(const CommandDescription &command);

} // namespace olaf
