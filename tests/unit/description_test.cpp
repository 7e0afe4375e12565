// SPDX-License-Identifier: BSD-2-Clause
// Manual and completions have every option of every command: asked of CLI11 itself.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>

#include "loader/cli/cli.hpp"
#include "loader/datapath/config.hpp"
#include "loader/describe/description.hpp"

namespace olaf::test::description_test {
namespace {

struct Declared {
    std::string command; ///< "olaf cluster set"
    std::string option;  ///< "--policy"
    std::string help;
};

void collect(const CLI::App &app, const std::string &path, std::vector<Declared> &into) {
    for (const auto *option : app.get_options())
        for (const auto &name : option->get_lnames())
            into.push_back({path, "--" + name, option->get_description()});
    for (const auto *child : app.get_subcommands([](const CLI::App *) { return true; }))
        collect(*child, child->get_name().empty() ? path : path + " " + child->get_name(), into);
}

std::vector<Declared> every_option() {
    CLI::App app;
    CommandOptions options;
    define_command_line(app, options);
    std::vector<Declared> all;
    collect(app, "olaf", all);
    return all;
}

std::string without(std::string text, char unwanted) {
    std::erase(text, unwanted);
    return text;
}

/// The page that a command is on: its subcommands are on its own.
const ManualPage &page_of(const std::vector<ManualPage> &pages, const std::string &command) {
    const auto words = std::ranges::count(command, ' ');
    auto name =
        command.substr(0, words > 1 ? command.find(' ', command.find(' ') + 1) : command.npos);
    std::ranges::replace(name, ' ', '-');
    const auto found = std::ranges::find(pages, name, &ManualPage::name);
    EXPECT_NE(found, pages.end()) << name;
    return *found;
}

TEST(Description, TheManualHasEveryOption) {
    const auto pages = manual(describe_command_line(), "0");
    const auto options = every_option();
    ASSERT_GT(options.size(), 40u);
    for (const auto &[command, option, help] : options) {
        const auto plain = without(page_of(pages, command).text, '\\');
        EXPECT_NE(plain.find("fB" + option + "fR"), plain.npos) << command << " " << option;
        const auto words = help.substr(0, help.find_first_of("'\n"));
        EXPECT_NE(plain.find(words.substr(1)), plain.npos) << command << " " << option;
    }
}

TEST(Description, TheManualHasEveryPolicyCounterAndAction) {
    const auto pages = manual(describe_command_line(), "0");
    // A word that is explained, and what explains it: the next line is no other word.
    const auto explains = [&](const std::string &command, const std::string &word) {
        const auto plain = without(page_of(pages, command).text, '\\');
        const auto at = plain.find(".TP\nfB" + word + "fR");
        const auto text = plain.find('\n', at + 4) + 1;
        EXPECT_NE(at, plain.npos) << command << ": " << word;
        const auto first = static_cast<unsigned char>(plain[text]);
        EXPECT_TRUE(std::isupper(first) != 0 || first == '`') << command << ": " << word;
    };
    for (std::uint32_t policy = 0; policy < OLAF_POLICIES; policy++)
        for (const auto *command : {"olaf attach", "olaf cluster"})
            explains(command, std::string(policy_name(policy)));
    std::size_t counters = 0, actions = 0;
    for (const auto &group : described_counters())
        for (const auto &counter : group.counters) {
            explains("olaf status", counter.path);
            counters++;
        }
    for (const auto &event : described_events())
        for (const auto &[action, meaning] : event.actions) {
            explains("olaf trace", action);
            actions++;
        }
    EXPECT_GT(counters, 50u);
    EXPECT_GT(actions, 20u);
}

TEST(Description, EveryPageHasExamplesStatusesAndAWholeName) {
    for (const auto &page : manual(describe_command_line(), "0")) {
        const auto &text = page.text;
        EXPECT_NE(text.find(".SH EXAMPLES\n.TP\n\\fBolaf "), text.npos) << page.name;
        EXPECT_NE(text.find(".SH \"EXIT STATUS\"\n.TP\n0\nDone"), text.npos) << page.name;
        const auto name = text.substr(text.find(".SH NAME\n") + 9);
        EXPECT_GE(std::ranges::count(name.substr(0, name.find('\n')), ' '), 4) << page.name;
    }
}

/// The part of a text from `from` up to the next `to`.
std::string between(const std::string &text, const std::string &from, const std::string &to) {
    const auto start = text.find(from);
    return start == text.npos ? "" : text.substr(start, text.find(to, start) - start);
}

TEST(Description, BashOffersEveryOption) {
    const auto script = bash_completion(describe_command_line());
    for (const auto &[command, option, help] : every_option()) {
        const auto line = between(script, "'" + command + "') echo '", "' ;;") + " ";
        EXPECT_NE(line.find(option + " "), line.npos) << command << " " << option;
    }
}

TEST(Description, ZshOffersEveryOption) {
    const auto script = zsh_completion(describe_command_line());
    for (const auto &[command, option, help] : every_option()) {
        auto function = "_" + command;
        std::ranges::replace(function, ' ', '_');
        const auto body = between(script, function + "() {", "\n}\n");
        EXPECT_NE(body.find(option + "["), body.npos) << command << " " << option;
    }
}

TEST(Description, ValuesAreTheWordsThatAreTyped) {
    OptionDescription option;
    option.values = "N|auto|mtu";
    EXPECT_EQ(option.words(), (std::vector<std::string>{"auto", "mtu"}));
    option.values = "ADDR[:PORT]";
    EXPECT_EQ(option.words(), std::vector<std::string>{});
}

} // namespace
} // namespace olaf::test::description_test
