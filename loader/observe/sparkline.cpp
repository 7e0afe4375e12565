// SPDX-License-Identifier: BSD-2-Clause
#include "sparkline.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace olaf {
namespace {

constexpr std::array<const char *, 8> blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char *, 8> letters{"_", ".", ",", "-", "~", "=", "*", "#"};

} // namespace

std::string sparkline(std::span<const double> values, int width, bool unicode) {
    const auto columns = static_cast<std::size_t>(std::max(width, 0));
    const auto shown = values.last(std::min(values.size(), columns));
    const double highest = shown.empty() ? 0 : std::ranges::max(shown);
    std::string text(columns - shown.size(), ' ');
    for (const double value : shown) {
        const auto level = highest > 0 ? std::clamp(std::lround(7 * value / highest), 0L, 7L) : 0L;
        text += (unicode ? blocks : letters)[static_cast<std::size_t>(level)];
    }
    return text;
}

std::string bar(double part, int width, bool unicode) {
    const auto full = static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * width));
    std::string text;
    for (int i = 0; i < width; i++)
        text += i < full ? (unicode ? "█" : "#") : (unicode ? "░" : ".");
    return text;
}

} // namespace olaf
