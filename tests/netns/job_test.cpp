// SPDX-License-Identifier: BSD-2-Clause
// `olaf job` on a running queue: what it sets, refuses, shows and removes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "listening.hpp"
#include "olaf/rounds.h"
#include "rounds.hpp"

namespace olaf::test::job_test {
namespace {

using Json = nlohmann::json;

class Job : public testing::Test {
  protected:
    /// job WORD in MORE…
    Outcome job(const std::string &action, std::vector<std::string> more = {}) const {
        return bed.olaf(joined({"job", action, "in"}, more));
    }
    void must(const std::string &action, std::vector<std::string> more) const {
        const auto outcome = job(action, std::move(more));
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        EXPECT_EQ(outcome.out + outcome.err, "");
    }
    /// job set in ID --children 4 --lanes 16 MORE…
    static std::vector<std::string> setting(const std::string &id,
                                            std::vector<std::string> more = {}) {
        more.insert(more.begin(), {id, "--children", "4", "--lanes", "16"});
        return more;
    }
    void refuses(const std::string &action, std::vector<std::string> more,
                 const std::vector<std::string> &words) const {
        const auto outcome = job(action, std::move(more));
        EXPECT_EQ(outcome.status, 1) << outcome.out;
        EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
        for (const auto &word : words)
            EXPECT_TRUE(says(outcome.err, word));
    }
    [[nodiscard]] Json jobs() const { return bed.olaf.status().json.at("jobs"); }

