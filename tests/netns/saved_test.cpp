// SPDX-License-Identifier: BSD-2-Clause
// `olaf attach --save`, and what olaf@DEV.service does with the file: a start, a reload and a stop,
// with the service's capabilities and no others.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "testbed.hpp"
#include "traces.hpp"

namespace olaf::test::saved_test {
namespace {

using Json = nlohmann::json;

/// A setting of the service.
std::string setting(const std::string &key) {
    std::ifstream unit(OLAF_SOURCE "/loader/systemd/olaf@.service.in");
    for (std::string line; std::getline(unit, line);)
        if (line.starts_with(key + "="))
            return line.substr(key.size() + (line.starts_with(key + "=-") ? 2 : 1));
    throw std::runtime_error("no " + key + " in the service");
}

/// The service's command line, as a shell takes it.
std::string service(const std::string &key) {
    auto line = setting(key);
    line = std::regex_replace(line, std::regex("@CMAKE_INSTALL_FULL_SBINDIR@/olaf"), OLAF_BINARY);
    line = std::regex_replace(line, std::regex("%I"), "in");
    std::istringstream names(setting("CapabilityBoundingSet"));
    std::string caps = "-all";
    for (std::string name; names >> name;) {
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
        caps += ",+" + name.substr(4); // behind CAP_
    }
    return "setpriv --bounding-set " + caps + " --inh-caps " + caps + " --no-new-privs " + line;
}

/// Its command that restores jobs, which is the second one behind the start.
std::string job_service() {
    return std::regex_replace(service("ExecStartPost"), std::regex("cluster restore"),
                              "job restore");
}

/// Runs a script on the host with an /etc of its own; each line `--` of its output parts it.
std::vector<std::string> parts(const Testbed &bed, const std::string &script) {
    const auto outcome = run({"unshare", "--mount", "sh", "-euc",
                              "mount -t tmpfs tmpfs /etc\nolaf=" OLAF_BINARY "\n" + script},
                             {}, &bed.host);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::vector<std::string> found(1);
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
        if (line == "--")
            found.emplace_back();
        else
            found.back() += line + "\n";
    return found;
}

/// What a person asked for, of a status.
Json asked(const std::string &text) {
    const auto status = Json::parse(text);
    Json found;
    for (const auto *key : {"mode", "policy", "port", "deliver", "rate_bps", "limits", "allow_list",
                            "strict", "verify"})
        found[key] = status.at(key);
    found["capacity"] = status.at("queue").at("capacity");
    found["window"] = status.at("window").is_null() ? Json() : status.at("window").at("auto");
    found["losses watched"] = !status.at("lost_behind").is_null();
    return found;
}

struct Case {
    const char *name;
    Way way;
    const char *given; ///< behind the delivery
    const char *saved; ///< with the delivery, and without what attach chooses by itself
};

class Saved : public testing::TestWithParam<Case> {};

TEST_P(Saved, IsAttachedAgainAsItWas) {
    const auto &[name, way, given, saved] = GetParam();
    Testbed bed{{.way = way}};
    const auto before = traces(bed.host);
    std::string delivery;
    for (const auto &word : bed.delivery())
        delivery += word + " ";
    const auto found = parts(bed, "$olaf attach in " + delivery + given +
                                      " --save >/dev/null\n"
                                      "$olaf --json status in; echo --\n"
                                      ". /etc/olaf/in.conf; echo \"$ATTACH\"; echo --\n"
                                      "$olaf detach in >/dev/null\n" +
                                      service("ExecStart") + " >/dev/null\n" +
                                      "$olaf --json status in; echo --\n" + service("ExecReload") +
                                      " >/dev/null\n"
                                      "$olaf --json status in; echo --\n"
                                      "ATTACH=; $olaf attach in --save >/dev/null\n"
                                      ". /etc/olaf/in.conf; echo \"$ATTACH\"\n" +
                                      service("ExecStop") + " >/dev/null\n");
    ASSERT_EQ(found.size(), 5u);
    EXPECT_EQ(found[1], saved + std::string("\n"));
    EXPECT_EQ(asked(found[2]), asked(found[0]));
    EXPECT_EQ(asked(found[3]), asked(found[0]));
    EXPECT_EQ(found[4], found[1]);
    EXPECT_EQ(traces(bed.host), before);
}

INSTANTIATE_TEST_SUITE_P(
    Queues, Saved,
    testing::Values(
        Case{"ByTheDefaults", Way::local, "", "--local"},
        Case{"WithNumbersThatNoUnitHas", Way::local,
             "--rate 1234567bit --drain-interval 123456789ns",
             "--local --rate 1234567bit --drain-interval 123.456789ms"},
        Case{"WithEverything", Way::local,
             "--port 7000 --queue 9 --rate 4mbit --window 8 --policy newest --fifo --max-clusters "
             "64 "
             "--max-segments 2 --max-lanes 32 --mode skb --drain-interval 1ms --activity-window 2s "
             "--allow 10.0.0.0/8 --allow fd00::/8 --max-workers 7 --member-timeout 5s --strict "
             "--no-verify",
             "--local --port 7000 --queue 9 --rate 4mbit --window 8 --policy newest --fifo "
             "--max-clusters 64 "
             "--max-segments 2 --max-lanes 32 --mode skb --drain-interval 1ms --activity-window 2s "
             "--allow 10.0.0.0/8 --allow fd00::/8 --max-workers 7 --member-timeout 5s --strict "
             "--no-verify"},
        Case{"Fifo", Way::routed, "--rate 2mbit --policy fifo",
             "--forward out --rate 2mbit --policy fifo"},
        Case{"Bridging", Way::bridged, "--window auto", "--forward out --window auto"},
        Case{"Upstream4", Way::upstream4, "--rate 1gbit", "--upstream 10.0.1.2:6523 --rate 1gbit"},
        Case{"Upstream6", Way::upstream6, "--rate unlimited",
             "--upstream [fd00:0:0:1::2]:6523 --rate unlimited"}),
    by_name);

TEST(SavedTest, ThereIsNothingToSaveWithoutAQueue) {
    Testbed bed{{.way = Way::local}};
    EXPECT_TRUE(refused(bed.olaf({"attach", "in", "--save"}), "none is attached"));
}

/// Rules and workers, but for what a fresh queue hasn't heard yet.
TEST(SavedTest, RulesAndRegisteredWorkersAreThereAgain) {
    Testbed bed{{.way = Way::local}};
    const auto found = parts(
        bed, "$olaf attach in --local --fifo --max-clusters 100 >/dev/null\n"
             "$olaf cluster set in 0-9 --policy newest --max-count 7\n"
             "$olaf cluster set in 99 --policy fifo\n"
             "$olaf cluster set in 4 --reward-threshold 0.1\n"
             "$olaf cluster set in 50-51 --worker 3=10.0.0.77 --worker 1=[fd00::77]:4000\n"
             "$olaf attach in --save >/dev/null\n"
             "$olaf --json cluster list in; echo --\n"
             "grep ^CLUSTERS= /etc/olaf/in.conf; echo --\n"
             "$olaf detach in >/dev/null\n. /etc/olaf/in.conf\n" +
                 service("ExecStart") + " >/dev/null\n" + service("ExecStartPost") +
                 "\n$olaf --json cluster list in; echo --\n"
                 "$olaf attach in --save >/dev/null; grep ^CLUSTERS= /etc/olaf/in.conf; echo --\n"
                 "echo 'CLUSTERS=\"3 --policy fifo; 4 --policy lifo\"' >/etc/olaf/in.conf\n"
                 "$olaf cluster restore in 2>&1 || echo status $?\n"
                 "echo 'ATTACH=--local' >/etc/olaf/in.conf; $olaf cluster restore in\n"
                 "rm /etc/olaf/in.conf; $olaf cluster restore in 2>&1 || echo status $?; echo --\n"
                 "$olaf --json cluster list in; $olaf detach in >/dev/null\n");
    ASSERT_EQ(found.size(), 6u);
    EXPECT_EQ(Json::parse(found[0]).size(), 13u) << found[0];
    EXPECT_EQ(found[1], "CLUSTERS=\"0-3 --policy newest --max-count 7; 4 --policy newest "
                        "--reward-threshold 0.100006103515625 --max-count 7; 5-9 --policy newest "
                        "--max-count 7; 50-51 --worker 1=[fd00::77]:4000 --worker 3=10.0.0.77; 99 "
                        "--policy fifo\"\n");
    EXPECT_EQ(Json::parse(found[2]), Json::parse(found[0]));
    EXPECT_EQ(found[3], found[1]);
    EXPECT_TRUE(says(found[4], "'4 --policy lifo' of /etc/olaf/in.conf"));
    EXPECT_TRUE(says(found[4], "cannot read /etc/olaf/in.conf: No such file"));
    EXPECT_EQ(Json::parse(found[5]), Json::parse(found[0])); // a bad file changes nothing
}

TEST(SavedTest, JobsAreThereAgain) {
    Testbed bed{{.way = Way::local}};
    bed.host.sysctl("ipv4/conf/in/forwarding", "1"); // for the parent
    const auto found = parts(
        bed, "$olaf attach in --local --max-lanes 16 --round-slots 128 >/dev/null\n"
             "$olaf job set in 8 --children 3 --lanes 16 --member 2=10.0.0.1\n"
             "$olaf job set in 7 --children 2 --lanes 9 --pool 8 --max-count 6 --parent 10.0.0.1 "
             "--rank 5\n"
             "$olaf attach in --save >/dev/null\n"
             "grep -e ^ATTACH= -e ^JOBS= /etc/olaf/in.conf; echo --\n"
             "$olaf detach in >/dev/null\n. /etc/olaf/in.conf\n" +
                 service("ExecStart") + " >/dev/null\n" + job_service() +
                 "\n$olaf attach in --save >/dev/null\n"
                 "grep -e ^ATTACH= -e ^JOBS= /etc/olaf/in.conf; echo --\n"
                 "$olaf job remove in 8; $olaf job halt in 7\n" +
                 job_service() + "\n$olaf --json job list in; $olaf detach in >/dev/null\n");
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0],
              "ATTACH=\"--local --max-lanes 16 --round-slots 128\"\n"
              "JOBS=\"7 --children 2 --lanes 9 --pool 8 --max-count 6 --parent "
              "10.0.0.1:6523 --rank 5; 8 --children 3 --lanes 16 --member 2=10.0.0.1\"\n");
    EXPECT_EQ(found[1], found[0]);
    const auto jobs = Json::parse(found[2]);
    ASSERT_EQ(jobs.size(), 2u) << found[2];
    EXPECT_EQ(jobs[0]["state"], "halted"); // it was there: nothing happened to it
    EXPECT_EQ(jobs[1]["state"], "syncing");
}

