// SPDX-License-Identifier: BSD-2-Clause
// `olaf job` as it is typed, and what it makes of that, without a queue.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <sstream>

#include "loader/attachment/saved_jobs.hpp"
#include "loader/cli/cli.hpp"
#include "loader/datapath/config.hpp"
#include "loader/observe/jobs_text.hpp"

namespace olaf::test::job_test {
namespace {

using namespace olaf;

std::variant<CommandLine, Farewell> parse(std::initializer_list<const char *> words) {
    std::vector<const char *> argv{"olaf", "job"};
    argv.insert(argv.end(), words);
    return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

JobOptions good(std::initializer_list<const char *> words) {
    auto parsed = parse(words);
    auto *line = std::get_if<CommandLine>(&parsed);
    if (line == nullptr) {
        ADD_FAILURE() << std::get<Farewell>(parsed).text;
        return {};
    }
    return std::get<JobOptions>(line->command);
}

void expect_usage(std::initializer_list<const char *> words, const std::string &trouble) {
    const auto parsed = parse(words);
    const auto *farewell = std::get_if<Farewell>(&parsed);
    ASSERT_NE(farewell, nullptr);
    EXPECT_EQ(farewell->status, 2);
    EXPECT_NE(farewell->text.find(trouble), std::string::npos) << farewell->text;
}

Result<olaf_job_setup> setup(std::initializer_list<const char *> more) {
    std::vector<const char *> argv{"olaf", "job", "set", "eth0", "7"};
    argv.insert(argv.end(), more);
    auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
    olaf_config config{};
    config.max_lanes = 192;
    return job_setup(std::get<JobOptions>(std::get<CommandLine>(parsed).command), config);
}

void expect_refused(std::initializer_list<const char *> more, const std::string &why) {
    const auto refused = setup(more);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find(why), std::string::npos) << refused.error().message();
}

TEST(Job, IsReadFromTheCommandLine) {
    const auto set = good({"set", "eth0", "7", "--children", "4", "--lanes", "128", "--pool", "16",
                           "--threshold", "3", "--deadline", "5ms", "--format", "i16x4",
                           "--max-count", "9", "--parent", "[2001:db8::9]:7", "--rank", "2",
                           "--member", "0=192.0.2.1", "--member", "3=[::1]:9", "--no-checksum"});
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
    EXPECT_EQ(good({"flush", "eth0", "4294967294"}).job, 4294967294u);
    const auto threshold = good({"threshold", "eth0", "7", "3"});
    EXPECT_EQ(threshold.action, JobOptions::Action::threshold);
    EXPECT_EQ(threshold.threshold, 3u);
    expect_usage({"threshold", "eth0", "7"}, "H is missing");
    expect_usage({"threshold", "eth0", "7", "0"}, "cannot take '0'");
    EXPECT_EQ(good({"list", "eth0"}).job, std::nullopt);
    EXPECT_EQ(good({"list", "eth0"}).action, JobOptions::Action::list);
    EXPECT_EQ(good({"resume", "eth0", "7"}).action, JobOptions::Action::resume);
}

TEST(Job, HasAsManyLanesAsPacketsOfBothIpVersionsCarryUnlessItSaysHowMany) {
    EXPECT_EQ(good({"set", "eth0", "7", "--children", "4"}).lanes, 0u);
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
    expect_usage({"set", "eth0", "7", "--lanes", "128"}, "--children N is missing");
    expect_usage({"set", "eth0", "--children", "4", "--lanes", "128"}, "ID is missing");
    expect_usage({"set", "eth0", "7", "--children", "257", "--lanes", "8"}, "1 ... 256");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--pool", "48"},
                 "a power of two");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--pool", "131072"},
                 "a power of two");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--rank", "1"},
                 "--parent");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--parent", "192.0.2.1"},
                 "--rank");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--format", "f64"},
                 "i32x2, i16x4, i64x1, f32");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--member", "256=::1"},
                 "RANK=ADDR");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--fanout", "all"},
                 "ride or multicast=GROUP");
    for (const auto *group : {"multicast=192.0.2.1", "multicast=2001:db8::1"})
        expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--fanout", group},
                     "it isn't a multicast address");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--group-hops", "2"},
                 "--fanout");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--parent-group",
                  "239.1.2.3"},
                 "--parent");
    expect_usage({"remove", "eth0", "4294967295"}, "4294967294");
    expect_usage({"remove", "eth0"}, "ID is missing");
}

TEST(Job, HasWhatFollowsFromItsChildren) {
    const auto made = setup({"--children", "4", "--lanes", "128"});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->id, 7u);
    EXPECT_EQ(made->threshold, 4u);
    EXPECT_EQ(made->max_count, 4u);
    EXPECT_EQ(made->slots, 64u);
    EXPECT_EQ(made->pool, 6u);
    EXPECT_EQ(made->shape, OLAF_FLAG_CHECKSUM);
    EXPECT_EQ(made->parent_family, 0u);
    const auto any = setup({"--children", "2", "--lanes", "1", "--no-checksum", "--any",
                            "--threshold", "5", "--format", "i64x1", "--pool", "1"});
    ASSERT_TRUE(any);
    EXPECT_EQ(any->flags, static_cast<std::uint32_t>(OLAF_JOB_ANY));
    EXPECT_EQ(any->max_count, 5u);
    EXPECT_EQ(any->pool, 0u);
    EXPECT_EQ(any->shape, OLAF_FORMAT_I64X1 << OLAF_FLAG_FORMAT_SHIFT);
    const auto node = setup({"--children", "2", "--lanes", "8", "--max-count", "6", "--parent",
                             "192.0.2.1", "--rank", "3"});
    ASSERT_TRUE(node);
    EXPECT_EQ(node->rank, 3u);
    EXPECT_EQ(ntohs(node->parent_port_be), OLAF_DEFAULT_PORT);
    EXPECT_EQ(parent_text(*node), "192.0.2.1:6523");
}

