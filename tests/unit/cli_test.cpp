// SPDX-License-Identifier: BSD-2-Clause
// What people write for the command: read strictly, without root.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "loader/attachment/saved.hpp"
#include "loader/cli/cli.hpp"
#include "loader/cli/help.hpp"
#include "loader/datapath/config.hpp"
#include "loader/datapath/members.hpp"
#include "loader/observe/status_text.hpp"
#include "loader/text/address.hpp"
#include "loader/text/units.hpp"

namespace olaf::test::cli_test {
namespace {

/// Of what is typed behind `olaf`. A shell parts it into words, and nothing is quoted.
std::variant<CommandLine, Farewell> parse(const std::string &typed) {
    std::istringstream text("olaf " + typed);
    const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    std::vector<const char *> argv;
    for (const auto &word : words)
        argv.push_back(word.c_str());
    return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

template <class Options> Options good(const std::string &typed) {
    auto parsed = parse(typed);
    auto *line = std::get_if<CommandLine>(&parsed);
    if (line == nullptr) {
        ADD_FAILURE() << std::get<Farewell>(parsed).text;
        return {};
    }
    return std::get<Options>(line->command);
}

/// Status 2 and a text that names the trouble.
void expect_usage(const std::string &typed, const std::string &trouble) {
    const auto parsed = parse(typed);
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
        "attach eth0 --upstream [2001:db8::1]:7 --queue 8 --rate 20gbit --policy fifo --max-lanes "
        "mtu --mode native --drain-interval 1ms --allow 192.0.2.0/24 --allow 2001:db8::/32");
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
    for (const auto *typed : {"--netns n --json status d", "status d --json --netns n"}) {
        const auto parsed = parse(typed);
        const auto *line = std::get_if<CommandLine>(&parsed);
        ASSERT_NE(line, nullptr);
        EXPECT_EQ(line->global.netns, "n");
        EXPECT_TRUE(line->global.json);
        EXPECT_EQ(std::get<StatusOptions>(line->command).device, "d");
    }
}

TEST(CommandLine, reads_status) {
    const auto rates = good<StatusOptions>("status eth0 --interval 1s --count 3 --clusters");
    EXPECT_EQ(rates.interval_ns, 1'000'000'000u);
    EXPECT_EQ(rates.count, 3u);
    EXPECT_TRUE(good<StatusOptions>("status --all").all);
    expect_usage("status --interval 1s", "give DEV");
    expect_usage("status eth0 --count 3", "--interval");
    expect_usage("status eth0 --all", "excludes");
}

TEST(CommandLine, takes_a_dry_run_of_a_new_queue_alone) {
    EXPECT_TRUE(good<AttachOptions>("attach eth0 --local --dry-run").dry_run);
    expect_usage("attach eth0 --local --dry-run --replace", "excludes");
    expect_usage("attach eth0 --local --dry-run --save", "excludes");
    expect_usage("attach eth0 --local --dry-run --or-replace", "excludes");
}

TEST(CommandLine, reads_cluster) {
    const auto set =
        good<ClusterOptions>("cluster set eth0 3-17 --reward-threshold 0.5 --max-count 4");
    EXPECT_EQ(set.action, ClusterOptions::Action::set);
    EXPECT_EQ(set.clusters, (Range{3, 17}));
    EXPECT_EQ(set.reward_threshold, 1 << 15);
    EXPECT_EQ(set.max_count, 4u);
    EXPECT_EQ(good<ClusterOptions>("cluster remove eth0 3").action, ClusterOptions::Action::remove);
    EXPECT_FALSE(good<ClusterOptions>("cluster list eth0").clusters);
}

TEST(CommandLine, refuses_wrong_usage) {
    expect_usage("", "a command is missing");
    expect_usage("atach eth0", "there is no command 'atach'");
    expect_usage("cluster frob", "there is no command 'frob'; olaf cluster --help");
    expect_usage("attach eth0 --local --frob", "there is no option '--frob'; olaf attach");
    expect_usage("status eth0 eth1", "'eth1' is a word too many");
    expect_usage("attach --local", "DEV is missing");
    expect_usage("status --netns", "--netns takes NAME");
    expect_usage("report eth0", "--output DIR is missing");
    expect_usage("attach eth0", "--local");
    expect_usage("attach eth0 --local --forward eth1",
                 "only one can be given of --local, --forward DEV2");
    expect_usage("attach eth0 --local --port 0",
                 "cannot take '0': it is out of range; give 1 ... 65535");
    expect_usage("attach eth0 --local --port 65536", "1 ... 65535");
    expect_usage("attach eth0 --local --rate 20", "20gbit");
    expect_usage("attach eth0 --local --mode fast", "--mode");
    expect_usage("attach eth0 --local --policy lifo", "olaf, fifo");
    expect_usage("attach eth0 --local --drain-interval 1us", "10us");
    expect_usage("attach eth0 --local --allow 10.0.0.1/8", "must be zero");
    expect_usage("cluster set eth0 3", "--max-count");
    expect_usage("cluster set eth0 --policy fifo", "ID|FIRST-LAST is missing");
    expect_usage("cluster set eth0 3 --max-count 0", "1 ... 65535");
}

TEST(CommandLine, window_and_rate_go_together) {
    const auto options = good<AttachOptions>("attach eth0 --local --window 8 --rate 1gbit");
    EXPECT_EQ(options.window, (Window{.most = 8}));
    EXPECT_EQ(options.rate->bps, 1'000'000'000u);
    EXPECT_FALSE(good<AttachOptions>("attach eth0 --local").window);
    expect_usage("attach eth0 --local --window 0", "1 ... 1024, auto or off");
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
    EXPECT_TRUE(good<AttachOptions>("attach eth0 --local --fifo").fifo);
    EXPECT_FALSE(good<AttachOptions>("attach eth0 --local").fifo);
}

TEST(CommandLine, replace_needs_no_delivery) {
    EXPECT_TRUE(good<AttachOptions>("attach eth0 --replace").replace);
}

TEST(CommandLine, help_and_version_are_no_failure) {
    for (const auto *typed :
         {"--help", "attach --help", "--version", "-V", "help", "help cluster set"}) {
        const auto parsed = parse(typed);
        const auto *farewell = std::get_if<Farewell>(&parsed);
        ASSERT_NE(farewell, nullptr);
        EXPECT_EQ(farewell->status, 0);
        EXPECT_FALSE(farewell->text.empty());
    }
}

/// What a call for help says.
std::string help(const std::string &typed) {
    const auto parsed = parse(typed);
    const auto *farewell = std::get_if<Farewell>(&parsed);
    return farewell != nullptr ? farewell->text : "";
}

TEST(Help, says_the_same_either_way) {
    EXPECT_EQ(help("help cluster set"), help("cluster set --help"));
    EXPECT_EQ(help("help"), help("--help"));
    expect_usage("help atach", "there is no command 'atach'");
}

TEST(Help, shows_what_must_be_given) {
    EXPECT_NE(help("attach --help")
                  .find("olaf attach DEV (--local | --forward DEV2 | --upstream ADDR[:PORT])"),
              std::string::npos);
    EXPECT_NE(help("report --help").find("olaf report DEV --output DIR [OPTION]..."),
              std::string::npos);
    EXPECT_NE(help("cluster set --help").find("DEV ID|FIRST-LAST RULE... [OPTION]..."),
              std::string::npos);
}

TEST(Help, has_none_of_the_parsers_own_marks) {
    for (const auto *typed :
         {"--help", "attach --help", "cluster set --help", "send --help", "serve --help"})
        for (const auto *mark :
             {"{false}", "[Option Group", "REQUIRED", "Excludes", " ...\n", "Positionals", "[At "})
            EXPECT_EQ(help(typed).find(mark), std::string::npos) << mark << help(typed);
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
            ASSERT_TRUE(line.starts_with("olaf ")) << line;
            auto words = std::string(line.substr(5));
            std::erase(words, '\''); // which the shell takes off
            const auto parsed = parse(words);
            const auto *farewell = std::get_if<Farewell>(&parsed);
            EXPECT_TRUE(farewell == nullptr || farewell->status == 0) << line << farewell->text;
            EXPECT_FALSE(meaning.empty()) << line;
        }
    }
}

TEST(Cluster, takes_workers) {
    const auto set =
        good<ClusterOptions>("cluster set eth0 3 --worker 0=192.0.2.1 --worker 1=[::1]:7");
    ASSERT_EQ(set.workers.size(), 2u);
    EXPECT_EQ(set.workers[1], *parse_worker("1=[::1]:7"));
    expect_usage("cluster set eth0 3 --worker 1:192.0.2.1", "ID=ADDR");
}

TEST(Attach, takes_members_options) {
    const auto options =
        good<AttachOptions>("attach eth0 --local --strict --max-workers 1000 --member-timeout 5s");
    EXPECT_EQ(options.strict, true);
    EXPECT_EQ(options.max_workers, 1000u);
    EXPECT_EQ(options.member_timeout_ns, 5'000'000'000u);
    EXPECT_EQ(good<AttachOptions>("attach eth0 --replace --no-strict").strict, false);
    EXPECT_EQ(good<AttachOptions>("attach eth0 --local").strict, std::nullopt);
    expect_usage("attach eth0 --local --max-workers 0", "max-workers");
    expect_usage("attach eth0 --local --member-timeout 1ms", "member-timeout");
}

TEST(Attach, takes_verify) {
    EXPECT_EQ(good<AttachOptions>("attach eth0 --local --verify").verify, true);
    EXPECT_EQ(good<AttachOptions>("attach eth0 --replace --no-verify").verify, false);
    EXPECT_EQ(good<AttachOptions>("attach eth0 --local").verify, std::nullopt);
}

TEST(SendOptions, AreRead) {
    const auto options = good<SendOptions>(
        "send 10.0.0.1:7 -6 --clusters 3 --workers 4 --rate 2mbit --lanes 9 --lag 5 --format i16x4 "
        "--for 2s --updates 77 --patience 1s --first-cluster 8 --first-worker 2");
    EXPECT_EQ(options.server, "10.0.0.1:7");
    EXPECT_EQ(options.family, 6);
    EXPECT_EQ(options.clusters, 3u);
    EXPECT_EQ(options.workers, 4u);
    EXPECT_EQ(options.first_cluster, 8u);
    EXPECT_EQ(options.first_worker, 2u);
    EXPECT_EQ(options.rate.bps, 2'000'000u);
    EXPECT_EQ(options.lanes, 9u);
    EXPECT_EQ(options.lag, 5u);
    EXPECT_EQ(options.format, "i16x4");
    EXPECT_EQ(options.for_ns, 2'000'000'000u);
    EXPECT_EQ(options.updates, 77u);
    EXPECT_EQ(options.patience_ns, 1'000'000'000u);
    EXPECT_EQ(good<SendOptions>("send h --rate unlimited").rate.bps, 0u);
}

TEST(SendOptions, AreRefusedWhereTheyMeanNothing) {
    expect_usage("send", "ADDR[:PORT] is missing");
    expect_usage("send h --rate line", "unlimited");
    expect_usage("send h --format f32x2", "i32x2, i16x4, i64x1");
    expect_usage("send h --lanes 1", "2 ... 1152");
    expect_usage("send h -4 -6", "--ipv4");
    expect_usage("send h --clusters 0", "1 ... ");
}

TEST(ReceiveOptions, AreRead) {
    const auto options = good<ReceiveOptions>(
        "receive --bind ::1 --port 7 --idle 1s --for 2s --mtu 9000 --max-clusters 5");
    EXPECT_EQ(options.bind, "::1");
    EXPECT_EQ(options.port, 7u);
    EXPECT_EQ(options.idle_ns, 1'000'000'000u);
    EXPECT_EQ(options.for_ns, 2'000'000'000u);
    EXPECT_EQ(options.mtu, 9000u);
    EXPECT_EQ(options.max_clusters, 5u);
    expect_usage("receive --port 0", "1 ... 65535");
}

// `olaf job` as it is typed, and what it makes of that, without a queue.

/// `olaf job set` of a job of four, and more words.
std::string set_job(const std::string &more) {
    return "job set eth0 7 --children 4 --lanes 8 " + more;
}

Result<olaf_job_setup> setup(const std::string &more) {
    olaf_config config{};
    config.max_lanes = 192;
    return job_setup(good<JobOptions>("job set eth0 7 " + more), config);
}

void expect_refused(const std::string &more, const std::string &why) {
    const auto refused = setup(more);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find(why), std::string::npos) << refused.error().message();
}

TEST(Job, IsReadFromTheCommandLine) {
    const auto set =
        good<JobOptions>("job set eth0 7 --children 4 --lanes 128 --pool 16 --threshold 3 "
                         "--deadline 5ms --format i16x4 --max-count 9 --parent [2001:db8::9]:7 "
                         "--rank 2 --member 0=192.0.2.1 --member 3=[::1]:9 --no-checksum");
    EXPECT_EQ(set.action, JobOptions::Action::set);
    EXPECT_EQ(set.device, "eth0");
    EXPECT_EQ(set.job, 7u);
    EXPECT_EQ(set.pool, 16u);
    EXPECT_EQ(set.deadline_ns, 5'000'000u);
    EXPECT_EQ(set.format, OLAF_FORMAT_I16X4);
    EXPECT_EQ(set.parent->port, 7);
    EXPECT_EQ(set.rank, 2u);
    EXPECT_FALSE(set.checksum);
    EXPECT_FALSE(set.any);
    ASSERT_EQ(set.members.size(), 2u);
    EXPECT_EQ(set.members[1].port, 9);
    EXPECT_EQ(good<JobOptions>("job flush eth0 4294967294").job, 4294967294u);
    const auto threshold = good<JobOptions>("job threshold eth0 7 3");
    EXPECT_EQ(threshold.action, JobOptions::Action::threshold);
    EXPECT_EQ(threshold.threshold, 3u);
    expect_usage("job threshold eth0 7", "H is missing");
    expect_usage("job threshold eth0 7 0", "cannot take '0'");
    EXPECT_EQ(good<JobOptions>("job list eth0").job, std::nullopt);
    EXPECT_EQ(good<JobOptions>("job list eth0").action, JobOptions::Action::list);
    EXPECT_EQ(good<JobOptions>("job resume eth0 7").action, JobOptions::Action::resume);
    EXPECT_EQ(good<JobOptions>("job release eth0 7").action, JobOptions::Action::release);
}

TEST(Job, IsSetForATrainingByItsNameOrItsAlias) {
    const auto named = good<JobOptions>("job set eth0 7 --children 4 --run resnet50 --run-number 18446744073709551615");
    EXPECT_EQ(named.training, olaf_training_alias(olaf_training_id("resnet50", 8)));
    EXPECT_EQ(named.run_number, UINT64_MAX);
    EXPECT_EQ(good<JobOptions>("job set eth0 7 --children 4 --run id:00000000000012ab").training, 0x12abu);
    EXPECT_EQ(setup("--children 4 --lanes 64 --run resnet50")->run.training, named.training);
    for (const auto *wrong : {"--run id:", "--run id:12xy", "--run id:0", "--run id:12345678123456789"})
        expect_usage(std::string("job set eth0 7 --children 4 ") + wrong, "16 hexadecimal digits");
    for (const auto *wrong : {"--run a --run-number 0", "--run a --run-number 5x"})
        expect_usage(std::string("job set eth0 7 --children 4 ") + wrong, "give a whole number");
    expect_usage("job set eth0 7 --children 4 --run-number 5", "--run");
}

TEST(Job, HasAsManyLanesAsPacketsOfBothIpVersionsCarryUnlessItSaysHowMany) {
    EXPECT_EQ(good<JobOptions>("job set eth0 7 --children 4").lanes, 0u);
    olaf_config config{};
    config.max_lanes = OLAF_MAX_LANES;
    EXPECT_EQ(usual_job_lanes(1500, OLAF_FORMAT_I32X2, config), 175u);
    EXPECT_EQ(usual_job_lanes(9000, OLAF_FORMAT_I32X2, config), 1113u);
    EXPECT_EQ(usual_job_lanes(65535, OLAF_FORMAT_I32X2, config), OLAF_MAX_LANES + 0u);
    EXPECT_EQ(usual_job_lanes(9000, OLAF_FORMAT_F32X2, config), OLAF_MAX_LANES / 2u);
    config.max_lanes = 192;
    EXPECT_EQ(usual_job_lanes(9000, OLAF_FORMAT_I32X2, config), 192u);
    EXPECT_EQ(usual_job_lanes(9000, OLAF_FORMAT_F32X2, config), 96u);
    EXPECT_EQ(usual_job_lanes(60, OLAF_FORMAT_I32X2, config), 0u);
}

TEST(Job, RefusesWrongUsage) {
    expect_usage("job set eth0 7 --lanes 128", "--children N is missing");
    expect_usage("job set eth0 --children 4 --lanes 128", "ID is missing");
    expect_usage("job set eth0 7 --children 257 --lanes 8", "1 ... 256");
    expect_usage(set_job("--pool 48"), "a power of two");
    expect_usage(set_job("--pool 131072"), "a power of two");
    expect_usage(set_job("--rank 1"), "--parent");
    expect_usage(set_job("--parent 192.0.2.1"), "--rank");
    expect_usage(set_job("--format f64"), "i32x2, i16x4, i64x1, f32");
    expect_usage(set_job("--member 256=::1"), "RANK=ADDR");
    expect_usage(set_job("--fanout all"), "ride or multicast=GROUP");
    for (const auto *group : {"multicast=192.0.2.1", "multicast=2001:db8::1"})
        expect_usage(set_job(std::string("--fanout ") + group), "it isn't a multicast address");
    expect_usage(set_job("--group-hops 2"), "--fanout");
    expect_usage(set_job("--parent-group 239.1.2.3"), "--parent");
    expect_usage("job remove eth0 4294967295", "4294967294");
    expect_usage("job remove eth0", "ID is missing");
}

TEST(Job, HasWhatFollowsFromItsChildren) {
    const auto made = setup("--children 4 --lanes 128");
    ASSERT_TRUE(made);
    EXPECT_EQ(made->id, 7u);
    EXPECT_EQ(made->threshold, 4u);
    EXPECT_EQ(made->max_count, 4u);
    EXPECT_EQ(made->slots, 64u);
    EXPECT_EQ(made->pool, 6u);
    EXPECT_EQ(made->shape, OLAF_FLAG_CHECKSUM);
    EXPECT_EQ(made->parent_family, 0u);
    const auto any =
        setup("--children 2 --lanes 1 --no-checksum --any --threshold 5 --format i64x1 --pool 1");
    ASSERT_TRUE(any);
    EXPECT_EQ(any->flags, static_cast<std::uint32_t>(OLAF_JOB_ANY));
    EXPECT_EQ(any->max_count, 5u);
    EXPECT_EQ(any->pool, 0u);
    EXPECT_EQ(any->shape, OLAF_FORMAT_I64X1 << OLAF_FLAG_FORMAT_SHIFT);
    const auto node = setup("--children 2 --lanes 8 --max-count 6 --parent 192.0.2.1 --rank 3");
    ASSERT_TRUE(node);
    EXPECT_EQ(node->rank, 3u);
    EXPECT_EQ(ntohs(node->parent_port_be), OLAF_DEFAULT_PORT);
    EXPECT_EQ(parent_text(*node), "192.0.2.1:6523");
}

TEST(Job, OfFloatsHasRoomForWhatTheyAreAddedAs) {
    const auto made = setup("--children 5 --lanes 96 --format f32");
    ASSERT_TRUE(made);
    EXPECT_EQ(made->shape, OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT) << "without a checksum";
    EXPECT_EQ(made->float_bits, OLAF_DEFAULT_FLOAT_BITS);
    EXPECT_EQ(made->float_headroom, 3u);
    const auto finer = setup("--children 1 --lanes 1 --format f32 --float-bits 149");
    ASSERT_TRUE(finer);
    EXPECT_EQ(finer->float_bits, 149u);
    EXPECT_EQ(finer->float_headroom, 0u);
    const auto most = setup("--children 2 --lanes 1 --format f32 --max-count 65535");
    ASSERT_TRUE(most);
    EXPECT_EQ(most->float_headroom, OLAF_MOST_FLOAT_HEADROOM);
    expect_refused("--children 4 --lanes 97 --format f32",
                   "give --lanes 96 at most, or olaf detach");
    expect_refused("--children 4 --lanes 97 --format f32", "--max-lanes 194");
    expect_refused("--children 4 --lanes 577 --format f32", "give 576 at most");
    expect_refused("--children 4 --lanes 8 --float-bits 30", "give --format f32 too");
    expect_usage(set_job("--format f32 --float-bits 150"), "149");
}

TEST(Job, SaysWhatDoesNotFit) {
    expect_refused("--children 4 --lanes 193", "--max-lanes 192");
    expect_refused("--children 4 --lanes 1", "--no-checksum");
    expect_refused("--children 4 --lanes 8 --threshold 5", "--any");
    expect_refused("--children 4 --lanes 8 --max-count 3", "--max-count 3 is less");
    expect_refused("--children 4 --lanes 8 --parent 192.0.2.1 --rank 0", "give --max-count");
    expect_refused("--children 4 --lanes 8 --member 4=192.0.2.1", "ranks are 0 ... 3");
}

TEST(Job, SendsResultsToAGroup) {
    const auto all = setup("--children 4 --lanes 8 --fanout multicast=239.1.2.3");
    ASSERT_TRUE(all);
    EXPECT_EQ(all->group_family, 4u);
    EXPECT_EQ(all->group_hops, 1u);
    EXPECT_EQ(group_text(*all), "239.1.2.3");
    EXPECT_EQ(parent_group_text(*all), "");
    const auto each = setup("--children 4 --lanes 8 --fanout ride");
    ASSERT_TRUE(each);
    EXPECT_EQ(each->group_family, 0u);
    const std::string node = "--children 2 --lanes 8 --max-count 6 --parent 192.0.2.1 --rank 3 ";
    expect_refused(node + "--parent-group ff02::7", "of the other IP version");
    expect_refused(node + "--parent-group 239.1.2.3 --fanout multicast=239.1.2.3",
                   "a group of its own");
}

TEST(Job, GetsTheFirstSlotsInARow) {
    EXPECT_EQ(first_fit({}, 64, 63), std::nullopt);
    EXPECT_EQ(first_fit({}, 64, 64), 0u);
    EXPECT_EQ(first_fit({{64, 64}, {0, 64}}, 64, 192), 128u);
    EXPECT_EQ(first_fit({{64, 64}, {0, 64}}, 64, 191), std::nullopt);
    EXPECT_EQ(first_fit({{16, 16}, {48, 16}}, 16, 64), 0u);
    EXPECT_EQ(first_fit({{0, 16}, {48, 16}}, 32, 64), 16u);
    EXPECT_EQ(first_fit({{0, 16}, {40, 16}}, 32, 64), std::nullopt); // free, but not in a row
}

TEST(Job, NamesRanksInARowTogether) {
    EXPECT_EQ(ranks_text({}), "");
    EXPECT_EQ(ranks_text({3}), "3");
    EXPECT_EQ(ranks_text({0, 1, 4, 5, 6, 7, 9}), "0, 1, 4 ... 7, 9");
}

/// What is saved of it makes it again.
TEST(Job, IsSavedAsItIsTyped) {
    for (const auto *words :
         {"7 --children 4 --lanes 128",
          "7 --children 4 --lanes 1 --format i64x1 --no-checksum --pool 16 --threshold 3 "
          "--deadline 5000000ns",
          "7 --children 2 --lanes 8 --threshold 5 --any --max-count 9",
          "7 --children 4 --lanes 64 --format f32",
          "7 --children 4 --lanes 64 --run id:00000000000012ab",
          "7 --children 4 --lanes 64 --run id:ffffffff000012ab --run-number 18446744073709551615",
          "7 --children 4 --lanes 64 --format f32 --float-bits 24 --pool 16",
          "7 --children 2 --lanes 8 --max-count 2 --parent 192.0.2.1:6523 --rank 3",
          "7 --children 2 --lanes 8 --fanout multicast=ff05::7 --group-hops 3",
          "7 --children 2 --lanes 8 --max-count 2 --fanout multicast=239.1.2.4 --parent "
          "192.0.2.1:6523 --rank 3 --parent-group 239.1.2.3",
          "7 --children 2 --lanes 8 --max-count 6 --parent [2001:db8::1]:9 --rank 0 "
          "--member 0=[::1]:7 --member 1=192.0.2.7"}) {
        const auto options = good<JobOptions>(std::string("job set eth0 ") + words);
        olaf_config config{};
        config.max_lanes = 192;
        JobReading job;
        job.job.setup = *job_setup(options, config);
        for (const auto &member : options.members) {
            const auto bound = binding_of(0, member);
            auto &known = job.members.emplace_back();
            known.worker = bound.rank;
            known.member.family = static_cast<std::uint8_t>(bound.family);
            std::ranges::copy(bound.addr_be, known.member.addr_be);
            known.member.port_be = htons(4000);
            known.member.flags = OLAF_MEMBER_REGISTERED;
            if (bound.port_be != 0) {
                known.member.port_be = bound.port_be;
                known.member.flags |= OLAF_MEMBER_PORT_BOUND;
            }
        }
        EXPECT_EQ(job_words(job), words);
    }
}

/// A worker's SETH isn't the operator's wish.
TEST(Job, IsSavedWithTheThresholdThatItWasSetWith) {
    const auto saved = [](std::uint32_t set, std::uint32_t holds) {
        olaf_config config{};
        config.max_lanes = 192;
        JobReading job;
        job.job.setup = *job_setup(good<JobOptions>("job set eth0 7 --children 4 --lanes 8 --threshold " + std::to_string(set)), config);
        job.job.setup.threshold = holds;
        return job_words(job);
    };
    EXPECT_EQ(saved(3, 1), "7 --children 4 --lanes 8 --threshold 3");
    EXPECT_EQ(saved(4, 1), "7 --children 4 --lanes 8");
}

TEST(Attach, TakesRoundSlots) {
    EXPECT_EQ(good<AttachOptions>("attach eth0 --local --round-slots=128").round_slots, 128u);
    EXPECT_EQ(make_config({.round_slots = 128})->round_slots, 128u);
    EXPECT_EQ(make_config({})->round_slots, 0u);
    EXPECT_FALSE(make_config({.round_slots = OLAF_MAX_ROUND_SLOTS + 1}));
}

// Rates, times, ranges and addresses as people write them: read strictly.

TEST(Rate, reads_units) {
    EXPECT_EQ(parse_rate("20gbit")->bps, 20'000'000'000u);
    EXPECT_EQ(parse_rate("10kbit")->bps, 10'000u);
    EXPECT_EQ(parse_rate("1.5Mbit")->bps, 1'500'000u);
    EXPECT_EQ(parse_rate("unlimited")->bps, 0u);
    EXPECT_TRUE(parse_rate("line")->line);
}

TEST(Rate, refuses_everything_else) {
    for (const auto *text : {"", "20", "gbit", "-1gbit", "1..5mbit", "1e9bit", "20 gbit", "20gbits",
                             "0mbit", "1bit", "2tbit", "nan", "0x10mbit", "20gbit "})
        EXPECT_FALSE(parse_rate(text)) << text;
}

TEST(Rate, is_written_as_it_is_read) {
    for (const auto *text : {"20gbit", "10kbit", "1.5mbit", "unlimited"})
        EXPECT_EQ(rate_text(parse_rate(text)->bps), text);
}

TEST(Duration, reads_units) {
    EXPECT_EQ(*parse_duration("100us"), 100'000u);
    EXPECT_EQ(*parse_duration("1.5ms"), 1'500'000u);
    EXPECT_EQ(*parse_duration("1s"), 1'000'000'000u);
    for (const auto *text : {"", "100", "us", "-1us", "1m", "0us", "1us1"})
        EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Range, reads_one_and_many) {
    EXPECT_EQ(*parse_range("3"), (Range{3, 3}));
    EXPECT_EQ(*parse_range("3-17"), (Range{3, 17}));
    for (const auto *text : {"", "-", "3-", "-3", "17-3", "3-4-5", "a", "3 ", "4294967295"})
        EXPECT_FALSE(parse_range(text)) << text;
}

TEST(Reward, is_fixed_point) {
    EXPECT_EQ(*parse_reward("0.5"), 1 << 15);
    EXPECT_EQ(*parse_reward("0"), 0);
    EXPECT_EQ(*parse_reward("off"), -1);
    for (const auto *text : {"", "-1", "on", "nan", "inf", "2147483648", "0.5x"})
        EXPECT_FALSE(parse_reward(text)) << text;
}

TEST(Endpoint, reads_both_families) {
    EXPECT_EQ(parse_endpoint("192.0.2.1")->port, OLAF_DEFAULT_PORT);
    EXPECT_EQ(endpoint_text(*parse_endpoint("192.0.2.1:7")), "192.0.2.1:7");
    EXPECT_EQ(endpoint_text(*parse_endpoint("2001:db8::1")), "[2001:db8::1]:6523");
    EXPECT_EQ(endpoint_text(*parse_endpoint("[2001:db8::1]:7")), "[2001:db8::1]:7");
    for (const auto *text :
         {"", "192.0.2", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "[192.0.2.1]:7",
          "[2001:db8::1", "[2001:db8::1]7", "[2001:db8::1]:", "host", "host:7"})
        EXPECT_FALSE(parse_endpoint(text)) << text;
}

TEST(Prefix, maps_ipv4) {
    const auto v4 = parse_prefix("192.0.2.0/24");
    ASSERT_TRUE(v4);
    EXPECT_EQ(v4->prefix_bits, 96u + 24u);
    EXPECT_EQ(v4->address[10], 0xff);
    EXPECT_EQ(v4->address[12], 192);
    EXPECT_EQ(parse_prefix("2001:db8::/32")->prefix_bits, 32u);
    EXPECT_EQ(parse_prefix("0.0.0.0/0")->prefix_bits, 96u);
    for (const auto *text : {"192.0.2.0/24", "192.0.2.1/32", "2001:db8::/32", "::/0"})
        EXPECT_EQ(prefix_text(*parse_prefix(text)), text);
    for (const auto *text : {"", "/24", "192.0.2.0/33", "192.0.2.1/24", "2001:db8::1/32",
                             "192.0.2.0/", "192.0.2.0/-1", "::/129"})
        EXPECT_FALSE(parse_prefix(text)) << text;
}

TEST(Units, reads_windows) {
    EXPECT_EQ(*parse_window("1"), (Window{.most = 1}));
    EXPECT_EQ(*parse_window("1024"), (Window{.most = 1024}));
    EXPECT_EQ(*parse_window("auto"), (Window{.automatic = true, .most = 1024}));
    EXPECT_EQ(*parse_window("off"), Window{});
    for (const auto *text : {"", "0", "1025", "-1", "8k", "automatic", "on"})
        EXPECT_FALSE(parse_window(text)) << text;
    for (const auto *text : {"1", "1024", "auto", "off"})
        EXPECT_EQ(window_text(*parse_window(text)), text);
}

TEST(Worker, reads_an_id_and_an_address) {
    const auto port = [](const char *text) { return parse_worker(text)->port; };
    EXPECT_EQ(*parse_worker("3=192.0.2.1"),
              (WorkerAddress{.worker = 3, .address = *parse_address("192.0.2.1"), .port = 0}));
    EXPECT_EQ(parse_worker("4294967294=2001:db8::1")->worker, 0xfffffffeu);
    EXPECT_EQ(port("0=192.0.2.1:40000"), 40000);
    EXPECT_EQ(port("0=192.0.2.1:6523"), 6523);
    EXPECT_EQ(port("0=2001:db8::1"), 0);
    EXPECT_EQ(port("0=[2001:db8::1]"), 0);
    EXPECT_EQ(port("0=[2001:db8::1]:7"), 7);
}

TEST(Worker, refuses_everything_else) {
    for (const auto *text : {"", "3", "=192.0.2.1", "3=", "x=192.0.2.1", "-1=192.0.2.1",
                             "4294967295=192.0.2.1", "3=192.0.2.1:", "3=192.0.2.1:0", "3=host",
                             "3=192.0.2.1:70000", "3 =192.0.2.1", "3=[192.0.2.1]:7"})
        EXPECT_FALSE(parse_worker(text)) << text;
}

} // namespace
} // namespace olaf::test::cli_test
