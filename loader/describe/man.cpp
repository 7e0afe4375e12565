// SPDX-License-Identifier: BSD-2-Clause
// The manual, by the markup of man(7): a page for the command, one for each subcommand.
#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "description.hpp"
#include "loader/datapath/config.hpp"

namespace olaf {
namespace {

/// groff reads ASCII: what isn't has names.
std::string spelt(std::string text, std::string_view letter, std::string_view name) {
    for (auto at = text.find(letter); at != text.npos; at = text.find(letter, at + name.size()))
        text.replace(at, letter.size(), name);
    return text;
}

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
    return spelt(std::move(out), "×", "\\(mu");
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

/// Nothing where there is no text.
std::string section(const std::string &title, const std::string &text) {
    return text.empty() ? text : ".SH " + title + "\n" + text;
}

/// A policy by its name in olaf/policies.h: what becomes of an update that finds one waiting.
std::string_view meaning_of_policy(std::string_view name) {
    static const std::map<std::string_view, std::string_view> meanings{
        {"olaf", "An update replaces the one that waits if that is a single update of the same "
                 "worker. Else they are folded; with a reward threshold only if their mean rewards "
                 "differ by that at most: one that is higher by more takes the waiting one's "
                 "place, one that is lower by more is dropped."},
        {"fifo", "An update queues behind the one that waits, and is dropped when the queue is "
                 "full. Needs a queue that was attached with --policy fifo or --fifo."},
        {"aggregate", "An update is folded into the one that waits."},
        {"newest", "An update replaces the one that waits."}};
    const auto found = meanings.find(name);
    return found != meanings.end() ? found->second : "";
}

std::string item(const std::string &head, const std::string &text) {
    return ".TP\n" + head + "\n" + sentence(text) + "\n";
}

std::string policies() {
    std::string text = "What becomes of an update that finds one of its cluster waiting:\n";
    for (std::uint32_t policy = 0; policy < OLAF_POLICIES; policy++)
        text += item(bold(std::string(policy_name(policy))),
                     std::string(meaning_of_policy(policy_name(policy))));
    return section("POLICIES", text);
}

/// What `olaf status` shows.
std::string counter_items() {
    std::string text = "Keys of\n.BR \\-\\-json ,\nby the lines of text. A message may hold many "
                       "updates: its count says how many.\n";
    for (const auto &group : described_counters()) {
        text += ".SS " + roff(group.name) + "\n" + roff(group.meaning) + "\n";
        for (const auto &counter : group.counters)
            text += item(bold(counter.path) + " (" + roff(counter.unit) + ")",
                         counter.meaning.empty() ? counter.path : counter.meaning);
    }
    std::string identities;
    for (const auto &identity : described_identities())
        identities += ".PP\n" + roff(identity) + ".\n";
    return section("COUNTERS", text) + section("IDENTITIES", identities);
}

/// What `olaf trace` tells.
std::string events() {
    std::string text = "A line begins with seconds of CLOCK_TAI, the kind of event and what "
                       "happened.\n.B \\-\\-action\ntakes any of these words.\n";
    for (const auto &[kind, meaning, actions] : described_events()) {
        text += ".SS " + roff(kind) + "\n" + sentence(meaning) + "\n";
        for (const auto &[action, what] : actions)
            text += item(bold(action), what);
    }
    return section("EVENTS", text);
}

/// When a command fails that has done what it could.
std::string_view also_fails(const std::string &command) {
    static const std::map<std::string, std::string_view> also{
        {"olaf detach", "So it does where updates wait that can't leave; the queue then goes on."},
        {"olaf status", "So it does for a DEV whose queue doesn't work any more."},
        {"olaf doctor", "So it does if anything is MISS."},
        {"olaf plan", "So it does if no valid plan exists."},
        {"olaf trace", "So it does when the queue is detached meanwhile."},
        {"olaf top", "So it does when the queue is detached meanwhile."},
        {"olaf report", "So it does when the queue is detached meanwhile. An older report is then "
                        "still there."},
        {"olaf serve", "So it does without the rights to read, or without --wait for a DEV that "
                       "has no queue."},
        {"olaf send", "So it does if the server doesn't answer, or no longer: after the summary if "
                      "there is one."}};
    const auto found = also.find(command);
    return found != also.end() ? found->second : "";
}

/// What a command is about, all of it: policies, counters, events.
std::string subjects(const CommandDescription &command) {
    if (command.name() == "olaf attach" || command.name() == "olaf cluster")
        return policies();
    if (command.name() == "olaf status")
        return counter_items();
    if (command.name() == "olaf trace")
        return events();
    return "";
}

std::string exit_statuses(const CommandDescription &command) {
    if (command.name() == "olaf admit")
        return item("0", "Done, and admitted: no run breaks the objective. Standard output says why") +
               item("1", "Done, and rejected: standard output shows a run that breaks the objective, and what "
                         "would be admitted. Or it failed: one line on standard error says what") +
               item("2", "Wrong usage, or options that don't fit each other: one line says what") +
               item("3", "Done, and unknown: neither a proof nor a run that breaks the objective was found "
                         "within --time-limit");
    const std::string also(also_fails(command.name()));
    return item("0", "Done, or interrupted where it goes on until then") +
           item("1", "It failed: one line on standard error says what, on which object, why and "
                     "what to do" +
                         (also.empty() ? "" : ". " + also)) +
           item("2", "Wrong usage" +
                         std::string(command.name() == "olaf plan" ? ", or a FILE that can't be read"
                                                                   : "") +
                         ": one line says what");
}

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
