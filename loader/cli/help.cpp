// SPDX-License-Identifier: BSD-2-Clause
#include "help.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace olaf {

std::string joined(const std::vector<std::string> &words, const std::string &separator) {
    std::string text;
    for (const auto &word : words)
        text += (text.empty() ? "" : separator) + word;
    return text;
}

namespace {

/// Columns that a description may fill before it goes on in the next line.
constexpr std::size_t widest = 72;

std::vector<const CLI::App *> children(const CLI::App &app, bool groups) {
    return app.get_subcommands(
        [=](const CLI::App *child) { return child->get_name().empty() == groups; });
}

/// "-v", "--verbose".
std::vector<std::string> names_of(const CLI::Option &option) {
    std::vector<std::string> names;
    for (const auto &name : option.get_snames())
        names.push_back("-" + name);
    for (const auto &name : option.get_lnames())
        names.push_back("--" + name);
    return names;
}

/// What follows its name: "TIME"; "" for a flag.
std::string value_of(const CLI::Option &option) {
    if (option.get_items_expected_max() == 0)
        return "";
    return option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
}

/// "--rate RATE", "DEV".
std::string called(const CLI::Option &option) {
    const auto value = value_of(option);
    if (option.get_positional())
        return value;
    return names_of(option).back() + (value.empty() ? "" : " " + value);
}

std::vector<std::string> called_of(const CLI::App &group) {
    std::vector<std::string> names;
    for (const auto *option : group.get_options())
        if (option != group.get_help_ptr())
            names.push_back(called(*option));
    return names;
}

std::string wrapped(const std::string &text) {
    std::string out;
    std::size_t column = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find_first_of(" \n", at), text.size());
        if (column > 0 && column + 1 + end - at > widest) {
            out += '\n';
            column = 0;
        }
        out += (column > 0 ? " " : "") + text.substr(at, end - at);
        column = end < text.size() && text[end] == '\n' ? 0 : column + (column > 0) + end - at;
        if (end < text.size() && text[end] == '\n')
            out += '\n';
        at = end + 1;
    }
    return out;
}

class Help : public CLI::Formatter {
  public:
    Help() {
        column_width(34);
        label("Positionals", "Arguments");
    }
    std::string make_usage(const CLI::App *app, std::string) const override {
        return "\nUsage: " + joined(usages_of(*app), "\n       ") + "\n";
    }
    std::string make_description(const CLI::App *app) const override {
        return app->get_description() + "\n";
    }
    std::string make_footer(const CLI::App *app) const override {
        std::string text;
        for (const auto &[line, meaning] : examples_of(full_name(*app)))
            text += (text.empty() ? "Examples:\n  " : "  ") + std::string(line) + "\n      " +
                    std::string(meaning) + "\n";
        return text + (text.empty() ? "" : "\n") + app->get_footer() + "\n";
    }
    /// An option group.
    std::string make_expanded(const CLI::App *group) const override {
        std::string text = "\n" + group->get_description() + "\n";
        for (const auto *option : group->get_options())
            if (option != group->get_help_ptr())
                text += make_option(option, false);
        return text;
    }
    std::string make_option_name(const CLI::Option *option, bool positional) const override {
        return positional ? value_of(*option) : joined(names_of(*option), ", ");
    }
    std::string make_option_opts(const CLI::Option *option) const override {
        const auto value = value_of(*option);
        return option->get_positional() || value.empty() ? "" : " " + value;
    }
    std::string make_option_desc(const CLI::Option *option) const override {
        return wrapped(option->get_description());
    }
};

/// What is missing that a command needs, or given too often; "" if nothing.
std::string lacks(const CLI::App &app) {
    const auto commands = children(app, false);
    if (!commands.empty() && app.get_subcommands().empty()) {
        std::vector<std::string> names;
        for (const auto *command : commands)
            names.push_back(command->get_name());
        return "a command is missing; it is one of " + joined(names, ", ");
    }
    for (const auto *option : app.get_options())
        if (option->get_required() && option->count() == 0)
            return called(*option) + " is missing";
    for (const auto *group : children(app, true)) {
        std::size_t given = 0;
        for (const auto *option : group->get_options())
            given += option->count() > 0 ? 1 : 0;
        const auto names = joined(called_of(*group), ", ");
        if (given < group->get_require_option_min())
            return "at least one is missing of " + names;
        if (group->get_require_option_max() != 0 && given > group->get_require_option_max())
            return "only one can be given of " + names;
    }
    return "";
}

/// What nobody has asked for.
std::string unexpected_word(const CLI::App &app, const std::string &word) {
    if (word.starts_with('-'))
        return "there is no option '" + word + "'";
    if (!children(app, false).empty())
        return "there is no command '" + word + "'";
    return "'" + word + "' is a word too many";
}

const CLI::App &deepest(const CLI::App &app) {
    for (const auto *child : app.get_subcommands())
        if (!child->get_name().empty())
            return deepest(*child);
    return app;
}

} // namespace

std::string full_name(const CLI::App &app) {
    return (app.get_parent() != nullptr ? full_name(*app.get_parent()) + " " : "") + app.get_name();
}

std::vector<std::string> usages_of(const CLI::App &app) {
    auto line = full_name(app);
    for (const auto *option : app.get_options())
        if (option->get_positional()) {
            const bool repeated = option->get_expected_max() > 1;
            const auto name = called(*option) + (repeated ? "..." : "");
            line += option->get_required() ? " " + name : " [" + name + "]";
        }
    for (const auto *option : app.get_options())
        if (option->get_required() && !option->get_positional())
            line += " " + called(*option);
    for (const auto *group : children(app, true)) {
        if (group->get_require_option_max() == 1)
            line += " (" + joined(called_of(*group), " | ") + ")";
        else if (group->get_require_option_min() > 0)
            line += " " + group->get_group() + "...";
    }
    std::vector<std::string> lines{
        line + (children(app, false).empty() ? " [OPTION]..." : " COMMAND [OPTION]...")};
    if (full_name(app) == "olaf attach")
        lines.insert(lines.end(),
                     {"olaf attach DEV --replace [OPTION]...", "olaf attach DEV --save"});
    return lines;
}

std::shared_ptr<CLI::FormatterBase> help_formatter() {
    return std::make_shared<Help>();
}

std::string usage_error(const CLI::App &root, const CLI::Error &error) {
    const auto &app = deepest(root);
    std::string what = error.what();
    const auto told = what.substr(0, what.find_first_of(": "));
    const auto unknown = root.remaining();
    const auto is = [&](CLI::ExitCodes code) {
        return error.get_exit_code() == static_cast<int>(code);
    };
    if (is(CLI::ExitCodes::ExtrasError))
        what = unexpected_word(app, what.substr(what.rfind(' ') + 1));
    else if (!unknown.empty() && !children(app, false).empty())
        what = unexpected_word(app, unknown.front());
    else if (const auto missing = lacks(app); is(CLI::ExitCodes::RequiredError) && !missing.empty())
        what = missing;
    else if (is(CLI::ExitCodes::ArgumentMismatch))
        for (const auto *owner : {&app, &root})
            if (const auto *option = owner->get_option_no_throw(told);
                option != nullptr && !value_of(*option).empty())
                what = told + " takes " + value_of(*option);
    return what + "; " + full_name(app) + " --help tells more";
}

} // namespace olaf
