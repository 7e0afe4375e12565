// SPDX-License-Identifier: BSD-2-Clause
// A node between its workers on one device and its parent on another, with real sockets:
//
//   workers ── in[node]out ── the parent, a root with this one child
//
// Nobody told the node its parent's MAC address, and it forwards nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <memory>
#include <thread>

#include "losing.hpp"
#include "rounds.hpp"

namespace olaf::test {
namespace {

constexpr unsigned lanes = 64, workers = 4, chunks = 20; // 63 lanes of data
constexpr std::size_t elements = std::size_t{63} * chunks;

class TwoArmed {
  public:
    explicit TwoArmed(int family = 4, std::string mode = "native")
        : family_(family), mode_(std::move(mode)) {
        bed.host.sysctl("ipv4/ip_forward", "0");
        bed.host.sysctl("ipv6/conf/all/forwarding", "0");
        root_.attach({"--local", "--round-slots", "64"});
        must(root_({"job", "set", "eth0", std::to_string(rounds_job), "--children", "1", "--lanes",
                    std::to_string(lanes), "--format", "i64x1", "--max-count",
                    std::to_string(workers)}));
    }

    void attach() { bed.olaf.attach({"--local", "--round-slots", "64", "--mode", mode_}); }
    [[nodiscard]] Outcome try_set(unsigned of_lanes = lanes) const {
        return bed.olaf({"job", "set", "in", std::to_string(rounds_job), "--children",
                         std::to_string(workers), "--lanes", std::to_string(of_lanes), "--format",
                         "i64x1", "--max-count", std::to_string(workers), "--parent",
                         Testbed::server_peer(family_).address, "--rank", "0"});
    }
    void set() const { must(try_set()); }
    [[nodiscard]] nlohmann::json job() const { return job_status(bed); }
    [[nodiscard]] nlohmann::json root_job() const { return root_.status().json.at("jobs").at(0); }

    /// Every worker sums rounds until it has done `last` of them, rightly.
    void sum(const std::atomic<unsigned> &last, std::atomic<unsigned> *done = nullptr) const {
        run_workers(
            bed.worker, workers,
            [&](CollectiveOptions &options, unsigned rank) {
                options.node = Address::resolve(bed.target(family_).address).value();
                options.rank = rank;
                options.format = Format::i64x1;
                options.lanes = lanes;
            },
            [&](Collective &collective, unsigned rank) {
                for (unsigned round = 0; round < last; round++) {
                    auto vector = part_of(rank, round, elements);
                    const auto report = collective.allreduce(std::span(vector));
                    ASSERT_TRUE(report) << report.error().message();
                    ASSERT_EQ(vector, sum_of(workers, round, elements)) << "round " << round;
                    if (done != nullptr && rank == 0) {
                        *done = round + 1;
                        done->notify_all();
                    }
                }
            });
        expect_jobs_add_up(bed.olaf);
        expect_jobs_add_up(root_);
    }

    static void must(const Outcome &outcome) {
        if (outcome.status != 0)
            throw std::runtime_error(outcome.err);
    }

    Testbed bed{{.way = Way::upstream4, .server_known = false, .place = Place::kernel}};

  private:
    const int family_;
    const std::string mode_;
    // veth wakes its peer after XDP_TX only if an XDP program is there: the root's answers need it.
    ForeignXdp wakes_{bed.host, "out"};
    OlafCommand root_{bed.server(), "eth0"};
};

struct Setting {
    const char *name;
    int family;
    const char *mode;
    unsigned loss; ///< of a hundred frames, each way, on both links
};

class RoundsTwoArmed : public testing::TestWithParam<Setting> {};

TEST_P(RoundsTwoArmed, GiveEveryWorkerTheExactSum) {
    const auto [name, family, mode, loss] = GetParam();
    constexpr unsigned rounds = 6;
    TwoArmed node(family, mode);
    node.attach();
    node.set();
    std::vector<std::unique_ptr<Losing>> losing;
    for (const auto direction : {Losing::sent, Losing::received})
        for (const Netns *netns : std::initializer_list<const Netns *>{&node.bed.worker,
                                                                       &node.bed.server()})
            if (loss != 0)
                losing.push_back(std::make_unique<Losing>(*netns, "eth0", direction, loss));
    // The root answers in XDP, before any filter at its device: what goes up is lost where it leaves.
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
                                         Setting{"LosingFivePercent", 4, "native", 5},
                                         Setting{"LosingTwentyPercentOverIpv6", 6, "skb", 20}),
                         [](const auto &info) { return info.param.name; });

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
    const char *begins, *ends; ///< ip, in the node
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
    node.bed.host.ip(trouble.begins);
    const auto counted = [&] {
        return node.job()["up"][trouble.counter].get<std::uint64_t>();
    };
    for (const auto before = counted(); counted() < before + 5 && done != UINT_MAX;)
        std::this_thread::yield(); // each look at the status takes a while
    node.bed.host.ip(trouble.ends);
    ASSERT_NE(done, UINT_MAX);
    last = done + 3;
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsTwoArmedInTrouble,
    testing::Values(Trouble{"TheParentsDeviceDown", "link set out down\n", "link set out up\n",
                            "again"},
                    Trouble{"AnMtuThatShrank", "link set out mtu 500\n", "link set out mtu 1500\n",
                            "unfit"}),
    [](const auto &info) { return info.param.name; });

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
} // namespace olaf::test