/// A job that can't be set yet keeps no other back, nor the queue; what was half done is done again.
TEST(SavedTest, WhatCannotBeSetYetIsSetByTheNextStart) {
    Testbed bed{{.way = Way::local}};
    bed.host.sysctl("ipv4/conf/in/forwarding", "1"); // for the parent
    const auto found = parts(
        bed, "mkdir /etc/olaf; echo 'ATTACH=\"--local --rate 4mbit --round-slots 128\"' >/etc/olaf/in.conf\n"
             "echo 'JOBS=\"7 --children 2 --max-count 4 --parent 10.9.0.9 --rank 0; 8 --children 2\"'"
             " >>/etc/olaf/in.conf\n. /etc/olaf/in.conf\n" +
                 service("ExecStart") + " >/dev/null\n" + job_service() +
                 " 2>&1 || echo status $?\necho --\n$olaf --json job list in; echo --\n"
                 "ip route add 10.9.0.0/16 via 10.0.0.1\n" +
                 service("ExecStart") + " >/dev/null\n" + job_service() +
                 "\n$olaf --json job list in; $olaf detach in >/dev/null\n");
    ASSERT_EQ(found.size(), 3u);
    EXPECT_TRUE(says(found[0], "cannot find a route to 10.9.0.9"));
    EXPECT_TRUE(says(found[0], "status 1"));
    EXPECT_EQ(Json::parse(found[1]).size(), 1u) << found[1];
    EXPECT_EQ(Json::parse(found[2]).size(), 2u) << found[2];
}

