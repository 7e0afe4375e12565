// SPDX-License-Identifier: BSD-2-Clause
// Sections of the manual that only some commands have.
#include <map>

#include "loader/datapath/config.hpp"
#include "roff.hpp"

namespace olaf {
namespace {

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

} // namespace

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
    const std::string also(also_fails(command.name()));
    return item("0", "Done, or interrupted where it goes on until then") +
           item("1", "It failed: one line on standard error says what, on which object, why and "
                     "what to do" +
                         (also.empty() ? "" : ". " + also)) +
           item("2", "Wrong usage: one line says what");
}

} // namespace olaf
