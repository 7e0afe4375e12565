// SPDX-License-Identifier: BSD-2-Clause
#include "description.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>

#include "loader/cli/cli.hpp"

namespace olaf {
namespace {

OptionDescription describe(const CLI::Option &option) {
    OptionDescription described;
    if (option.get_positional())
        described.names = {option.get_name(true)};
    else {
        for (const auto &name : option.get_snames())
            described.names.push_back("-" + name);
        for (const auto &name : option.get_lnames())
            described.names.push_back("--" + name);
    }
    if (option.get_items_expected_max() > 0)
        described.values = option.get_type_name();
    described.type = option.get_option_text().empty() ? described.values : option.get_option_text();
    described.text = option.get_description();
    described.required = option.get_required();
    described.repeatable = option.get_expected_max() > 1;
    return described;
}

/// A group is a command without a name: its options are its parent's, but for its own --help.
void add_options(const CLI::App &app, CommandDescription &into) {
    for (const auto *option : app.get_options())
        if (!app.get_name().empty() || option != app.get_help_ptr())
            (option->get_positional() ? into.arguments : into.options).push_back(describe(*option));
    for (const auto *group : app.get_subcommands([](const CLI::App *) { return true; }))
        if (group->get_name().empty())
            add_options(*group, into);
}

CommandDescription describe(const CLI::App &app, const CommandDescription *parent) {
    CommandDescription command;
    if (parent != nullptr) {
        command.path = parent->path;
        command.inherited = parent->all_options();
        // Each has a --help of its own; --version is the root's, whoever is asked.
        std::erase_if(command.inherited, [](const OptionDescription &option) {
            return std::ranges::find(option.names, "--help") != option.names.end();
        });
    }
    command.path.push_back(app.get_name());
    command.text = app.get_description();
    command.usages = usages_of(app);
    command.examples = examples_of(full_name(app));
    add_options(app, command);
    for (const auto *child : app.get_subcommands([](const CLI::App *) { return true; }))
        if (!child->get_name().empty())
            command.commands.push_back(describe(*child, &command));
    return command;
}

bool is_word(const std::string &text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
        return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_';
    });
}

} // namespace

std::vector<std::string> OptionDescription::words() const {
    std::vector<std::string> found;
    std::istringstream parts(values);
    for (std::string part; std::getline(parts, part, '|');)
        if (is_word(part))
            found.push_back(part);
    return found;
}

std::string CommandDescription::joined(const std::string &separator) const {
    std::string text;
    for (const auto &word : path)
        text += (text.empty() ? "" : separator) + word;
    return text;
}

std::vector<OptionDescription> CommandDescription::all_options() const {
    auto all = options;
    all.insert(all.end(), inherited.begin(), inherited.end());
    return all;
}

CommandDescription describe_command_line() {
    CLI::App app;
    CommandOptions ignored;
    define_command_line(app, ignored);
    return describe(app, nullptr);
}

std::vector<CommandDescription> flattened(const CommandDescription &command) {
    std::vector<CommandDescription> all{command};
    for (const auto &child : command.commands) {
        auto below = flattened(child);
        all.insert(all.end(), below.begin(), below.end());
    }
    return all;
}

} // namespace olaf
