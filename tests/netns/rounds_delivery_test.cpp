// SPDX-License-Identifier: BSD-2-Clause
// Jobs of a queue that forwards updates or sends them upstream: for its jobs that is no matter, whether workers
// send to an address of the node's host, or through it to its parent's.
#include <gtest/gtest.h>

#include <memory>

#include "losing.hpp"
#include "rounds.hpp"

namespace olaf::test::rounds_delivery_test {
namespace {

constexpr unsigned lanes = 64, workers = 4, rounds = 8, chunks = 20; // 63 lanes of data: i64x1 elements
constexpr std::size_t elements = std::size_t{63} * chunks;

/// Every worker sums rounds, rightly, by way of that address.
void sum_exactly(const Testbed &bed, const std::string &address, unsigned times = rounds) {
    for_each_worker(
        bed, workers,
        [&](Collective &collective, unsigned rank) {
            for (unsigned round = 0; round < times; round++) {
                auto vector = part_of(rank, round, elements);
                const auto report = collective.allreduce(std::span(vector));
                ASSERT_TRUE(report) << report.error().message();
                ASSERT_EQ(vector, sum_of(workers, round, elements)) << "round " << round;
            }
        },
        [&](CollectiveOptions &options) {
            options.node = Address::resolve(address).value();
            options.format = Format::i64x1;
            options.lanes = lanes;
        });
}

/// A bridge has no address of its own in the testbed. The node needs one.
void give_bridge_addresses(const Testbed &bed) {
    bed.host.ip("address add 10.0.2.9/16 dev bridge\n"
                "address add fd00:0:0:2::9/32 dev bridge nodad\n");
}

struct Delivery {
    const char *name;
    Way way;
    int family;
    const char *mode;
    const char *node; ///< where workers send to
};

class RoundsOfAnyDelivery : public testing::TestWithParam<Delivery> {};

TEST_P(RoundsOfAnyDelivery, GiveEveryWorkerTheExactSum) {
    const auto &[name, way, family, mode, node] = GetParam();
    Testbed bed{{.way = way, .place = Place::kernel}};
    if (way == Way::bridged)
        give_bridge_addresses(bed);
    bed.attach({"--round-slots", "64", "--mode", mode});
    set_job(bed, workers, lanes, {"--format", "i64x1"});
    sum_exactly(bed, node);
    const auto job = job_status(bed);
    SCOPED_TRACE(job.dump(1));
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    EXPECT_EQ(job["contributions"]["added"], rounds * chunks * workers);
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsOfAnyDelivery,
    testing::Values(Delivery{"Routed", Way::routed, 4, "native", "10.0.0.254"},
                    Delivery{"RoutedIpv6", Way::routed, 6, "native", "fd00::fe"},
                    Delivery{"RoutedInGenericMode", Way::routed, 4, "skb", "10.0.0.254"},
                    Delivery{"OneArmed", Way::one_armed, 4, "native", "10.0.0.254"},
                    Delivery{"Bridged", Way::bridged, 4, "native", "10.0.2.9"},
                    Delivery{"BridgedIpv6", Way::bridged, 6, "native", "fd00:0:0:2::9"},
                    Delivery{"Upstream", Way::upstream4, 4, "native", "10.0.0.254"},
                    Delivery{"UpstreamIpv6", Way::upstream6, 6, "native", "fd00::fe"}),
    [](const auto &info) { return info.param.name; });

/// The root is where the queue delivers updates to, and a job's contributions pass the node on their way there.
struct Passing {
    const char *name;
    int family;
    const char *mode;
    unsigned loss; ///< of a hundred frames, each way, at the workers
    bool is_known; ///< the host has the root's MAC address from the beginning
};

class RoundsInPassing : public testing::TestWithParam<Passing> {
  protected:
    RoundsInPassing() {
        root_.attach({"--local", "--round-slots", "64"});
        must(root_({"job", "set", "eth0", std::to_string(rounds_job), "--children", "1", "--lanes",
                    std::to_string(lanes), "--format", "i64x1", "--max-count", std::to_string(workers)}));
    }
    static void must(const Outcome &outcome) { ASSERT_EQ(outcome.status, 0) << outcome.err; }
    [[nodiscard]] static std::string root_address() { return Testbed::server_peer(GetParam().family).address; }
    void attach_node() {
        bed.attach({"--round-slots", "64", "--mode", GetParam().mode});
        set_job(bed, workers, lanes,
                {"--format", "i64x1", "--max-count", std::to_string(workers), "--parent", root_address(), "--rank", "0"});
    }
    [[nodiscard]] nlohmann::json root_job() const { return root_.status().json.at("jobs").at(0); }

    Testbed bed{{.way = Way::routed, .server_known = GetParam().is_known, .place = Place::kernel}};
    // veth wakes its peer after XDP_TX only if an XDP program is there: the root's answers need it.
    ForeignXdp wakes_{bed.host, "out"};
    OlafCommand root_{bed.server(), "eth0"};
};

TEST_P(RoundsInPassing, GiveEveryWorkerTheExactSumFromTheAddressThatItSendsTo) {
    attach_node();
    std::vector<std::unique_ptr<Losing>> losing;
    for (const auto direction : {Losing::sent, Losing::received})
        if (GetParam().loss != 0)
            losing.push_back(std::make_unique<Losing>(bed.worker, "eth0", direction, GetParam().loss));
    const unsigned rounds = GetParam().loss == 20 ? 3 : rounds_delivery_test::rounds; // where each takes long
    // A Collective hears nobody but the address that it sends to.
    sum_exactly(bed, root_address(), rounds);
    const auto job = job_status(bed), root = root_job();
    SCOPED_TRACE(job.dump(1) + root.dump(1));
    expect_job_identities(job);
    expect_job_identities(root);
    EXPECT_EQ(job["role"], "node");
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    EXPECT_EQ(job["contributions"]["added"], rounds * chunks * workers);
    EXPECT_EQ(root["contributions"]["added"], rounds * chunks) << "one for each chunk has got there";
}

class RoundsInPassingAnew : public RoundsInPassing {};

TEST_P(RoundsInPassingAnew, GoOnWithExactSumsWhenTheNodeBeginsAnew) {
    attach_node();
    sum_exactly(bed, root_address());
    must(bed.olaf({"job", "reset", "in", std::to_string(rounds_job)}));
    sum_exactly(bed, root_address());
    EXPECT_GT(job_status(bed)["syncs"], 0);
}

const Passing good[] = {{"Ipv4", 4, "native", 0, true},
                        {"Ipv6", 6, "native", 0, true},
                        {"GenericMode", 4, "skb", 0, true},
                        {"ToARootWhoseMacIsAskedFor", 4, "native", 0, false}};

INSTANTIATE_TEST_SUITE_P(Of, RoundsInPassingAnew, testing::ValuesIn(good),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Of, RoundsInPassing, testing::ValuesIn(good),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(ThatLose, RoundsInPassing,
                         testing::Values(Passing{"LosingOnePercent", 4, "native", 1, true},
                                         Passing{"LosingFivePercent", 4, "native", 5, true},
                                         Passing{"LosingTwentyPercent", 4, "native", 20, true}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_delivery_test
