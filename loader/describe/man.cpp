// SPDX-License-Identifier: BSD-2-Clause
// The manual: a page for the command, one for each subcommand.
#include <algorithm>
#include <cctype>
#include <string_view>

#include "roff.hpp"

namespace olaf {
namespace {

/// A way to call a command: what is typed as it stands is bold, what stands for something italic.
std::string marked(const std::string &usage) {
    std::string text, word;
    const auto end_word = [&] {
        const bool typed = std::ranges::any_of(
            word, [](unsigned char c) { return std::islower(c) != 0 || c == '-'; });
        text += word.empty() ? "" : typed ? bold(word) : italic(word);
        word.clear();
    };
    for (const char c : usage)
        if (std::string_view(" ()[]|:.").contains(c)) {
            end_word();
            text += roff(std::string(1, c));
        } else
            word += c;
    end_word();
    return text;
}

std::string synopsis(const CommandDescription &command) {
    std::string text;
    for (const auto &usage : command.usages)
        text += (text.empty() ? "" : ".br\n") + marked(usage) + "\n";
    return text;
}

std::string options(const std::vector<OptionDescription> &list) {
    std::string text;
    for (const auto &option : list) {
        text += ".TP\n";
        if (!option.names[0].starts_with('-')) // an argument is called by what it is
            text += italic(option.type) + "\n";
        else {
            for (std::size_t i = 0; i < option.names.size(); i++)
                text += (i == 0 ? "" : ", ") + bold(option.names[i]);
            text += (option.type.empty() ? "" : " " + italic(option.type)) + "\n";
        }
        text += sentence(option.text) + "\n";
    }
    return text;
}

/// Of a command and those below it.
std::string examples(const CommandDescription &command) {
    std::string text;
    for (const auto &[line, meaning] : command.examples)
        text += ".TP\n" + bold(std::string(line)) + "\n" + sentence(std::string(meaning)) + "\n";
    for (const auto &child : command.commands)
        if (command.path.size() > 1)
            text += examples(child);
    return text;
}

/// A command, and those below it as subsections.
std::string body(const CommandDescription &command) {
    std::string text = section("OPTIONS", options(command.arguments) + options(command.options));
    for (const auto &child : command.commands)
        text += section("\"" + roff(child.name()) + "\"",
                        sentence(child.text) + "\n.PP\n" + synopsis(child) +
                            options(child.arguments) + options(child.options));
    return text;
}

std::string page(const CommandDescription &command, const std::string &description,
                 const std::string &content, const std::string &see, const std::string &version) {
    auto title = command.joined("-");
    std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
    auto synopses = synopsis(command);
    for (const auto &child : command.commands)
        if (command.path.size() > 1)
            synopses += ".br\n" + synopsis(child);
    return ".\\\" Generated from the definitions of the command line.\n.TH " + roff(title) +
           " 8 \"\" \"olaf " + version + "\" \"Olaf\"\n" +
           section("NAME", roff(command.joined("-")) + " \\- " + description + "\n") +
           section("SYNOPSIS", synopses) + section("DESCRIPTION", sentence(command.text) + "\n") +
           content + section("\"GLOBAL OPTIONS\"", options(command.inherited)) +
           section("\"EXIT STATUS\"", exit_statuses(command)) +
           section("EXAMPLES", examples(command)) +
           section("FILES", ".TP\n.I /sys/fs/bpf/olaf/\nOne directory for each attached device: "
                            "the programs and maps of its queue.\n"
                            ".TP\n.I /etc/olaf/DEV.conf\nWhat olaf attach DEV --save has written, "
                            "for olaf@DEV.service.\n") +
           section("\"SEE ALSO\"", see);
}

/// A description as whatis(1) shows it: one line, no full stop.
std::string lower_first(std::string text) {
    while (text.ends_with('.'))
        text.pop_back();
    std::ranges::replace(text, '\n', ' ');
    if (!text.empty())
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return roff(text);
}

std::string reference(const CommandDescription &command) {
    return ".BR " + roff(command.joined("-")) + " (8)";
}

} // namespace

std::vector<ManualPage> manual(const CommandDescription &root, const std::string &version) {
    std::string commands, see;
    std::vector<ManualPage> pages;
    for (const auto &command : root.commands) {
        commands += ".TP\n" + reference(command) + "\n" + sentence(command.text) + "\n";
        see += (see.empty() ? "" : ",\n") + reference(command);
        pages.push_back({command.joined("-"),
                         page(command, lower_first(command.text), body(command) + subjects(command),
                              reference(root) + "\n", version)});
    }
    pages.insert(pages.begin(), {root.word(), page(root, lower_first(root.text),
                                                   section("OPTIONS", options(root.options)) +
                                                       section("COMMANDS", commands),
                                                   see + "\n", version)});
    return pages;
}

} // namespace olaf