/// At boot a link's speed isn't known yet, and an unlimited rate is no decision to keep.
TEST(SavedTest, ALinesSpeedIsTakenOnceItIsKnown) {
    Testbed bed{{.way = Way::local}};
    const auto found =
        parts(bed, "rate() { $olaf --json status in | grep rate_bps; }\n"
                   "saved() { $olaf attach in --save >/dev/null; grep ^ATTACH= /etc/olaf/in.conf; echo --; }\n"
                   "ip tuntap add tap mode tap; ip link set tap up; ethtool -s tap speed 0\n"
                   "echo 1 >/proc/sys/net/ipv4/conf/in/forwarding; echo 1 >/proc/sys/net/ipv4/conf/tap/forwarding\n"
                   "$olaf attach in --forward tap; rate; $olaf status in; saved\n"
                   "ethtool -s tap speed 100 duplex full; $olaf attach in --replace; rate\n"
                   "ethtool -s tap speed 1000 duplex full; $olaf attach in --replace; rate; saved\n"
                   "$olaf attach in --replace --rate unlimited; $olaf attach in --replace; rate; saved\n"
                   "$olaf detach in\n");
    ASSERT_EQ(found.size(), 4u);
    EXPECT_TRUE(says(found[0], "the link speed of tap wasn't known at attach"));
    EXPECT_TRUE(says(found[0], "\"rate_bps\": null"));
    EXPECT_FALSE(says(found[0], "ATTACH=\"--forward tap --rate")) << found[0];
    EXPECT_TRUE(says(found[1], "\"rate_bps\": 100000000,"));
    EXPECT_TRUE(says(found[1], "\"rate_bps\": 1000000000,"));
    EXPECT_FALSE(says(found[1], "--rate")) << found[1];
    EXPECT_TRUE(says(found[2], "\"rate_bps\": null"));
    EXPECT_TRUE(says(found[2], "--rate unlimited"));
}

