// SPDX-License-Identifier: BSD-2-Clause
// A node whose parent is behind another device: sums, what it leaves behind, and a way to the
// parent that is in trouble.
#include <gtest/gtest.h>

#include <climits>
#include <memory>
#include <thread>

#include "losing.hpp"
#include "two_armed.hpp"

namespace olaf::test::rounds_two_armed_test {
namespace {

struct Setting {
    const char *name;
    int family;
    const char *mode;
    unsigned loss; ///< of a hundred frames, each way, on both links
};

class RoundsTwoArmed : public testing::TestWithParam<Setting> {};

TEST_P(RoundsTwoArmed, GiveEveryWorkerTheExactSum) {
    const auto [name, family, mode, loss] = GetParam();
    constexpr unsigned chunks = TwoArmed::chunks;
    const unsigned rounds = loss == 1 ? 60 : loss == 5 ? 12 : 6; // so that sums are lost, too
    TwoArmed node(family, mode);
    node.attach();
    node.set();
    std::vector<std::unique_ptr<Losing>> losing;
    for (const auto direction : {Losing::sent, Losing::received})
        for (const Netns *netns :
             std::initializer_list<const Netns *>{&node.bed.worker, &node.bed.server()})
            if (loss != 0)
                losing.push_back(std::make_unique<Losing>(*netns, "eth0", direction, loss));
    // The root answers in XDP, before any filter at its device: what goes up is lost where it
    // leaves.
    if (loss != 0)
        losing.push_back(std::make_unique<Losing>(node.bed.host, "out", Losing::sent, loss));
    node.sum(rounds);
    const auto job = node.job();
    SCOPED_TRACE(job.dump(1));
    expect_job_identities(job);
    EXPECT_EQ(job["parent"]["device"], "out");
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    EXPECT_EQ(job["up"]["sent"], rounds * chunks);
    EXPECT_EQ(job["up"]["unfit"], 0);
    if (loss != 0) {
        EXPECT_GT(job["up"]["again"], 0);
    }
    EXPECT_EQ(node.root_job()["contributions"]["added"], rounds * chunks);
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsTwoArmed,
                         testing::Values(Setting{"Ipv4Native", 4, "native", 0},
                                         Setting{"Ipv6Native", 6, "native", 0},
                                         Setting{"Ipv4Generic", 4, "skb", 0},
                                         Setting{"Ipv6Generic", 6, "skb", 0},
                                         Setting{"LosingOnePercent", 4, "native", 1},
                                         Setting{"LosingFivePercent", 4, "native", 5},
                                         Setting{"LosingTwentyPercentOverIpv6", 6, "skb", 20}),
                         [](const auto &info) { return info.param.name; });

TEST(RoundsTwoArmedAlone, AsksAgainForResultsThatAreLostOnTheirWayDown) {
    TwoArmed node;
    node.attach();
    node.set();
    // Of filters of one priority the kernel asks the newest first: before the node's own.
    const Losing losing(node.bed.host, "out", Losing::received, 20);
    node.sum(6);
    EXPECT_GT(node.job()["up"]["again"], 0);
    EXPECT_GT(node.root_job()["contributions"]["duplicate"], 0) << "these had been answered";
}

TEST(RoundsTwoArmedAlone, NothingIsLeftOnTheParentsDevice) {
    TwoArmed node;
    const auto before = traces(node.bed.host);
    node.attach();
    const auto without = traces(node.bed.host);
    node.set();
    EXPECT_NE(traces(node.bed.host), without);
    TwoArmed::must(node.bed.olaf({"job", "remove", "in", std::to_string(rounds_job)}));
    EXPECT_EQ(traces(node.bed.host), without);
    node.set();
    node.bed.olaf.detach();
    EXPECT_EQ(traces(node.bed.host), before);
}

TEST(RoundsTwoArmedAlone, AClsactThatWasThereStays) {
    TwoArmed node;
    node.bed.host.tc("qdisc add dev out clsact");
    const auto before = traces(node.bed.host);
    node.attach();
    node.set();
    node.bed.olaf.detach();
    EXPECT_EQ(traces(node.bed.host), before);
}

TEST(RoundsTwoArmedAlone, ReplaceBringsBackAFilterThatSomebodyTookAway) {
    TwoArmed node;
    node.attach();
    node.set();
    node.bed.host.tc("filter del dev out ingress");
    EXPECT_NE(node.bed.olaf({"doctor", "in"}).out.find("olaf_parent_in"), std::string::npos);
    node.bed.olaf.replace({"--local", "--round-slots", "64"});
    EXPECT_EQ(node.bed.olaf({"doctor", "in"}).out.find("olaf_parent_in"), std::string::npos);
    node.sum(3);
}

/// What the way to the parent is, until and after it is mended.
struct Trouble {
    const char *name;
    bool at_parent;            ///< the commands are for the parent's host
    const char *begins, *ends; ///< ip
    bool forgotten;            ///< and the node's host asks for the parent's MAC address anew
    const char *counter;       ///< of "up"
};

class RoundsTwoArmedInTrouble : public testing::TestWithParam<Trouble> {};

TEST_P(RoundsTwoArmedInTrouble, GoOnExactlyOnceItIsOver) {
    const auto &trouble = GetParam();
    TwoArmed node;
    node.attach();
    node.set();
    std::atomic<unsigned> last = UINT_MAX, done = 0;
    std::jthread all([&] {
        node.sum(last, &done);
        done = UINT_MAX; // also where a worker failed
        done.notify_all();
    });
    done.wait(0);
    struct Ending { // however the test ends, its workers do
        std::atomic<unsigned> &last;
        ~Ending() {
            if (last == UINT_MAX)
                last = 0;
        }
    } const ending{last};
    const Netns &where = trouble.at_parent ? node.bed.server() : node.bed.host;
    where.ip(trouble.begins);
    if (trouble.forgotten) // not by a flush, which gives up where traffic brings the entry back
        node.bed.host.ip("neighbour replace " + Testbed::server_peer(4).address +
                         " dev out nud failed\n");
    const auto counted = [&] { return node.job()["up"][trouble.counter].get<std::uint64_t>(); };
    for (const auto before = counted(); counted() < before + 5 && done != UINT_MAX;)
        std::this_thread::yield(); // each look at the status takes a while
    where.ip(trouble.ends);
    ASSERT_NE(done, UINT_MAX);
    last = done + 3;
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsTwoArmedInTrouble,
    testing::Values(Trouble{"TheParentsDeviceDown", false, "link set out down\n",
                            "link set out up\n", false, "again"},
                    Trouble{"AnMtuThatShrank", false, "link set out mtu 500\n",
                            "link set out mtu 1500\n", false, "unfit"},
                    Trouble{"ANextHopThatIsSilent", true, "link set eth0 arp off\n",
                            "link set eth0 arp on\n", true, "again"}),
    [](const auto &info) { return info.param.name; });

/// The parent's host never says which MAC address it has.
TEST(RoundsTwoArmedAlone, AParentThatNeverAnswersIsToldAndItsFirstAnswerIsEnough) {
    TwoArmed node;
    node.bed.server().ip("link set eth0 arp off\n");
    node.attach();
    node.set();
    {
        std::vector<std::jthread> threads;
        for (unsigned rank = 0; rank < TwoArmed::workers; rank++)
            threads.emplace_back([&, rank] {
                const Inside inside(node.bed.worker);
                auto options = node.options(rank);
                options.timeout = std::chrono::seconds(1);
                auto collective = Collective::make(options).value();
                const auto joined = collective.join();
                ASSERT_FALSE(joined);
                EXPECT_NE(joined.error().message().find("nothing came for"), std::string::npos)
                    << joined.error().message();
            });
    }
    node.bed.server().ip("link set eth0 arp on\n");
    node.sum(3);
}

TEST(RoundsTwoArmedGone, AnotherDeviceThatGotTheIndexKeepsItsClsact) {
    Testbed bed{{.way = Way::upstream4, .place = Place::kernel}};
    bed.olaf.attach({"--local", "--round-slots", "64"});
    TwoArmed::must(bed.olaf({"job", "set", "in", "7", "--children", "2", "--max-count", "2",
                             "--parent", Testbed::server_peer(4).address, "--rank", "0"}));
    const auto index = std::to_string(bed.host.ifindex("out"));
    bed.host.ip("link delete out\nlink add name other index " + index + " type bridge\n");
    bed.host.tc("qdisc add dev other clsact");
    const auto clsact = "qdisc clsact ffff: dev other";
    ASSERT_NE(traces(bed.host).find(clsact), std::string::npos);
    TwoArmed::must(bed.olaf({"job", "remove", "in", "7"}));
    EXPECT_NE(traces(bed.host).find(clsact), std::string::npos);
}

TEST(RoundsTwoArmedRefused, ASumThatIsLongerThanTheMtuOfTheParentsDevice) {
    TwoArmed node;
    node.attach();
    node.bed.host.ip("link set out mtu 500\n");
    const auto refused = node.try_set();
    EXPECT_NE(refused.status, 0);
    EXPECT_NE(refused.err.find("the MTU of out is 500"), std::string::npos) << refused.err;
    EXPECT_TRUE(node.bed.olaf.status().json.at("jobs").empty());
}

} // namespace
} // namespace olaf::test::rounds_two_armed_test
