// SPDX-License-Identifier: BSD-2-Clause
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "olaf/protocol.h"
#include "olaf/window.h"

namespace olaf {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};
constexpr std::array rate_units{Unit{"bit", 1}, Unit{"kbit", 1e3}, Unit{"mbit", 1e6},
                                Unit{"gbit", 1e9}, Unit{"tbit", 1e12}};
constexpr std::array byte_units{Unit{"", 1}, Unit{"b", 1}, Unit{"kb", 1e3}, Unit{"mb", 1e6}, Unit{"gb", 1e9},
                                Unit{"tb", 1e12}};
constexpr std::array time_units{Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};

std::unexpected<Error> out_of_range(std::string_view text, std::string range) {
    return fail("take", fmt::format("'{}'", text), 0, "give " + std::move(range),
                "it is out of range");
}

/// "NUMBER UNIT" without the space; nothing for anything else, negatives and zero included.
template <std::size_t N>
std::optional<std::uint64_t> scaled(std::string_view text, const std::array<Unit, N> &units) {
    const auto digits = std::min(text.find_first_not_of("0123456789."), text.size());
    if (digits == 0)
        return {};
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
    if (error != std::errc{} || end != text.data() + digits)
        return {};
    const auto unit = std::ranges::find(units, text.substr(digits), &Unit::name);
    if (unit == units.end())
        return {};
    const double value = std::round(number * unit->factor);
    if (value < 1 || value >= 0x1p63)
        return {};
    return static_cast<std::uint64_t>(value);
}

/// Six digits of it, or as many as tell one double from another.
template <std::size_t N>
std::string unscaled(std::uint64_t value, const std::array<Unit, N> &units, bool all_digits = false) {
    auto unit = std::ranges::find_if(units.rbegin(), units.rend(), [&](const Unit &candidate) {
        return static_cast<double>(value) >= candidate.factor;
    });
    if (unit == units.rend())
        --unit;
    const double number = static_cast<double>(value) / unit->factor;
    return all_digits ? fmt::format("{}{}", number, unit->name)
                      : fmt::format("{:.6g}{}", number, unit->name);
}

} // namespace

std::unexpected<Error> cannot_read(std::string_view what, std::string_view text, std::string hint) {
    return fail(fmt::format("read {}", what), fmt::format("'{}'", text), 0, std::move(hint));
}

Result<Rate> parse_rate(std::string_view text) {
    if (text == "line")
        return Rate{.line = true};
    if (text == "unlimited")
        return Rate{};
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto bps = scaled(lower, rate_units);
    if (!bps)
        return cannot_read("rate", text, "write 20gbit, 10kbit, line or unlimited");
    if (*bps < 1'000 || *bps > 1'000'000'000'000)
        return out_of_range(text, "1kbit ... 1tbit");
    return Rate{.bps = *bps};
}

Result<std::uint64_t> parse_duration(std::string_view text) {
    const auto ns = scaled(text, time_units);
    if (!ns)
        return cannot_read("duration", text, "write 100us, 1ms or 1s");
    return *ns;
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
    const auto bytes = scaled(text, byte_units);
    if (!bytes)
        return cannot_read("size", text, "write bytes, or 40kb, 240mb, 1.5gb");
    return *bytes;
}

Result<std::uint32_t> parse_count(std::string_view text, std::uint32_t least, std::uint32_t most) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool number = error != std::errc::invalid_argument && end == text.data() + text.size();
    if (!number)
        return cannot_read("number", text, fmt::format("give {} ... {}", least, most));
    if (error == std::errc::result_out_of_range || value < least || value > most)
        return out_of_range(text, fmt::format("{} ... {}", least, most));
    return value;
}

Result<std::optional<std::uint32_t>> parse_count_or(std::string_view word, std::string_view text,
                                                    std::uint32_t least, std::uint32_t most) {
    if (text == word)
        return std::optional<std::uint32_t>{};
    const auto value = parse_count(text, least, most);
    if (!value) {
        auto error = value.error();
        error.hint += fmt::format(" or {}", word);
        return std::unexpected(std::move(error));
    }
    return std::optional{*value};
}

Result<Window> parse_window(std::string_view text) {
    if (text == "off")
        return Window{};
    const auto most = parse_count_or("auto", text, 1, OLAF_MAX_WINDOW);
    if (!most) {
        auto error = most.error();
        error.hint = fmt::format("give 1 ... {}, auto or off", OLAF_MAX_WINDOW);
        return std::unexpected(std::move(error));
    }
    return Window{.automatic = !*most, .most = most->value_or(OLAF_MAX_WINDOW)};
}

Result<Range> parse_range(std::string_view text) {
    const auto dash = text.find('-');
    const auto first = parse_count(text.substr(0, dash), 0, UINT32_MAX - 1);
    const auto last =
        dash == text.npos ? first : parse_count(text.substr(dash + 1), 0, UINT32_MAX - 1);
    if (!first || !last || *first > *last)
        return cannot_read("clusters", text, "write an id, 3, or a range, 3-17");
    return Range{*first, *last};
}

Result<std::int64_t> parse_reward(std::string_view text) {
    if (text == "off")
        return -1;
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    // 2^31 leaves the kernel's products of rewards and counts room.
    if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0) ||
        value >= 0x1p31)
        return cannot_read("reward threshold", text, "give a number from 0 below 2147483648, or off");
    return std::llround(std::ldexp(value, OLAF_REWARD_FRACTION_BITS));
}

std::string rate_text(std::uint64_t rate_bps) {
    return rate_bps == 0 ? "unlimited" : unscaled(rate_bps, rate_units);
}
std::string duration_text(std::uint64_t ns) {
    return unscaled(ns, time_units);
}
std::string window_text(const Window &window) {
    return window.most == 0 ? "off" : window.automatic ? "auto" : std::to_string(window.most);
}
std::string size_text(std::uint64_t bytes) {
    constexpr const char *units[] = {"KiB", "MiB", "GiB"};
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 999.5 && unit < 2; unit++)
        value /= 1024;
    return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[unit]);
}

std::string reward_text(std::int64_t threshold) {
    if (threshold < 0)
        return "off";
    return fmt::format("{:g}",
                       std::ldexp(static_cast<double>(threshold), -OLAF_REWARD_FRACTION_BITS));
}

std::string exact_rate_text(std::uint64_t rate_bps) {
    const auto text = rate_text(rate_bps);
    const auto read = parse_rate(text);
    return read && read->bps == rate_bps ? text : fmt::format("{}bit", rate_bps);
}

std::string exact_duration_text(std::uint64_t ns) {
    const auto text = unscaled(ns, time_units, true);
    const auto read = parse_duration(text);
    return read && *read == ns ? text : fmt::format("{}ns", ns);
}

} // namespace olaf
