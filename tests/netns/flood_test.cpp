// SPDX-License-Identifier: BSD-2-Clause
// Floods from every CPU at once into two receive queues: the identities hold exactly, and so do
// the sums.
#include <gtest/gtest.h>

#include <sstream>

#include "traffic.hpp"

namespace olaf::test::flood_test {
namespace {

constexpr std::uint32_t clusters = 9;

struct Load {
    const char *name;
    Way way;
    const char *policy;
    std::vector<std::string> more = {};
};

class Flood : public testing::TestWithParam<Load> {
  protected:
    Flood() { make_lossless(bed); }

    /// Frames that XDP got from a receive queue of `in`.
    [[nodiscard]] std::uint64_t xdp_packets(unsigned queue) const {
        const auto told = run({"ethtool", "-S", "in"}, {}, &bed.host);
        const auto key = "rx_queue_" + std::to_string(queue) + "_xdp_packets:";
        const auto at = told.out.find(key);
        return at == told.out.npos ? 0 : std::stoull(told.out.substr(at + key.size()));
    }

    void attach(std::vector<std::string> more) {
        more.insert(more.end(), {"--policy", GetParam().policy});
        more.insert(more.end(), GetParam().more.begin(), GetParam().more.end());
        bed.attach(more);
    }

    Testbed bed{{.way = GetParam().way, .queues = 2}};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

TEST_P(Flood, NothingIsUnaccountedFor) {
    attach({"--rate", "20mbit"});
    // Each cluster's updates are alike, so that whatever is folded is a multiple.
    auto updates = random_updates(512, clusters, 8, 3);
    for (auto &update : updates)
        for (std::size_t i = 0; i < update.lanes.size(); i++)
            update.lanes[i] = (update.cluster + 1) * 0x0123456789abcdefULL + i;
    const auto frames = frames_of(bed, updates);
    Collector collector(server);
    constexpr unsigned times = 60;
    flood(bed, frames, times);

    const auto sent = std::uint64_t{frames.size()} * times * cpus();
    const auto status = bed.olaf.await_drained(sent);
    EXPECT_EQ(status["received"], sent);
    EXPECT_EQ(status["updates_in"], sent);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    const auto tally = collector.await(status["updates_out"]);
    EXPECT_EQ(tally.updates, status["updates_out"]);
    EXPECT_EQ(tally.messages, status["passed_through"] + status["departed"]);
    for (const auto &[cluster, sum] : tally.clusters)
        for (std::size_t i = 0; i < sum.lanes.size(); i++)
            ASSERT_EQ(sum.lanes[i], sum.count * ((cluster + 1) * 0x0123456789abcdefULL + i));
    EXPECT_GT(xdp_packets(0), 0u);
    EXPECT_GT(xdp_packets(1), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, Flood,
    testing::Values(Load{"LocalOlaf", Way::local, "olaf"},
                    Load{"LocalFifoFull", Way::local, "fifo", {"--queue", "8"}},
                    Load{"LocalNewest", Way::local, "newest", {"--queue", "4"}},
                    Load{"BridgedOlafFull", Way::bridged, "olaf", {"--queue", "4"}},
                    Load{"BridgedFifo", Way::bridged, "fifo", {"--queue", "64"}},
                    Load{"RoutedOlaf", Way::routed, "olaf"},
                    Load{"UpstreamOlaf", Way::upstream4, "olaf", {"--queue", "8"}}),
    [](const auto &info) { return std::string(info.param.name); });

class Aggregate : public testing::TestWithParam<Way> {};

TEST_P(Aggregate, TheSumOfAllThatIsReceivedIsTheSumOfAllThatWasSent) {
    Testbed bed{{.way = GetParam(), .queues = 2}};
    make_lossless(bed);
    UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.attach({"--policy", "aggregate", "--rate", "20mbit"});
    bed.olaf.cluster({"set", "0-8", "--max-count", "65535"});
    const auto updates = random_updates(512, clusters, 8, 4);
    const auto frames = frames_of(bed, updates);
    Collector collector(server);
    constexpr unsigned times = 60;
    flood(bed, frames, times);

    Tally sent;
    for (const auto &update : updates)
        sent.add(update, std::uint64_t{times} * cpus());
    const auto status = bed.olaf.await_drained(sent.updates);
    expect_identities(status);
    EXPECT_EQ(status["received"], sent.updates);
    EXPECT_EQ(status.dropped(), 0u);
    const auto tally = collector.await(sent.updates);
    EXPECT_EQ(tally.clusters, sent.clusters);
    EXPECT_EQ(tally.messages, status["passed_through"] + status["departed"]);
    EXPECT_LT(tally.messages, sent.messages / 2);
}

INSTANTIATE_TEST_SUITE_P(All, Aggregate, testing::Values(Way::local, Way::bridged, Way::one_armed),
                         [](const auto &info) {
                             return info.param == Way::local     ? "Local"
                                    : info.param == Way::bridged ? "Bridged"
                                                                 : "OneArmed";
                         });

} // namespace
} // namespace olaf::test::flood_test
