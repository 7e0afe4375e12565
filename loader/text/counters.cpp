// SPDX-License-Identifier: BSD-2-Clause
#include "counters.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "card_counters.hpp"

namespace olaf {
namespace {

constexpr CounterGroup groups[] = {
#define GROUP(name, title, object, loses, at_zero, meaning)                                          \
    {#name, title, object, loses, at_zero, meaning},
    OLAF_GROUP_LIST(GROUP)};

constexpr Identity all_identities[] = {
#define IDENTITY(name, outside, when) {#name, outside, when},
    OLAF_IDENTITY_LIST(IDENTITY)};

/// Sums stand in this object, whatever their parts' group.
constexpr std::string_view sums_object = "counters";

/// A line of the list: what its counters share.
struct Line {
    Source source;
    std::size_t offset;
    const char *field;
    olaf_group group;
    std::string_view key, unit;
    std::uint32_t identity;
    std::string_view sum;
    const char *metric;
    std::string_view meaning;
    std::string_view words = {};
};

std::vector<std::string> words(const std::string &text) {
    std::istringstream stream(text);
    std::vector<std::string> found;
    for (std::string word; stream >> word;)
        found.push_back(std::move(word));
    return found;
}

class Tables {
  public:
    std::vector<Counter> counters;
    std::vector<Figure> figures;

    void add_sum(olaf_group group, std::string_view key, std::string_view unit,
                 std::uint32_t identity, std::string_view meaning) {
        figures.push_back({group, sums_object, key, unit, meaning, identity, "", {}});
    }

    void add(const Line &line) {
        counters.push_back({line.source, line.offset, line.field, words(line.metric),
                            line.meaning, is_on_card(line.source, line.group, line.field)});
        into_figures(line);
    }

    /// One counter a reason.
    void add_family(const Line &line, std::span<const Reason> reasons) {
        for (std::size_t i = 0; i < reasons.size(); i++) {
            auto one = line;
            one.offset += i * sizeof(__u64);
            one.key = reasons[i].key;
            one.meaning = reasons[i].meaning;
            one.words = reasons[i].words;
            const auto key = std::string(one.key);
            counters.push_back({one.source,
                                one.offset,
                                line.field + ("." + key),
                                {line.metric + ("=" + key + "}")},
                                one.meaning,
                                is_on_card(line.source, line.group, line.field)});
            into_figures(one);
        }
    }

    /// Parts join their sums, which may stand further down in the list; then figures are sorted.
    void finish() {
        for (const auto &[sum, index] : parts_)
            for (auto &figure : figures)
                if (figure.object == sums_object && figure.key == sum)
                    figure.counters.push_back(index);
        std::ranges::stable_sort(figures, {}, [](const Figure &figure) {
            return std::pair(figure.group, !comes_first(figure));
        });
    }

  private:
    /// What came in stands before what became of it: the left side of an identity, and no right
    /// one.
    static bool comes_first(const Figure &figure) {
        constexpr std::uint32_t rights = 0xaaaaaaaa;
        return figure.identity != 0 && (figure.identity & rights) == 0;
    }

    Figure &figure(const Line &line, std::string_view object) {
        const auto found = std::ranges::find_if(figures, [&](const Figure &figure) {
            return figure.object == object && figure.key == line.key;
        });
        if (found != figures.end())
            return *found;
        return figures.emplace_back(Figure{line.group, object, line.key, line.unit, line.meaning,
                                           line.identity, line.sum, {}, line.words});
    }

    void into_figures(const Line &line) {
        const auto index = counters.size() - 1;
        auto &own = figure(line, groups[line.group].object);
        own.counters.push_back(index);
        if (own.meaning.empty())
            own.meaning = line.meaning;
        if (own.words.empty())
            own.words = line.words;
        if (!line.sum.empty())
            parts_.emplace_back(line.sum, index);
    }

    std::vector<std::pair<std::string_view, std::size_t>> parts_; ///< of sums, by index
};

#define LINE_OF(source, type, field, group, key, unit, identity, sum, metric, meaning)             \
    Line {                                                                                         \
        source, __builtin_offsetof(type, field), #field, OLAF_GROUP_##group, key, #unit, identity, \
            sum, metric, meaning                                                                   \
    }
#define SUM(group, key, unit, identity, meaning)                                                   \
    tables.add_sum(OLAF_GROUP_##group, #key, #unit, identity, meaning);
#define SLOT(field, group, key, ...)                                                               \
    tables.add(LINE_OF(Source::slots, olaf_slot_counters, field, group, #key, __VA_ARGS__));
#define CPU(field, group, key, ...)                                                                \
    tables.add(LINE_OF(Source::cpus, olaf_counters, field, group, #key, __VA_ARGS__));
#define CPU_FAMILY(field, list, size, group, ...)                                                  \
    tables.add_family(LINE_OF(Source::cpus, olaf_counters, field, group, "", __VA_ARGS__),         \
                      std::vector<Reason>{list(OLAF_REASON)});
#define ACK(field, group, key, ...)                                                                \
    tables.add(LINE_OF(Source::acks, olaf_ack_counters, field, group, #key, __VA_ARGS__));
#define WINDOW(field, group, key, ...)                                                             \
    tables.add(LINE_OF(Source::window, olaf_window, field, group, #key, __VA_ARGS__));
#define LOSS_FAMILY(field, list, size, group, ...)                                                 \
    tables.add_family(LINE_OF(Source::losses, olaf_losses, field, group, "", __VA_ARGS__),         \
                      std::vector<Reason>{list(OLAF_REASON)});
#define LEVEL(field, group, key, unit, identity, metric, meaning)                                  \
    tables.add(                                                                                    \
        LINE_OF(Source::levels, Levels, field, group, #key, unit, identity, "", metric, meaning));

Tables make_tables() {
    Tables tables;
    OLAF_SUM_LIST(SUM)
    OLAF_COUNTER_LIST(CPU, CPU_FAMILY)
    OLAF_SLOT_COUNTER_LIST(SLOT)
    OLAF_WINDOW_COUNTER_LIST(WINDOW)
    OLAF_ACK_COUNTER_LIST(ACK)
    OLAF_LOSS_COUNTER_LIST(LOSS_FAMILY)
    OLAF_LEVEL_LIST(LEVEL)
    tables.finish();
    return tables;
}

const Tables &tables() {
    static const auto made = make_tables();
    return made;
}

const void *start_of(Source source, const Numbers &numbers) {
    switch (source) {
    case Source::slots:
        return numbers.slots;
    case Source::cpus:
        return numbers.cpus;
    case Source::acks:
        return numbers.acks;
    case Source::window:
        return numbers.window;
    case Source::losses:
        return numbers.losses;
    case Source::levels:
        return numbers.levels;
    }
    return nullptr;
}

std::uint32_t side_of(std::size_t identity, bool right) {
    return (right ? 2U : 1U) << (2 * identity);
}

/// Each figure of a side; a whole object of reasons is one term.
std::string terms(std::uint32_t side) {
    std::string text;
    std::string_view summed;
    for (const auto &figure : figures()) {
        if ((figure.identity & side) == 0 || (!summed.empty() && figure.object == summed))
            continue;
        const bool whole_object =
            figure.object != sums_object &&
            std::ranges::count(figures(), figure.object, &Figure::object) > 1 &&
            std::ranges::all_of(figures(), [&](const Figure &other) {
                return other.object != figure.object || (other.identity & side) != 0;
            });
        if (whole_object)
            summed = figure.object;
        text += (text.empty() ? "" : " + ") +
                (whole_object ? "the sum of " + std::string(summed) : figure.path());
    }
    return text;
}

} // namespace

std::optional<std::uint64_t> Counter::in(const Numbers &numbers) const {
    const auto *start = static_cast<const char *>(start_of(source, numbers));
    if (start == nullptr || (numbers.of_card && !on_card))
        return {};
    std::uint64_t value = 0;
    std::memcpy(&value, start + offset, sizeof value);
    return value;
}

std::optional<std::uint64_t> Figure::in(const Numbers &numbers) const {
    std::optional<std::uint64_t> sum;
    for (const auto index : counters)
        if (const auto value = olaf::counters()[index].in(numbers))
            sum = sum.value_or(0) + *value;
    return sum;
}

std::string Figure::path() const {
    const bool bare = object.empty() || object == sums_object;
    return (bare ? "" : std::string(object) + ".") + std::string(key);
}

std::string Figure::label() const {
    const auto name = std::string(groups[group].name);
    if (key == name)
        return "";
    std::string text(key.starts_with(name + "_") ? key.substr(name.size() + 1) : key);
    std::ranges::replace(text, '_', ' ');
    return text;
}

const std::vector<Counter> &counters() {
    return tables().counters;
}
const std::vector<Figure> &figures() {
    return tables().figures;
}
std::span<const CounterGroup> counter_groups() {
    return groups;
}

std::vector<const Figure *> whole_figures(olaf_group group) {
    std::vector<const Figure *> found;
    for (const auto &figure : figures())
        if (figure.group == group && figure.sum.empty())
            found.push_back(&figure);
    return found;
}

std::uint64_t group_total(olaf_group group, const Numbers &numbers) {
    std::uint64_t total = 0;
    for (const auto *figure : whole_figures(group))
        total += figure->in(numbers).value_or(0);
    return total;
}

std::string_view metric_help(std::string_view name) {
#define METRIC(metric, help)                                                                       \
    if (name == #metric)                                                                           \
        return help;
    OLAF_METRIC_LIST(METRIC)
    return "";
}

std::span<const Identity> identities() {
    return all_identities;
}

std::string identity_text(std::size_t identity) {
    const auto outside = std::string(all_identities[identity].outside);
    return terms(side_of(identity, false)) + " = " + terms(side_of(identity, true)) +
           (outside.empty() ? "" : " + " + outside);
}

std::pair<std::uint64_t, std::uint64_t> identity_sides(std::size_t identity,
                                                       const Numbers &numbers) {
    std::pair<std::uint64_t, std::uint64_t> sides{0, 0};
    for (const auto &figure : figures()) {
        const auto value = figure.in(numbers).value_or(0);
        sides.first += (figure.identity & side_of(identity, false)) != 0 ? value : 0;
        sides.second += (figure.identity & side_of(identity, true)) != 0 ? value : 0;
    }
    return sides;
}

} // namespace olaf
