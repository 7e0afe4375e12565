// SPDX-License-Identifier: BSD-2-Clause
// Nodes below nodes, with real sockets, neighbours that ask for each other, links that lose, and frames that
// overtake each other: every worker of the tree gets the exact sum of all, and the books add up.
#include <gtest/gtest.h>

#include <memory>
#include <span>

#include "rounds.hpp"
#include "traces.hpp"

namespace olaf::test::rounds_tree_test {
namespace {

constexpr unsigned chunks = 20;
constexpr std::size_t elements = elements_of(chunks);

/// Every worker sums so many vectors, exactly, and the books of all nodes are those of just these.
void sum_exactly(const RoundTree &tree, unsigned rounds) {
    tree.sum_exactly(rounds, elements);
    for (unsigned node = 0; node < tree.nodes(); node++) {
        const auto job = tree.job(node);
        SCOPED_TRACE("node " + std::to_string(node) + ": " + job.dump(1));
        expect_job_identities(job);
        EXPECT_EQ(job["role"], node == 0 ? "root" : "node");
        EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
        EXPECT_EQ(job["up"]["sent"], node == 0 ? 0 : rounds * chunks);
        EXPECT_EQ(job["contributions"]["added"], rounds * chunks * job["children"].get<unsigned>());
    }
}

using Shape = std::vector<TreeNode>;
const Shape two_below = {{0, 0}, {0, 2}, {0, 2}}, chain = {{0, 0}, {0, 0}, {1, 4}},
            everywhere = {{0, 2}, {0, 1}, {1, 2}}, star = {{0, 4}},
            branch = {{0, 1}, {0, 2}, {1, 1}};

/// A way from the switch, where frames overtake each other.
constexpr int to_workers = -1; // else the number of a node

struct Case {
    std::string name;
    Shape shape;
    unsigned loss = 0; ///< of a hundred frames, on every link each way
    std::vector<int> reordered = {};
    TreeFanout fanout = TreeFanout::ride;
};

class RoundsInTree : public testing::TestWithParam<Case> {};

TEST_P(RoundsInTree, GiveEveryWorkerTheExactSum) {
    const auto &[name, shape, loss, reordered, fanout] = GetParam();
    RoundTree tree(shape, fanout);
    if (loss != 0)
        tree.lose(loss);
    for (const int way : reordered)
        way == to_workers ? tree.reorder_to_workers()
                          : tree.reorder_to_node(static_cast<unsigned>(way));
    const bool takes_long = loss != 0 && reordered.empty() && fanout == TreeFanout::ride;
    sum_exactly(tree, takes_long ? 4 : 12);
    EXPECT_TRUE(tree.has_reordered());
    EXPECT_EQ(tree.is_wanted(0), fanout == TreeFanout::snooped);
    for (unsigned node = 0; node < tree.nodes(); node++) {
        const auto job = tree.job(node);
        SCOPED_TRACE("node " + std::to_string(node) + ": " + job.dump(1));
        if (loss == 20) { // what was lost was sent again
            EXPECT_GT(job["contributions"]["duplicate"], 0);
        }
        EXPECT_EQ(job["results"]["multicast"] != 0, fanout != TreeFanout::ride);
    }
}

// The worker whose vector differs is the only one of its node, or all other nodes have no part in what differs.
class RoundsInTreeDiffer : public testing::Test {
  protected:
    /// Each worker gives its vector, and then does that with the error that it gets.
    static void sum_different_ones(const std::vector<Shape> &shapes,
                                   const std::function<void(const JobWorkers &, Collective &, unsigned worker,
                                                            const std::string &error)> &then) {
        for (const Shape &shape : shapes)
            for (const bool last : {false, true}) {
                const RoundTree tree(shape);
                const unsigned odd = last ? tree.workers() - 1 : 0;
                std::barrier<> all(tree.workers());
                tree.for_each_worker([&](Collective &collective, unsigned worker) {
                    Together together(all);
                    together.wait(); // all have started
                    std::vector<std::int64_t> vector(worker == odd ? 100 : 101);
                    const auto told = collective.allreduce(std::span(vector));
                    ASSERT_FALSE(told);
                    EXPECT_EQ(told.error().code, 0) << "not behind a timeout: " << told.error().message();
                    then(tree, collective, worker, told.error().message());
                });
            }
    }
    static bool tells_both(const std::string &error, const JobWorkers &tree) {
        const auto workers = " int64 among " + std::to_string(tree.workers()) + " workers";
        return says(error, "the sum of 100" + workers) && says(error, "the sum of 101" + workers);
    }
};

TEST_F(RoundsInTreeDiffer, AllWorkersOfAllNodesAreToldBoth) {
    sum_different_ones({two_below, chain, everywhere, branch},
                       [](const JobWorkers &tree, Collective &, unsigned, const std::string &error) {
                           EXPECT_TRUE(tells_both(error, tree)) << error;
                       });
}

// Whoever is told first starts again before the error has got to the other nodes. Their workers have old
// vectors under way then, and none of those is in a sum of the new ones.
TEST_F(RoundsInTreeDiffer, AStartAtOnceMixesNothing) {
    sum_different_ones({two_below, everywhere}, [](const JobWorkers &tree, Collective &collective,
                                                   unsigned worker, const std::string &error) {
        EXPECT_TRUE(tells_both(error, tree) || says(error, "has begun anew")) << error;
        const auto started = collective.start();
        ASSERT_TRUE(started) << started.error().message();
        sum_round(collective, worker, tree.workers(), 0, elements);
    });
}

std::vector<Case> losing_cases() {
    std::vector<Case> cases;
    for (const auto &[name, shape] : {std::pair{"TwoNodesBelowARoot", two_below},
                                      {"AChainOfThree", chain},
                                      {"WorkersAtEveryNode", everywhere}})
        for (const unsigned loss : {1u, 5u, 20u})
            cases.push_back(
                {std::string(name) + "Losing" + std::to_string(loss) + "Percent", shape, loss});
    return cases;
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsInTree, testing::ValuesIn(losing_cases()), by_name);

INSTANTIATE_TEST_SUITE_P(
    ByMulticast, RoundsInTree,
    testing::Values(Case{"Flooded", two_below, 0, {}, TreeFanout::flooded},
                    Case{"FloodedLosing5Percent", two_below, 5, {}, TreeFanout::flooded},
                    Case{"Snooped", two_below, 0, {}, TreeFanout::snooped},
                    Case{"SnoopedLosing5Percent", two_below, 5, {}, TreeFanout::snooped}),
    by_name);

INSTANTIATE_TEST_SUITE_P(
    Reordered, RoundsInTree,
    testing::Values(
        Case{"FromAStarsWorkers", star, 0, {0}}, Case{"ToAStarsWorkers", star, 0, {to_workers}},
        Case{"BothWays", star, 0, {to_workers, 0}},
        Case{"BothWaysByMulticast", star, 0, {to_workers, 0}, TreeFanout::flooded},
        Case{"ToATreesWorkers", branch, 0, {to_workers}}, Case{"ToATreesRoot", branch, 0, {0}},
        Case{"ToANodeBetween", branch, 0, {1}}, Case{"ToALeaf", branch, 0, {2}},
        Case{"EverywhereInATree", branch, 0, {to_workers, 0, 1, 2}},
        Case{"EverywhereInATreeByMulticast", branch, 0, {to_workers, 0, 1, 2}, TreeFanout::flooded},
        Case{"EverywhereInATreeThatLoses", branch, 2, {to_workers, 0, 1, 2}}),
    by_name);

constexpr unsigned numbers[] = {1, 2, 3, 5, 8, 11, 13, 16};

/// Trees of the shape that a function gives for each of these numbers of workers, one after another.
void sum_exactly_for(std::span<const unsigned> numbers, Shape (*with)(unsigned workers)) {
    RoundTree tree(with(numbers.front()));
    for (const unsigned workers : numbers) {
        SCOPED_TRACE(std::to_string(workers) + " workers");
        tree.set_anew(with(workers));
        sum_exactly(tree, 2);
    }
}

TEST(RoundsInTreeOfAnyNumber, AChainOfThreeSumsExactlyForOneToSixteenWorkers) {
    sum_exactly_for(numbers, [](unsigned workers) { return Shape{{0, 0}, {0, 0}, {1, workers}}; });
}

// A node has one child at least.
TEST(RoundsInTreeOfAnyNumber, ATreeOfThreeSumsExactlyForTwoToSixteenWorkers) {
    sum_exactly_for(std::span(numbers).subspan(1), [](unsigned workers) {
        return Shape{{0, 0}, {0, workers - workers / 2}, {0, workers / 2}};
    });
}

struct Restart {
    const char *name;
    Shape shape;
    unsigned node; ///< is restarted
    unsigned loss; ///< of a hundred frames, on every link each way
};

class RoundsInTreeInterrupted : public testing::TestWithParam<Restart> {};

TEST_P(RoundsInTreeInterrupted, ByANodesRestartGoOnWithExactSums) {
    RoundTree tree(GetParam().shape);
    tree.lose(GetParam().loss);
    const unsigned rounds = GetParam().loss == 0 ? 10 : 1; // with loss each takes long
    EndlessSums sums(tree, elements);
    sums.await_more(rounds);
    tree.stop(GetParam().node);
    tree.start(GetParam().node);
    EXPECT_TRUE(sums.running());
    sums.stop(rounds);
}

const Shape two_leaves = {{0, 1}, {0, 2}, {0, 1}};

INSTANTIATE_TEST_SUITE_P(Of, RoundsInTreeInterrupted,
                         testing::Values(Restart{"TheRoot", two_leaves, 0, 0},
                                         Restart{"ALeaf", two_leaves, 1, 0},
                                         Restart{"TheMiddleOfAChain", chain, 1, 0},
                                         Restart{"TheMiddleOfAChainWhileLinksLose", chain, 1, 5}),
                         by_name);

// ---- a node whose parent is behind another device than its workers ----

struct Below {
    const char *name;
    JobSetting setting = {};
    unsigned rounds = 6;
    const char *mode = "native";
};

NodeBelowRoot node_of(const Below &below) {
    auto setting = below.setting;
    setting.attach = {"--mode", below.mode};
    return NodeBelowRoot(setting);
}

/// Every worker sums so many vectors, exactly, and one contribution for each chunk has got to the root.
void sum_exactly(const NodeBelowRoot &node, unsigned rounds) {
    node.sum_exactly(rounds, elements);
    const auto job = node.job(), root = node.root_job();
    SCOPED_TRACE(job.dump(1) + root.dump(1));
    expect_job_identities(job);
    expect_job_identities(root);
    EXPECT_EQ(job["role"], "node");
    EXPECT_EQ(job["parent"]["device"], "out");
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    EXPECT_EQ(job["contributions"]["added"], rounds * chunks * node.workers());
    EXPECT_EQ(job["up"]["sent"], rounds * chunks);
    EXPECT_EQ(job["up"]["unfit"], 0);
    EXPECT_EQ(root["contributions"]["added"], rounds * chunks);
}

class RoundsTwoArmed : public testing::TestWithParam<Below> {};

TEST_P(RoundsTwoArmed, GiveEveryWorkerTheExactSum) {
    const auto &[name, setting, rounds, mode] = GetParam();
    auto node = node_of(GetParam());
    node.start();
    std::vector<std::unique_ptr<Losing>> losing;
    if (setting.loss != 0) {
        for (const auto direction : {Losing::sent, Losing::received})
            losing.push_back(
                std::make_unique<Losing>(node.server(), "eth0", direction, setting.loss));
        // The root answers in XDP, before any filter at its device: what goes up is lost where it leaves.
        losing.push_back(std::make_unique<Losing>(node.host, "out", Losing::sent, setting.loss));
    }
    sum_exactly(node, rounds);
    if (setting.loss != 0) {
        EXPECT_GT(node.job()["up"]["again"], 0);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsTwoArmed,
    testing::Values(Below{"Ipv4Native"}, Below{"Ipv6Native", {.family = 6}},
                    Below{"Ipv4Generic", {}, 6, "skb"},
                    Below{"Ipv6Generic", {.family = 6}, 6, "skb"},
                    // So many that sums are lost, too.
                    Below{"LosingOnePercent", {.loss = 1}, 60},
                    Below{"LosingFivePercent", {.loss = 5}, 12},
                    Below{"LosingTwentyPercentOverIpv6", {.family = 6, .loss = 20}, 6, "skb"}),
    by_name);

/// The root is where the queue delivers updates to, and a job's contributions pass the node on their way
/// there. A Collective hears nobody but the address that it sends to.
class RoundsInPassing : public testing::TestWithParam<Below> {};

TEST_P(RoundsInPassing, GiveEveryWorkerTheExactSumFromTheAddressThatItSendsTo) {
    auto node = node_of(GetParam());
    node.start();
    sum_exactly(node, GetParam().rounds);
}

class RoundsInPassingAnew : public RoundsInPassing {};

TEST_P(RoundsInPassingAnew, GoOnWithExactSumsWhenTheNodeBeginsAnew) {
    auto node = node_of(GetParam());
    node.start();
    node.sum_exactly(8, elements);
    node.order("reset");
    node.sum_exactly(8, elements);
    EXPECT_GT(node.job()["syncs"], 0);
}

const Below good[] = {
    {"Ipv4", {.in_passing = true}, 8},
    {"Ipv6", {.family = 6, .in_passing = true}, 8},
    {"GenericMode", {.in_passing = true}, 8, "skb"},
    {"ToARootWhoseMacIsAskedFor", {.wiring = {.server_known = false}, .in_passing = true}, 8}};

INSTANTIATE_TEST_SUITE_P(Of, RoundsInPassingAnew, testing::ValuesIn(good), by_name);
INSTANTIATE_TEST_SUITE_P(Of, RoundsInPassing, testing::ValuesIn(good), by_name);
INSTANTIATE_TEST_SUITE_P(
    ThatLose, RoundsInPassing,
    testing::Values(Below{"LosingOnePercent", {.in_passing = true, .loss = 1}, 8},
                    Below{"LosingFivePercent", {.in_passing = true, .loss = 5}, 8},
                    Below{"LosingTwentyPercent", {.in_passing = true, .loss = 20}, 3}),
    by_name);

class RoundsTwoArmedAlone : public testing::Test {
  protected:
    NodeBelowRoot node;
};

TEST_F(RoundsTwoArmedAlone, AsksAgainForResultsThatAreLostOnTheirWayDown) {
    node.start();
    // Of filters of one priority the kernel asks the newest first: before the node's own.
    const Losing losing(node.host, "out", Losing::received, 20);
    node.sum_exactly(6, elements);
    EXPECT_GT(node.job()["up"]["again"], 0);
    EXPECT_GT(node.root_job()["contributions"]["duplicate"], 0) << "these had been answered";
}

TEST_F(RoundsTwoArmedAlone, NothingIsLeftOnTheParentsDevice) {
    const auto before = traces(node.host);
    node.attach_queue();
    const auto without = traces(node.host);
    node.set();
    EXPECT_NE(traces(node.host), without);
    node.order("remove");
    EXPECT_EQ(traces(node.host), without);
    node.set();
    node.olaf.detach();
    EXPECT_EQ(traces(node.host), before);
}

TEST_F(RoundsTwoArmedAlone, AClsactThatWasThereStays) {
    node.host.tc("qdisc add dev out clsact");
    const auto before = traces(node.host);
    node.start();
    node.olaf.detach();
    EXPECT_EQ(traces(node.host), before);
}

TEST_F(RoundsTwoArmedAlone, ReplaceBringsBackAFilterThatSomebodyTookAway) {
    node.start();
    node.host.tc("filter del dev out ingress");
    EXPECT_TRUE(says(node.olaf({"doctor", "in"}).out, "olaf_parent_in"));
    node.olaf.replace({"--local", "--round-slots", "64"});
    EXPECT_FALSE(says(node.olaf({"doctor", "in"}).out, "olaf_parent_in"));
    node.sum_exactly(3, elements);
}

/// The parent's host never says which MAC address it has.
TEST_F(RoundsTwoArmedAlone, AParentThatNeverAnswersIsToldAndItsFirstAnswerIsEnough) {
    node.server().ip("link set eth0 arp off\n");
    node.start();
    const auto errors = failed_joins(node, [](CollectiveOptions &options) {
        options.timeout = std::chrono::seconds(1);
    });
    EXPECT_EQ(errors.size(), node.workers());
    for (const auto &error : errors)
        EXPECT_TRUE(gave_up(error.message(), ""));
    node.server().ip("link set eth0 arp on\n");
    node.sum_exactly(3, elements);
}

TEST(RoundsTwoArmedReplaced, WhileSumsAreUnderWayNobodyNotices) {
    NodeBelowRoot node;
    node.start();
    EndlessSums sums(node, elements);
    for (unsigned times = 0; times < 2; times++) {
        sums.await_more(1);
        node.olaf.replace({"--local", "--round-slots", "64"});
    }
    const unsigned rounds = sums.stop(3);
    const auto job = node.job();
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    EXPECT_EQ(node.root_job()["contributions"]["added"], rounds * chunks);
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
    NodeBelowRoot node;
    node.start();
    EndlessSums sums(node, elements);
    sums.await_more(1);
    const Netns &where = trouble.at_parent ? node.server() : node.host;
    where.ip(trouble.begins);
    if (trouble.forgotten) // not by a flush, which gives up where traffic brings the entry back
        node.host.ip("neighbour replace " + Testbed::server_peer(4).address +
                     " dev out nud failed\n");
    const auto counted = [&] { return node.job()["up"][trouble.counter].get<std::uint64_t>(); };
    await([&, before = counted()] { return counted() >= before + 5 || !sums.running(); },
          [&] { return std::string("five more of ") + trouble.counter; });
    where.ip(trouble.ends);
    EXPECT_TRUE(sums.running());
    sums.stop(3);
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsTwoArmedInTrouble,
    testing::Values(Trouble{"TheParentsDeviceDown", false, "link set out down\n",
                            "link set out up\n", false, "again"},
                    Trouble{"AnMtuThatShrank", false, "link set out mtu 500\n",
                            "link set out mtu 1500\n", false, "unfit"},
                    Trouble{"ANextHopThatIsSilent", true, "link set eth0 arp off\n",
                            "link set eth0 arp on\n", true, "again"}),
    by_name);

TEST(RoundsTwoArmedGone, AnotherDeviceThatGotTheIndexKeepsItsClsact) {
    const RoundsBed bed(
        {.wiring = {.way = Way::upstream4},
         .set = {"--max-count", "4", "--parent", Testbed::server_peer(4).address, "--rank", "0"},
         .local = true});
    const auto index = std::to_string(bed.host.ifindex("out"));
    bed.host.ip("link delete out\nlink add name other index " + index + " type bridge\n");
    bed.host.tc("qdisc add dev other clsact");
    const auto clsact = "qdisc clsact ffff: dev other";
    ASSERT_TRUE(says(traces(bed.host), clsact));
    bed.order("remove");
    EXPECT_TRUE(says(traces(bed.host), clsact));
}

TEST(RoundsTwoArmedRefused, ASumThatIsLongerThanTheMtuOfTheParentsDevice) {
    NodeBelowRoot node;
    node.attach_queue();
    node.host.ip("link set out mtu 500\n");
    EXPECT_TRUE(refused(node.olaf(node.set_command()), "the MTU of out is 500"));
    EXPECT_TRUE(node.olaf.status().json.at("jobs").empty());
}

} // namespace
} // namespace olaf::test::rounds_tree_test
