// SPDX-License-Identifier: BSD-2-Clause
#include "notes.hpp"

#include <utility>

namespace olaf {
namespace {

std::function<void(const std::string &line)> note_handler;

} // namespace

void set_note_handler(std::function<void(const std::string &line)> handler) {
    note_handler = std::move(handler);
}

void note(const std::string &line) {
    if (note_handler)
        note_handler(line);
}

void note(const std::string &about, const std::vector<std::string> &lines) {
    for (const auto &line : lines)
        note(about + ": " + line);
}

} // namespace olaf