    Testbed bed{{.way = Way::local}};
};

TEST_F(Job, IsSetShownAndRemoved) {
    bed.attach({"--round-slots", "256"});
    EXPECT_EQ(jobs(), Json::array());
    must("set", setting("7", {"--member", "2=10.0.0.1:4000", "--deadline", "5ms"}));
    const auto told = jobs();
    ASSERT_EQ(told.size(), 1u);
    const auto &one = told[0];
    EXPECT_EQ(one["job"], 7);
    EXPECT_EQ(one["role"], "root");
    EXPECT_EQ(one["state"], "syncing");
    EXPECT_EQ(one["waiting_for"], Json::parse("[0, 1, 2, 3]"));
    EXPECT_EQ(one["threshold"], 4);
    EXPECT_EQ(one["pool"], 64);
    EXPECT_EQ(one["deadline_ns"], 5'000'000);
    EXPECT_NE(one["generation"], 0);
    EXPECT_EQ(one["parent"], nullptr);
    EXPECT_EQ(one["members"], Json::parse(R"([{"rank": 2, "address": "10.0.0.1:4000",
                                               "bound": true, "silent_ns": null}])"));
    EXPECT_EQ(one["contributions"]["received"], 0);
    EXPECT_EQ(one["results"]["undelivered"], 0);
    const auto list = bed.olaf({"--json", "job", "list", "in"});
    EXPECT_EQ(Json::parse(list.out), told);
    const auto text = job("list", {"7"}).out;
    EXPECT_TRUE(says(text, "root of 4 children"));
    EXPECT_TRUE(says(text, "10.0.0.1:4000"));
    EXPECT_TRUE(says(bed.olaf({"status", "in"}).out, "job 7"));
    refuses("set", setting("7"), {"it is set already", "olaf job remove in 7 first"});
    must("remove", {"7"});
    EXPECT_EQ(jobs(), Json::array());
    refuses("remove", {"7"}, {"cannot find job 7 on in", "olaf job set sets one"});
}

TEST_F(Job, WithoutSlotsSaysHowToGetThem) {
    bed.attach();
    refuses("set", setting("7"), {"olaf detach in, then attach it with --round-slots 64"});
    EXPECT_EQ(job("list").err, "no job is set\n");
    EXPECT_EQ(bed.olaf.status().json["limits"]["round_slots"], 0);
}

TEST_F(Job, SharesTheSlotsWithOthers) {
    bed.attach({"--round-slots", "160"});
    must("set", setting("7"));
    must("set", setting("8"));
    refuses("set", setting("9"), {"32 of the queue's 160 slots are free", "--round-slots"});
    must("set", setting("9", {"--pool", "32"}));
    must("remove", {"7"});
    must("set", setting("3000000000"));
    auto told = jobs();
    ASSERT_EQ(told.size(), 3u); // by id
    EXPECT_EQ(told[0]["first_slot"], 64);
    EXPECT_EQ(told[1]["first_slot"], 128);
    EXPECT_EQ(told[2]["first_slot"], 0);
    EXPECT_EQ(told[2]["job"], 3'000'000'000);
    must("remove", {"8"});
    must("set", setting("8", {"--pool", "1"}));
    refuses("set", setting("10"), {"63 of the queue's 160 slots are free"});
}

TEST_F(Job, CanBeHaltedResumedResetAndFlushed) {
    bed.attach({"--round-slots", "64"});
    must("set", setting("7"));
    const auto generation = jobs()[0]["generation"].get<std::uint32_t>();
    must("halt", {"7"});
    EXPECT_EQ(jobs()[0]["state"], "halted");
    EXPECT_TRUE(says(bed.olaf({"status", "in"}).out, "olaf job resume in 7"));
    must("resume", {"7"});
    EXPECT_EQ(jobs()[0]["state"], "syncing");
    must("flush", {"7"});
    must("threshold", {"7", "3"});
    EXPECT_EQ(jobs()[0]["threshold"], 3);
    EXPECT_EQ(jobs()[0]["generation"], generation) << "nothing is void";
    refuses("threshold", {"7", "5"}, {"1 ... 4", "4 children"});
    must("reset", {"7"});
    const auto next = generation + 1;
    EXPECT_EQ(jobs()[0]["generation"], next != 0 ? next : 1);
    for (const auto *action : {"halt", "resume", "flush", "reset"})
        refuses(action, {"8"}, {"those that are set: 7"});
}

TEST_F(Job, SaysWhoseItIsAndWhoseItMayBe) {
    bed.attach({"--round-slots", "128"});
    must("set", setting("7"));
    must("set", setting("8", {"--run", "resnet50", "--run-number", "5"}));
    const auto training = Json(fmt::format("id:{:016x}", olaf_training_alias(olaf_training_id("resnet50", 8))));
    EXPECT_EQ(jobs()[0]["run"], nullptr);
    EXPECT_EQ(jobs()[0]["run_ranks"], Json::array());
    EXPECT_EQ(jobs()[0]["only_run"], nullptr);
    EXPECT_EQ(jobs()[1]["only_run"]["training"], training);
    EXPECT_EQ(jobs()[1]["only_run"]["number"], 5);
    EXPECT_TRUE(says(job("list", {"7"}).out, "no run has it"));
    EXPECT_TRUE(says(job("list", {"8"}).out,
                     "set for " + training.get<std::string>() + " number 5 alone"));
    must("release", {"7"});
    refuses("release", {"9"}, {"those that are set: 7, 8"});
}

TEST_F(Job, IsRefusedWhereItDoesNotFit) {
    bed.attach({"--round-slots", "64", "--max-lanes", "16"});
    refuses("set", {"7", "--children", "4", "--lanes", "17"}, {"--max-lanes 17"}); // tests/unit has more
    refuses("set", setting("7", {"--parent", "127.0.0.1", "--rank", "0", "--max-count", "8"}),
            {"the address is this host's own"});
    EXPECT_EQ(jobs(), Json::array());
    refuses("set", setting("7", {"--pool", "128"}), {"64 of the queue's 64 slots are free"});
}

TEST_F(Job, RefusesAParentThatItCouldNeverSendTo) {
    bed.attach({"--round-slots", "64"});
    const auto below = [](const std::string &parent) {
        return setting("7", {"--parent", parent, "--rank", "0", "--max-count", "8"});
    };
    bed.host.sysctl("ipv4/conf/in/forwarding", "0");
    bed.host.sysctl("ipv6/conf/in/forwarding", "0");
    refuses("set", below("10.0.0.1"),
            {"forwarding is off on in", "sysctl net.ipv4.conf.in.forwarding=1"});
    refuses("set", below("[fd00::1]"),
            {"forwarding is off on in", "sysctl net.ipv6.conf.in.forwarding=1"});
    EXPECT_EQ(jobs(), Json::array());
    bed.host.sysctl("ipv6/conf/in/forwarding", "1");
    must("set", below("[fd00::1]"));
}

TEST_F(Job, KnowsItsParent) {
    bed.attach({"--round-slots", "64"});
    bed.host.sysctl("ipv4/conf/in/forwarding", "1");
    must("set", setting("7", {"--parent", "10.0.0.1:7000", "--rank", "3", "--max-count", "8"}));
    const auto one = jobs()[0];
    EXPECT_EQ(one["role"], "node");
    EXPECT_EQ(one["max_count"], 8);
    EXPECT_EQ(
        one["parent"],
        Json::parse(R"({"address": "10.0.0.1:7000", "rank": 3, "device": null, "group": null})"));
}

TEST_F(Job, TellsWhereItsResultsGo) {
    bed.attach({"--round-slots", "128"});
    must("set", setting("7", {"--fanout", "multicast=239.1.2.3", "--group-hops", "5"}));
    must("set", setting("8"));
    EXPECT_EQ(jobs()[0]["multicast"], Json::parse(R"({"group": "239.1.2.3", "hops": 5})"));
    EXPECT_EQ(jobs()[1]["multicast"], nullptr);
    const auto text = job("list", {"7"}).out;
    EXPECT_TRUE(says(text, "results by multicast to 239.1.2.3, at most 5 hops"));
    Process top(bed.olaf.command({"--json", "top", "in", "--interval", "100ms"}));
    const auto told = interrupted_after(top, "\n{").out;
    const auto live = Json::parse(told.substr(0, told.find('\n')))["jobs"];
    EXPECT_EQ(live[0]["group"], "239.1.2.3");
    EXPECT_EQ(live[1]["group"], nullptr);
}

TEST_F(Job, StaysWhenProgramsAreReplacedAndGoesWithTheQueue) {
    bed.attach({"--round-slots", "64"});
    must("set", setting("7", {"--member", "0=10.0.0.1"}));
    const auto before = jobs();
    bed.olaf.replace();
    EXPECT_EQ(jobs(), before);
    must("halt", {"7"}); // by the new program
    EXPECT_EQ(jobs()[0]["state"], "halted");
    EXPECT_TRUE(refused(bed.olaf({"attach", "in", "--replace", "--round-slots", "128"}),
                        "--round-slots is 64 and can't become 128"));
    bed.olaf.detach();
    bed.attach({"--round-slots", "64"});
    EXPECT_EQ(jobs(), Json::array());
}

TEST_F(Job, TakesNoMemoryUntilItIsAskedFor) {
    bed.attach({"--max-lanes", "16"});
    const auto bare = bed.olaf.status().json["memory_bytes"].get<std::uint64_t>();
    bed.olaf.detach();
    bed.attach({"--max-lanes", "16", "--round-slots", "65536"});
    const auto roomy = bed.olaf.status().json["memory_bytes"].get<std::uint64_t>();
    constexpr std::uint64_t a_slot = sizeof(olaf_round_slot) + 2 * 16 * 8;
    EXPECT_GT(roomy, bare + 65536 * a_slot);
    EXPECT_LT(bare, 32u << 20);
}

TEST(JobSlots, AreUpTo65536AndUsedAgain) {
    static constexpr unsigned slots = 65'536, lanes = 16,
                              elements = 2 * (lanes - 1) * (slots + 100);
    const RoundsBed bed({.workers = 1,
                         .attach = {"--max-lanes", "16"},
                         .set = {"--pool", std::to_string(slots)},
                         .slots = slots,
                         .lanes = lanes,
                         .format = ""});
    bed.for_each_worker([](Collective &collective, unsigned) {
        std::vector<float> vector(elements);
        for (unsigned i = 0; i < elements; i++)
            vector[i] = static_cast<float>(i % 1000);
        const auto expected = vector;
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_GT(report->chunks, +slots);
        EXPECT_EQ(vector, expected);
    });
    EXPECT_EQ(bed.job().at("pool"), slots);
    EXPECT_GT(bed.job().at("chunks").at("completed"), slots);
    bed.order("remove");
}

} // namespace
} // namespace olaf::test::job_test