TEST(Job, OfFloatsHasRoomForWhatTheyAreAddedAs) {
    const auto made = setup({"--children", "5", "--lanes", "96", "--format", "f32"});
    ASSERT_TRUE(made);
    EXPECT_EQ(made->shape, OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT) << "without a checksum";
    EXPECT_EQ(made->float_bits, OLAF_DEFAULT_FLOAT_BITS);
    EXPECT_EQ(made->float_headroom, 3u);
    const auto finer = setup({"--children", "1", "--lanes", "1", "--format", "f32", "--float-bits",
                              "149"});
    ASSERT_TRUE(finer);
    EXPECT_EQ(finer->float_bits, 149u);
    EXPECT_EQ(finer->float_headroom, 0u);
    const auto most = setup({"--children", "2", "--lanes", "1", "--format", "f32", "--max-count",
                             "65535"});
    ASSERT_TRUE(most);
    EXPECT_EQ(most->float_headroom, OLAF_MOST_FLOAT_HEADROOM);
    expect_refused({"--children", "4", "--lanes", "97", "--format", "f32"},
                   "give --lanes 96 at most, or olaf detach");
    expect_refused({"--children", "4", "--lanes", "97", "--format", "f32"}, "--max-lanes 194");
    expect_refused({"--children", "4", "--lanes", "577", "--format", "f32"}, "give 576 at most");
    expect_refused({"--children", "4", "--lanes", "8", "--float-bits", "30"}, "give --format f32 too");
    expect_usage({"set", "eth0", "7", "--children", "4", "--lanes", "8", "--format", "f32",
                  "--float-bits", "150"},
                 "149");
}

TEST(Job, SaysWhatDoesNotFit) {
    expect_refused({"--children", "4", "--lanes", "193"}, "--max-lanes 192");
    expect_refused({"--children", "4", "--lanes", "1"}, "--no-checksum");
    expect_refused({"--children", "4", "--lanes", "8", "--threshold", "5"}, "--any");
    expect_refused({"--children", "4", "--lanes", "8", "--max-count", "3"}, "--max-count 3 is less");
    expect_refused({"--children", "4", "--lanes", "8", "--parent", "192.0.2.1", "--rank", "0"},
                   "give --max-count");
    expect_refused({"--children", "4", "--lanes", "8", "--member", "4=192.0.2.1"},
                   "ranks are 0 ... 3");
}

TEST(Job, SendsResultsToAGroup) {
    const auto all = setup({"--children", "4", "--lanes", "8", "--fanout", "multicast=239.1.2.3"});
    ASSERT_TRUE(all);
    EXPECT_EQ(all->group_family, 4u);
    EXPECT_EQ(all->group_hops, 1u);
    EXPECT_EQ(group_text(*all), "239.1.2.3");
    EXPECT_EQ(parent_group_text(*all), "");
    const auto each = setup({"--children", "4", "--lanes", "8", "--fanout", "ride"});
    ASSERT_TRUE(each);
    EXPECT_EQ(each->group_family, 0u);
    const std::initializer_list<const char *> of_both_versions = {
        "--children", "2",         "--lanes",  "8",        "--max-count", "6",
        "--parent",   "192.0.2.1", "--rank",   "3",        "--parent-group", "ff02::7"};
    expect_refused(of_both_versions, "of the other IP version");
    expect_refused({"--children", "2", "--lanes", "8", "--max-count", "6", "--parent", "192.0.2.1",
                    "--rank", "3", "--parent-group", "239.1.2.3", "--fanout",
                    "multicast=239.1.2.3"},
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
          "7 --children 4 --lanes 64 --format f32 --float-bits 24 --pool 16",
          "7 --children 2 --lanes 8 --max-count 2 --parent 192.0.2.1:6523 --rank 3",
          "7 --children 2 --lanes 8 --fanout multicast=ff05::7 --group-hops 3",
          "7 --children 2 --lanes 8 --max-count 2 --fanout multicast=239.1.2.4 --parent "
          "192.0.2.1:6523 --rank 3 --parent-group 239.1.2.3",
          "7 --children 2 --lanes 8 --max-count 6 --parent [2001:db8::1]:9 --rank 0 "
          "--member 0=[::1]:7 --member 1=192.0.2.7"}) {
        std::vector<std::string> typed{"olaf", "job", "set", "eth0"};
        std::istringstream text(words);
        typed.insert(typed.end(), std::istream_iterator<std::string>(text), {});
        std::vector<const char *> argv;
        for (const auto &word : typed)
            argv.push_back(word.c_str());
        auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
        ASSERT_TRUE(std::holds_alternative<CommandLine>(parsed))
            << std::get<Farewell>(parsed).text;
        const auto options = std::get<JobOptions>(std::get<CommandLine>(parsed).command);
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

TEST(Attach, TakesRoundSlots) {
    auto parsed = parse_command_line(
        5, std::array{"olaf", "attach", "eth0", "--local", "--round-slots=128"}.data());
    EXPECT_EQ(std::get<AttachOptions>(std::get<CommandLine>(parsed).command).round_slots, 128u);
    EXPECT_EQ(make_config({.round_slots = 128})->round_slots, 128u);
    EXPECT_EQ(make_config({})->round_slots, 0u);
    EXPECT_FALSE(make_config({.round_slots = OLAF_MAX_ROUND_SLOTS + 1}));
}

} // namespace
} // namespace olaf::test::job_test
