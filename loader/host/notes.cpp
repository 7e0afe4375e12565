// SPDX-License-Identifier: BSD-2-Clause
#include "notes.hpp"

#include <utility>

namespace olaf {
namespace {

std::function<void(const std::string &line)> taker;

} // namespace

void take_notes(std::function<void(const std::string &line)> to) {
    taker = std::move(to);
}

void note(const std::string &line) {
    if (taker)
        taker(line);
}

void note(const std::string &about, const std::vector<std::string> &lines) {
    for (const auto &line : lines)
        note(about + ": " + line);
}

} // namespace olaf
