// SPDX-License-Identifier: BSD-2-Clause
// How commands declare what they take: CLI11's options with our strict parsers behind them.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "loader/datapath/config.hpp"
#include "loader/text/units.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// An option whose text a strict parser of ours reads.
template <class Parser, class Into>
CLI::Option *parsed(CLI::App &app, const std::string &name, Into &into, const Parser &parser,
                    const std::string &help, const std::string &type) {
    return app
        .add_option_function<std::string>(
            name,
            [&into, parser, name](const std::string &text) {
                auto value = parser(text);
                if (!value)
                    throw CLI::ValidationError(name, value.error().message());
                into = std::move(*value);
            },
            help)
        ->type_name(type);
}

inline auto count_parser(std::uint32_t least, std::uint32_t most) {
    return [=](const std::string &text) { return parse_count(text, least, most); };
}
inline auto count_or(const std::string &word, std::uint32_t least, std::uint32_t most) {
    return [=](const std::string &text) { return parse_count_or(word, text, least, most); };
}

/// A duration within bounds, ns.
inline Result<std::uint64_t> parse_duration_between(const std::string &text, std::uint64_t least,
                                                    std::uint64_t most) {
    auto value = parse_duration(text);
    if (value && (*value < least || *value > most))
        return fail("take", "'" + text + "'", 0,
                    "give " + duration_text(least) + " ... " + duration_text(most),
                    "it is out of range");
    return value;
}

inline Result<olaf_policy> parse_policy(const std::string &text) {
    if (const auto policy = policy_by_name(text))
        return *policy;
    return fail("find policy", "'" + text + "'", 0, "it is one of " + policy_names(", "));
}

/// The option of that name, of each command that has it.
inline void policy_option(CLI::App &app, std::optional<olaf_policy> &policy,
                          const std::string &help) {
    parsed(app, "--policy", policy, parse_policy, help, policy_names("|"));
}

/// The device, first argument of most commands.
inline void device_argument(CLI::App &app, std::string &into, bool required = true) {
    app.add_option("device", into, "Network device")->type_name("DEV")->required(required);
}

/// attach DEV --save, and not a word about the queue.
inline bool saves_only(const CLI::App &attach) {
    std::size_t given = 0;
    for (const auto *option : attach.get_options())
        given += option->count() > 0 ? 1 : 0;
    for (const auto *group : attach.get_subcommands([](const CLI::App *) { return true; }))
        for (const auto *option : group->get_options())
            given += option->count() > 0 ? 1 : 0;
    return given == 2 && attach.count("--save") > 0;
}

} // namespace olaf
