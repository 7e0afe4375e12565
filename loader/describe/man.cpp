// SPDX-License-Identifier: BSD-2-Clause
// The manual: a page for the command, one for each subcommand.
#include <algorithm>
#include <cctype>

#include "description.hpp"

namespace olaf {
namespace {

/// Text as roff reads it: hyphens that can be copied, no line that is taken for a request.
std::string roff(const std::string &text) {
    std::string out;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\''))
            out += "\\&";
        line_start = c == '\n';
        switch (c) {
        case '\\':
            out += "\\e";
            break;
        case '-':
            out += "\\-";
            break;
        case '~':
            out += "\\(ti";
            break;
        case '^':
            out += "\\(ha";
            break;
        case '\'':
            out += "\\(cq";
            break;
        default:
            out += c;
        }
    }
    return out;
}

std::string bold(const std::string &text) {
    return "\\fB" + roff(text) + "\\fR";
}
std::string italic(const std::string &text) {
    return "\\fI" + roff(text) + "\\fR";
}

/// A sentence of --help as one of prose: a capital first letter, a full stop.
std::string sentence(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '.'))
        text.pop_back();
    if (text.empty())
        return text;
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    std::ranges::replace(text, '\n', ' ');
    return roff(text + ".");
}

std::string synopsis(const CommandDescription &command) {
    std::string text = bold(command.name());
    for (const auto &argument : command.arguments) {
        const auto value = italic(argument.type.empty() ? argument.names[0] : argument.type) +
                           (argument.repeatable ? "..." : "");
        text += " " + (argument.required ? value : "[" + value + "]");
    }
    if (!command.commands.empty())
        text += " " + italic("COMMAND");
    for (const auto &option : command.options)
        if (option.required)
            text += " " + bold(option.names.back()) + " " + italic(option.type);
    return text + " [" + italic("OPTION") + "]...\n";
}

std::string options(const std::vector<OptionDescription> &list) {
    std::string text;
    for (const auto &option : list) {
        text += ".TP\n";
        for (std::size_t i = 0; i < option.names.size(); i++)
            text += (i == 0 ? "" : ", ") + bold(option.names[i]);
        text += (option.type.empty() ? "" : " " + italic(option.type)) + "\n";
        text += sentence(option.text) + "\n";
    }
    return text;
}

std::string section(const std::string &title, const std::string &text) {
    return text.empty() ? text : ".SH " + title + "\n" + text;
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

/// What `olaf status` shows, in its manual.
std::string counters(const CommandDescription &command) {
    if (command.name() != "olaf status")
        return "";
    std::string text = "Keys of\n.BR \\-\\-json ,\nby the lines of text. A message may hold many "
                       "updates: its count says how many.\n";
    for (const auto &group : described_counters()) {
        text += ".SS " + roff(group.name) + "\n" + roff(group.meaning) + "\n";
        for (const auto &counter : group.counters)
            text += ".TP\n" + bold(counter.path) + " (" + roff(counter.unit) + ")\n" +
                    sentence(counter.meaning.empty() ? counter.path : counter.meaning) + "\n";
    }
    std::string identities;
    for (const auto &identity : described_identities())
        identities += ".PP\n" + roff(identity) + ".\n";
    return section("COUNTERS", text) + section("IDENTITIES", identities);
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
           section("\"EXIT STATUS\"",
                   ".TP\n0\nDone.\n.TP\n1\nFailed: one line on standard error says what, on which "
                   "object, why and what to do.\n.TP\n2\nWrong usage.\n") +
           section("FILES", ".TP\n.I /sys/fs/bpf/olaf/\nOne directory for each attached device: "
                            "the programs and maps of its queue.\n") +
           section("\"SEE ALSO\"", see);
}

std::string lower_first(std::string text) {
    const auto end = text.find_first_of(";,.\n");
    text = text.substr(0, end);
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
        pages.push_back(
            {command.joined("-"), page(command, lower_first(command.text),
                                       body(command) + counters(command),
                                       reference(root) + "\n", version)});
    }
    pages.insert(pages.begin(), {root.word(), page(root, lower_first(root.text),
                                                   section("OPTIONS", options(root.options)) +
                                                       section("COMMANDS", commands),
                                                   see + "\n", version)});
    return pages;
}

} // namespace olaf