TEST(SavedTest, ABridgeWhereNothingIsRoutedIsSavedAsOne) {
    Testbed bed{{.way = Way::local}};
    const auto found =
        parts(bed, "echo 0 >/proc/sys/net/ipv4/conf/in/forwarding; echo 0 >/proc/sys/net/ipv6/conf/in/forwarding\n"
                   "ip link add out type veth peer name end; ip link set out up; ip link set end up\n"
                   "$olaf attach in --forward out 2>&1 || true; echo --\n"
                   "$olaf attach in --forward out --bridge --rate 1mbit --save >/dev/null\n"
                   ". /etc/olaf/in.conf; echo \"$ATTACH\"; $olaf detach in >/dev/null\n");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_TRUE(says(found[0], "--bridge a bridge")) << "it bridges only if it is told to";
    EXPECT_TRUE(says(found[1], "--forward out --bridge --rate 1mbit"));
}

TEST(SavedTest, SayingSoIsNotChangingIt) {
    Testbed bed{{.way = Way::local}};
    const auto outcome = bed.olaf({"attach", "in", "--save", "--rate", "1mbit"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_TRUE(says(outcome.err, "--local"));
}

/// Without CAP_SYS_ADMIN filters wouldn't be found again: they would stay, in silence.
TEST(SavedTest, FewerRightsThanItTakesAreRefused) {
    Testbed bed{{.way = Way::local}};
    bed.attach();
    const auto found =
        parts(bed, "least='setpriv --bounding-set -sys_admin --inh-caps -sys_admin'\n"
                   "$least $olaf attach in --replace 2>&1 || echo status $?\n"
                   "$least $olaf detach in 2>&1 || echo status $?\n");
    EXPECT_TRUE(says(found[0], "cannot attach to in"));
    EXPECT_TRUE(says(found[0], "cannot detach from in"));
    EXPECT_TRUE(says(found[0], "CAP_SYS_ADMIN"));
    EXPECT_EQ(bed.olaf.status().queue("length"), 0u); // it is still there
}

/// A folder that can't be written: the queue is live all the same, and it is said.
TEST(SavedTest, AFileThatCannotBeWrittenIsNamed) {
    Testbed bed{{.way = Way::local}};
    const auto found = parts(bed, "mount -o remount,ro /etc\n"
                                  "$olaf attach in --local --save 2>&1 || echo status $?\n"
                                  "$olaf detach in >/dev/null\n");
    EXPECT_TRUE(says(found[0], "/etc/olaf: Read-only file system"));
    EXPECT_TRUE(says(found[0], "status 1"));
}

} // namespace
} // namespace olaf::test::saved_test
