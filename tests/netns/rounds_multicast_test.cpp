// SPDX-License-Identifier: BSD-2-Clause
// Workers get their sums by multicast, with real sockets: one frame for all, and what is lost of it is
// asked for by whoever misses it.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>

#include "losing.hpp"
#include "round_tree.hpp"

namespace olaf::test::rounds_multicast_test {
namespace {

constexpr unsigned lanes = 64, workers = 4, rounds = 8, chunks = 20; // 63 lanes of data
constexpr std::size_t elements = std::size_t{63} * chunks;

void sum(Collective &collective, unsigned all, unsigned worker) {
    for (unsigned round = 0; round < rounds; round++) {
        auto vector = part_of(worker, round, elements);
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_TRUE(report) << report.error().message();
        ASSERT_EQ(vector, sum_of(all, round, elements)) << "round " << round;
    }
}

void as_integers(CollectiveOptions &options) {
    options.format = Format::i64x1;
    options.lanes = lanes;
}

struct Setting {
    const char *name;
    int family;
    const char *mode;
    unsigned loss; ///< of a hundred frames, each way
};

class RoundsByMulticast : public testing::TestWithParam<Setting> {
  protected:
    Testbed bed{{.way = Way::local}};
};

TEST_P(RoundsByMulticast, GiveEveryWorkerTheExactSum) {
    const auto [name, family, mode, loss] = GetParam();
    const std::string group = family == 4 ? "239.1.2.3" : "ff02::1:2:3";
    bed.attach({"--round-slots", "64", "--mode", mode});
    set_job(bed, workers, lanes, {"--format", "i64x1", "--fanout", "multicast=" + group});
    std::optional<Losing> there, back;
    if (loss != 0) {
        there.emplace(bed.worker, "eth0", Losing::sent, loss);
        back.emplace(bed.worker, "eth0", Losing::received, loss);
    }
    for_each_worker(
        bed, workers,
        [](Collective &collective, unsigned rank) { sum(collective, workers, rank); },
        [&, family = family](CollectiveOptions &options) {
            as_integers(options);
            options.node = Address::resolve(bed.target(family).address).value();
            options.group = Address::resolve(group).value();
        });
    const auto job = job_status(bed);
    expect_job_identities(job);
    EXPECT_EQ(job["multicast"]["group"], group);
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    EXPECT_EQ(job["results"]["multicast"], rounds * chunks);
    EXPECT_EQ(job["results"]["riding"], 0);
    if (loss != 0) {
        EXPECT_GT(job["results"]["repeated"], 0);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsByMulticast,
    testing::Values(Setting{"OverIpv4", 4, "native", 0}, Setting{"OverIpv6", 6, "native", 0},
                    Setting{"InGenericMode", 4, "skb", 0},
                    Setting{"InGenericModeOverIpv6", 6, "skb", 0},
                    Setting{"LosingFivePercent", 4, "native", 5},
                    Setting{"LosingTwentyPercentOverIpv6", 6, "native", 20}),
    [](const auto &info) { return info.param.name; });

TEST(RoundsByMulticastAlone, AWorkerThatIsNotInTheGroupAsksForEachResult) {
    Testbed bed{{.way = Way::local}};
    bed.attach({"--round-slots", "64"});
    set_job(bed, 2, lanes, {"--format", "i64x1", "--fanout", "multicast=239.1.2.3"});
    for_each_worker(
        bed, 2, [](Collective &collective, unsigned rank) { sum(collective, 2, rank); },
        [](CollectiveOptions &options) {
            as_integers(options);
            if (options.rank == 0)
                options.group = Address::resolve("239.1.2.3").value();
        });
    EXPECT_GE(job_status(bed)["results"]["repeated"], rounds * chunks);
}

// From the node's own address, but not from its port.
TEST(RoundsByMulticastAlone, AResultForAllFromSomebodyElseIsNobodys) {
    Testbed bed{{.way = Way::local}};
    bed.attach({"--round-slots", "64"});
    bed.host.ip("route add 239.0.0.0/8 dev in\n");
    set_job(bed, 2, lanes, {"--format", "i64x1", "--fanout", "multicast=239.1.2.3"});
    const UdpSocket stranger(bed.host, {bed.target(4).address, 7777});
    std::atomic<unsigned> forged = 0;
    std::jthread forging([&](const std::stop_token &stop) {
        JobMessage message{.type = OLAF_RESULT,
                           .flags = OLAF_FORMAT_I64X1 << OLAF_FLAG_FORMAT_SHIFT | OLAF_FLAG_CHECKSUM,
                           .rank = OLAF_EVERY_WORKER,
                           .count = 2,
                           .chunks = chunks,
                           .lanes = std::vector<std::uint64_t>(lanes - 1, 666)};
        message.lanes.push_back(checksum_lane(message.lanes));
        while (!stop.stop_requested()) {
            if (forged < 4 * rounds * chunks) // later it stays what it is
                message.generation = job_status(bed)["generation"];
            for (message.round = 0; message.round < 2 * rounds; message.round++)
                for (message.chunk = 0; message.chunk < chunks; message.chunk++, forged++)
                    stranger.send(test::message(message), {"239.1.2.3", OLAF_DEFAULT_PORT});
            forged.notify_all();
        }
    });
    forged.wait(0);
    for_each_worker(
        bed, 2,
        [&](Collective &collective, unsigned rank) {
            sum(collective, 2, rank);
            for (unsigned seen = forged, until = seen + 4 * rounds * chunks; seen < until; seen = forged)
                forged.wait(seen); // the job's generation is known by now
            sum(collective, 2, rank);
        },
        [](CollectiveOptions &options) {
            as_integers(options);
            options.group = Address::resolve("239.1.2.3").value();
        });
    expect_job_identities(job_status(bed));
}

// The others go on without it, PARTIAL until it is no member any more, and then by multicast again.
TEST(RoundsByMulticastAlone, WhenAWorkerIsKilledTheOthersHaveOneFrameForAllAgain) {
    Testbed bed{{.way = Way::local}};
    bed.attach({"--round-slots", "64", "--member-timeout", "1s"});
    set_job(bed, 3, lanes,
            {"--format", "i64x1", "--fanout", "multicast=239.1.2.3", "--deadline", "20ms"});
    const auto options_of = [&](CollectiveOptions &options) {
        as_integers(options);
        options.workers = 3;
        options.group = Address::resolve("239.1.2.3").value();
    };
    Process third([&] {
        const Inside inside(bed.worker);
        CollectiveOptions options;
        options.node = Address::resolve(bed.target(4).address).value();
        options.job = rounds_job;
        options.rank = 2;
        options_of(options);
        auto collective = Collective::make(options).value();
        auto vector = part_of(2, 0, elements);
        for (bool goes_on = collective.join().has_value(); goes_on;)
            goes_on = collective.allreduce(std::span(vector)).has_value();
    });
    for_each_worker(
        bed, 2,
        [&](Collective &collective, unsigned rank) {
            const auto next = [&](unsigned round) {
                auto vector = part_of(rank, round, elements);
                const auto report = collective.allreduce(std::span(vector));
                if (!report)
                    throw std::runtime_error(report.error().message());
                if (report->least_count == 2 && report->partial == 0) {
                    EXPECT_EQ(vector, sum_of(2, round, elements));
                }
                return *report;
            };
            unsigned round = 0;
            for (; round < 10; round++)
                next(round);
            if (rank == 0)
                third.kill(SIGKILL);
            for (bool whole = false; !whole; round++) {
                const auto report = next(round);
                whole = report.least_count == 2 && report.partial == 0;
            }
            const auto before = job_status(bed)["results"];
            for (unsigned more = 0; more < 10; more++)
                next(round++);
            const auto after = job_status(bed)["results"];
            EXPECT_GE(after["multicast"].get<unsigned>(), before["multicast"].get<unsigned>() + 9 * chunks);
        },
        options_of);
    const auto job = job_status(bed);
    EXPECT_EQ(job.at("silent"), 1);
    EXPECT_EQ(job.at("absent"), nlohmann::json::array({2}));
}

class RoundsInTreeByMulticast : public testing::TestWithParam<std::tuple<TreeFanout, unsigned>> {};

TEST_P(RoundsInTreeByMulticast, GiveEveryWorkerTheExactSum) {
    const auto [fanout, loss] = GetParam();
    RoundTree tree({{0, 0}, {0, 2}, {0, 2}}, fanout);
    for (unsigned node = 0; node < 3; node++)
        tree.start(node, lanes);
    if (loss != 0)
        tree.lose(loss);
    tree.for_each_worker(
        [&](Collective &collective, unsigned worker) { sum(collective, workers, worker); },
        as_integers);
    EXPECT_EQ(tree.is_wanted(0), fanout == TreeFanout::snooped);
    for (unsigned node = 0; node < 3; node++) {
        const auto job = tree.job(node);
        SCOPED_TRACE("node " + std::to_string(node) + ": " + job.dump(1));
        expect_job_identities(job);
        EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
        EXPECT_GT(job["results"]["multicast"], 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsInTreeByMulticast,
                         testing::Combine(testing::Values(TreeFanout::flooded,
                                                          TreeFanout::snooped),
                                          testing::Values(0u, 5u)),
                         [](const auto &info) {
                             return std::string(std::get<0>(info.param) == TreeFanout::flooded
                                                    ? "Flooded"
                                                    : "Snooped") +
                                    "Losing" + std::to_string(std::get<1>(info.param)) + "Percent";
                         });

} // namespace
} // namespace olaf::test::rounds_multicast_test
