// SPDX-License-Identifier: BSD-2-Clause
#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace olaf {
namespace {

/// Whether it is counted in another reason of its group as well.
bool is_part(const Figure &figure) {
    return std::ranges::any_of(figures(), [&](const Figure &sum) {
        return sum.group == figure.group && sum.key == figure.sum && !sum.label().empty();
    });
}

/// " (3 contended)": those parts.
std::string parts_text(const Figure &sum, const Numbers &numbers, const olaf_config &config) {
    std::string text;
    for (const auto &figure : figures())
        if (figure.group == sum.group && figure.sum == sum.key)
            if (const auto number = figure.in(numbers).value_or(0); number != 0)
                text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", number,
                                    words_of(figure, config));
    return text.empty() ? text : text + ")";
}

/// Those that a group's sum is made of.
std::vector<const Figure *> reasons_of(olaf_group group) {
    std::vector<const Figure *> found;
    for (const auto &figure : figures())
        if (figure.group == group && !figure.label().empty() && !is_part(figure))
            found.push_back(&figure);
    return found;
}

} // namespace

std::string words_of(const Figure &figure, const olaf_config &config) {
    if (figure.words.empty())
        return figure.label();
    return fmt::format(fmt::runtime(figure.words), fmt::arg("max_clusters", config.max_clusters),
                       fmt::arg("max_segments", config.max_segments),
                       fmt::arg("max_lanes", config.max_lanes));
}

std::string unit_text(std::uint64_t number, std::string_view unit) {
    std::string text(unit);
    if (number == 1 && text == "copies")
        return "copy";
    if (number == 1 && text.ends_with('s'))
        text.pop_back();
    return text;
}

std::string reasons_text(olaf_group group, const Numbers &numbers, const olaf_config &config) {
    std::vector<std::pair<std::uint64_t, std::string>> found;
    for (const auto *figure : reasons_of(group))
        if (const auto number = figure->in(numbers).value_or(0); number != 0)
            found.emplace_back(number,
                               words_of(*figure, config) + parts_text(*figure, numbers, config));
    if (found.size() == 1)
        return found[0].second;
    std::ranges::stable_sort(found, std::ranges::greater{}, &decltype(found)::value_type::first);
    std::string text;
    for (const auto &[number, words] : found)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, words);
    return text;
}

std::string_view main_reason(olaf_group group, const Numbers &numbers) {
    std::string_view key;
    std::uint64_t most = 0;
    for (const auto *figure : reasons_of(group))
        if (const auto number = figure->in(numbers).value_or(0); number > most) {
            most = number;
            key = figure->key;
        }
    return key;
}

} // namespace olaf
