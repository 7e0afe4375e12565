// SPDX-License-Identifier: BSD-2-Clause
// What people write for the command: read strictly, without root.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "loader/cli/cli.hpp"
#include "loader/cli/help.hpp"
#include "loader/datapath/config.hpp"
#include "loader/text/address.hpp"
#include "loader/text/units.hpp"

namespace olaf::test::cli_test {
namespace {

using namespace olaf;

std::variant<CommandLine, Farewell> parse(std::initializer_list<const char *> words) {
    std::vector<const char *> argv{"olaf"};
    argv.insert(argv.end(), words);
    return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

template <class Options> Options good(std::initializer_list<const char *> words) {
    auto parsed = parse(words);
    auto *line = std::get_if<CommandLine>(&parsed);
    if (line == nullptr) {
        ADD_FAILURE() << std::get<Farewell>(parsed).text;
        return {};
    }
    return std::get<Options>(line->command);
}

/// Status 2 and a text that names the trouble.
void expect_usage(std::initializer_list<const char *> words, const std::string &trouble) {
    const auto parsed = parse(words);
    const auto *farewell = std::get_if<Farewell>(&parsed);
    ASSERT_NE(farewell, nullptr);
    EXPECT_EQ(farewell->status, 2);
    EXPECT_NE(farewell->text.find(trouble), std::string::npos) << farewell->text;
    EXPECT_TRUE(farewell->text.starts_with("olaf: ")) << farewell->text;
    EXPECT_EQ(std::ranges::count(farewell->text, '\n'), 1) << farewell->text;
    for (const auto *parsers : {"Requires at", "At least 1", "Could not", "required"})
        EXPECT_EQ(farewell->text.find(parsers), std::string::npos) << farewell->text;
}

TEST(CommandLine, reads_attach) {
    const auto options = good<AttachOptions>(
        {"attach",      "eth0",    "--upstream",   "[2001:db8::1]:7", "--queue",
         "8",           "--rate",  "20gbit",       "--policy",        "fifo",
         "--max-lanes", "mtu",     "--mode",       "native",          "--drain-interval",
         "1ms",         "--allow", "192.0.2.0/24", "--allow",         "2001:db8::/32"});
    EXPECT_EQ(options.device, "eth0");
    EXPECT_EQ(options.upstream->port, 7);
    EXPECT_EQ(options.queue, std::optional{std::optional{8u}});
    EXPECT_EQ(options.rate->bps, 20'000'000'000u);
    EXPECT_EQ(options.policy, OLAF_POLICY_FIFO);
    ASSERT_TRUE(options.max_lanes);
    EXPECT_FALSE(*options.max_lanes);
    EXPECT_EQ(options.mode, XdpMode::native);
    EXPECT_EQ(options.drain_interval_ns, 1'000'000u);
    EXPECT_EQ(options.allow.size(), 2u);
    EXPECT_FALSE(options.port);
}

TEST(CommandLine, takes_global_options_anywhere) {
    for (auto words : {std::initializer_list<const char *>{"--netns", "n", "--json", "status", "d"},
                       {"status", "d", "--json", "--netns", "n"}}) {
        const auto parsed = parse(words);
        const auto *line = std::get_if<CommandLine>(&parsed);
        ASSERT_NE(line, nullptr);
        EXPECT_EQ(line->global.netns, "n");
        EXPECT_TRUE(line->global.json);
        EXPECT_EQ(std::get<StatusOptions>(line->command).device, "d");
    }
}

TEST(CommandLine, reads_status) {
    const auto rates =
        good<StatusOptions>({"status", "eth0", "--interval", "1s", "--count", "3", "--clusters"});
    EXPECT_EQ(rates.interval_ns, 1'000'000'000u);
    EXPECT_EQ(rates.count, 3u);
    EXPECT_TRUE(good<StatusOptions>({"status", "--all"}).all);
    expect_usage({"status", "--interval", "1s"}, "give DEV");
    expect_usage({"status", "eth0", "--count", "3"}, "--interval");
    expect_usage({"status", "eth0", "--all"}, "excludes");
}

TEST(CommandLine, takes_a_dry_run_of_a_new_queue_alone) {
    EXPECT_TRUE(good<AttachOptions>({"attach", "eth0", "--local", "--dry-run"}).dry_run);
    expect_usage({"attach", "eth0", "--local", "--dry-run", "--replace"}, "excludes");
    expect_usage({"attach", "eth0", "--local", "--dry-run", "--save"}, "excludes");
}

TEST(CommandLine, reads_cluster) {
    const auto set = good<ClusterOptions>(
        {"cluster", "set", "eth0", "3-17", "--reward-threshold", "0.5", "--max-count", "4"});
    EXPECT_EQ(set.action, ClusterOptions::Action::set);
    EXPECT_EQ(set.clusters, (Range{3, 17}));
    EXPECT_EQ(set.reward_threshold, 1 << 15);
    EXPECT_EQ(set.max_count, 4u);
    EXPECT_EQ(good<ClusterOptions>({"cluster", "remove", "eth0", "3"}).action,
              ClusterOptions::Action::remove);
    EXPECT_FALSE(good<ClusterOptions>({"cluster", "list", "eth0"}).clusters);
}

TEST(CommandLine, refuses_wrong_usage) {
    expect_usage({}, "a command is missing");
    expect_usage({"atach", "eth0"}, "there is no command 'atach'");
    expect_usage({"cluster", "frob"}, "there is no command 'frob'; olaf cluster --help");
    expect_usage({"attach", "eth0", "--local", "--frob"},
                 "there is no option '--frob'; olaf attach");
    expect_usage({"status", "eth0", "eth1"}, "'eth1' is a word too many");
    expect_usage({"attach", "--local"}, "DEV is missing");
    expect_usage({"status", "--netns"}, "--netns takes NAME");
    expect_usage({"report", "eth0"}, "--output DIR is missing");
    expect_usage({"attach", "eth0"}, "--local");
    expect_usage({"attach", "eth0", "--local", "--forward", "eth1"},
                 "only one can be given of --local, --forward DEV2");
    expect_usage({"attach", "eth0", "--local", "--port", "0"},
                 "cannot take '0': it is out of range; give 1 ... 65535");
    expect_usage({"attach", "eth0", "--local", "--port", "65536"}, "1 ... 65535");
    expect_usage({"attach", "eth0", "--local", "--rate", "20"}, "20gbit");
    expect_usage({"attach", "eth0", "--local", "--mode", "fast"}, "--mode");
    expect_usage({"attach", "eth0", "--local", "--policy", "lifo"}, "olaf, fifo");
    expect_usage({"attach", "eth0", "--local", "--drain-interval", "1us"}, "10us");
    expect_usage({"attach", "eth0", "--local", "--allow", "10.0.0.1/8"}, "must be zero");
    expect_usage({"cluster", "set", "eth0", "3"}, "--max-count");
    expect_usage({"cluster", "set", "eth0", "--policy", "fifo"}, "ID|FIRST-LAST is missing");
    expect_usage({"cluster", "set", "eth0", "3", "--max-count", "0"}, "1 ... 65535");
}

TEST(CommandLine, window_and_rate_go_together) {
    const auto options =
        good<AttachOptions>({"attach", "eth0", "--local", "--window", "8", "--rate", "1gbit"});
    EXPECT_EQ(options.window, (Window{.most = 8}));
    EXPECT_EQ(options.rate->bps, 1'000'000'000u);
    EXPECT_FALSE(good<AttachOptions>({"attach", "eth0", "--local"}).window);
    expect_usage({"attach", "eth0", "--local", "--window", "0"}, "1 ... 1024, auto or off");
}

TEST(Config, makes_room_for_fifo_only_where_it_is_wanted) {
    const auto places = [](bool fifo, olaf_policy policy) {
        return make_config({.queue_capacity = 600, .policy = policy, .fifo = fifo})->fifo_places;
    };
    EXPECT_EQ(places(false, OLAF_POLICY_OLAF), 0u);
    // A power of two that holds what waits and what leaves; no more than the ring has.
    EXPECT_EQ(places(true, OLAF_POLICY_OLAF), 1024u);
    EXPECT_EQ(places(false, OLAF_POLICY_FIFO), 1024u);
    EXPECT_EQ(make_config({.queue_capacity = 8, .policy = OLAF_POLICY_FIFO})->fifo_places, 16u);
    EXPECT_TRUE(good<AttachOptions>({"attach", "eth0", "--local", "--fifo"}).fifo);
    EXPECT_FALSE(good<AttachOptions>({"attach", "eth0", "--local"}).fifo);
}

TEST(CommandLine, replace_needs_no_delivery) {
    EXPECT_TRUE(good<AttachOptions>({"attach", "eth0", "--replace"}).replace);
}

TEST(CommandLine, help_and_version_are_no_failure) {
    for (auto words : {std::initializer_list<const char *>{"--help"},
                       {"attach", "--help"},
                       {"--version"},
                       {"-V"},
                       {"help"},
                       {"help", "cluster", "set"}}) {
        const auto parsed = parse(words);
        const auto *farewell = std::get_if<Farewell>(&parsed);
        ASSERT_NE(farewell, nullptr);
        EXPECT_EQ(farewell->status, 0);
        EXPECT_FALSE(farewell->text.empty());
    }
}

/// What `olaf WORDS --help` says.
std::string help(std::initializer_list<const char *> words) {
    const auto parsed = parse(words);
    const auto *farewell = std::get_if<Farewell>(&parsed);
    return farewell != nullptr ? farewell->text : "";
}

TEST(Help, says_the_same_either_way) {
    EXPECT_EQ(help({"help", "cluster", "set"}), help({"cluster", "set", "--help"}));
    EXPECT_EQ(help({"help"}), help({"--help"}));
    expect_usage({"help", "atach"}, "there is no command 'atach'");
}

TEST(Help, shows_what_must_be_given) {
    EXPECT_NE(help({"attach", "--help"})
                  .find("olaf attach DEV (--local | --forward DEV2 | --upstream ADDR[:PORT])"),
              std::string::npos);
    EXPECT_NE(help({"report", "--help"}).find("olaf report DEV --output DIR [OPTION]..."),
              std::string::npos);
    EXPECT_NE(help({"cluster", "set", "--help"}).find("DEV ID|FIRST-LAST RULE... [OPTION]..."),
              std::string::npos);
}

TEST(Help, has_none_of_the_parsers_own_marks) {
    for (auto words : {std::initializer_list<const char *>{"--help"},
                       {"attach", "--help"},
                       {"cluster", "set", "--help"},
                       {"send", "--help"},
                       {"serve", "--help"}})
        for (const auto *mark :
             {"{false}", "[Option Group", "REQUIRED", "Excludes", " ...\n", "Positionals", "[At "})
            EXPECT_EQ(help(words).find(mark), std::string::npos) << mark << help(words);
}

/// Words of a line as a shell parts it, where nothing is quoted.
std::vector<std::string> words_of(std::string_view line) {
    std::istringstream text{std::string(line)};
    return {std::istream_iterator<std::string>(text), {}};
}

void collect(const CLI::App &app, std::vector<std::string> &names) {
    names.push_back(full_name(app));
    for (const auto *child : app.get_subcommands([](const CLI::App *) { return true; }))
        if (!child->get_name().empty())
            collect(*child, names);
}

TEST(Help, has_examples_of_every_command_that_are_right) {
    CLI::App app;
    CommandOptions options;
    define_command_line(app, options);
    std::vector<std::string> names;
    collect(app, names);
    ASSERT_GT(names.size(), 14u);
    for (const auto &name : names) {
        EXPECT_FALSE(examples_of(name).empty()) << name;
        for (const auto &[line, meaning] : examples_of(name)) {
            std::vector<const char *> argv;
            const auto words = words_of(line);
            for (const auto &word : words)
                argv.push_back(word.c_str());
            const auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
            const auto *farewell = std::get_if<Farewell>(&parsed);
            EXPECT_TRUE(farewell == nullptr || farewell->status == 0) << line << farewell->text;
            EXPECT_FALSE(meaning.empty()) << line;
        }
    }
}

TEST(Cluster, takes_workers) {
    const auto set = good<ClusterOptions>(
        {"cluster", "set", "eth0", "3", "--worker", "0=192.0.2.1", "--worker", "1=[::1]:7"});
    ASSERT_EQ(set.workers.size(), 2u);
    EXPECT_EQ(set.workers[1], *parse_worker("1=[::1]:7"));
    expect_usage({"cluster", "set", "eth0", "3", "--worker", "1:192.0.2.1"}, "ID=ADDR");
}

TEST(Attach, takes_members_options) {
    const auto options = good<AttachOptions>({"attach", "eth0", "--local", "--strict",
                                              "--max-workers", "1000", "--member-timeout", "5s"});
    EXPECT_EQ(options.strict, true);
    EXPECT_EQ(options.max_workers, 1000u);
    EXPECT_EQ(options.member_timeout_ns, 5'000'000'000u);
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--replace", "--no-strict"}).strict, false);
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--local"}).strict, std::nullopt);
    expect_usage({"attach", "eth0", "--local", "--max-workers", "0"}, "max-workers");
    expect_usage({"attach", "eth0", "--local", "--member-timeout", "1ms"}, "member-timeout");
}

TEST(Attach, takes_verify) {
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--local", "--verify"}).verify, true);
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--replace", "--no-verify"}).verify, false);
    EXPECT_EQ(good<AttachOptions>({"attach", "eth0", "--local"}).verify, std::nullopt);
}

} // namespace
} // namespace olaf::test::cli_test
