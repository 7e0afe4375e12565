// SPDX-License-Identifier: BSD-2-Clause
// A way whose ends are wider than its middle: short messages get through, contributions don't, and
// nobody says so. join() does, at once.
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <thread>

#include "losing.hpp"
#include "rounds.hpp"

namespace olaf::test::rounds_narrow_test {
namespace {

constexpr unsigned jumbo = 9000, narrow = 1500;

/// What join() says to both members, whose options name the node.
void expect_too_narrow(const Netns &netns, const std::string &node) {
    std::vector<std::jthread> threads;
    for (unsigned rank = 0; rank < 2; rank++)
        threads.emplace_back([&, rank] {
            const Inside inside(netns);
            const CollectiveOptions options{.node = Address::resolve(node).value(),
                                            .job = rounds_job, .rank = rank, .workers = 2};
            auto collective = Collective::make(options).value();
            const auto began = std::chrono::steady_clock::now();
            const auto joined = collective.join();
            ASSERT_FALSE(joined);
            EXPECT_EQ(joined.error().code, EMSGSIZE) << "not that time is up";
            EXPECT_LT(std::chrono::steady_clock::now() - began, options.timeout);
            const auto text = joined.error().message();
            EXPECT_NE(text.find("don't get to the node and back; short ones do"), std::string::npos)
                << text;
            EXPECT_NE(text.find("--lanes"), std::string::npos) << text;
        });
}

class RoundsBehindANarrowSwitch : public testing::TestWithParam<int> {
  protected:
    RoundsBehindANarrowSwitch() {
        switch_.ip("link add br0 type bridge mcast_snooping 0\nlink set br0 up\n");
        join("host0", host_, "in");
        join("worker0", worker_, "eth0");
        host_.ip("address add 10.9.0.1/24 dev in\naddress add fd09::1/64 dev in nodad\n");
        worker_.ip("address add 10.9.0.2/24 dev eth0\naddress add fd09::2/64 dev eth0 nodad\n");
    }
    void join(const std::string &port, const Netns &end, const std::string &device) const {
        switch_.ip("link add name " + port + " mtu 9000 master br0 type veth peer name " + device +
                   " mtu 9000 netns " + end.name() + "\nlink set " + port + " up\n");
        end.ip("link set " + device + " up\n");
        set_offloads(switch_, port, {}); // so that a program at the other end may send by it
    }
    [[nodiscard]] static std::string node() { return GetParam() == 4 ? "10.9.0.1" : "fd09::1"; }
    void work() const {
        run_workers(
            worker_, 2,
            [](CollectiveOptions &options, unsigned rank) {
                options.node = Address::resolve(node()).value();
                options.rank = rank;
            },
            [](Collective &collective, unsigned rank) {
                std::vector<std::int32_t> vector(50'000, static_cast<std::int32_t>(rank) + 1);
                const auto report = collective.allreduce(std::span(vector));
                ASSERT_TRUE(report) << report.error().message();
                EXPECT_EQ(vector, std::vector<std::int32_t>(50'000, 3));
            });
    }

    Netns host_{"host"}, switch_{"switch"}, worker_{"worker"};
    OlafCommand olaf_{host_, "in"}; ///< last: it detaches before a device goes
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsBehindANarrowSwitch, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsBehindANarrowSwitch, AreToldAtJoinAndSumOnceItIsWide) {
    const auto attached = olaf_({"attach", "in", "--local", "--round-slots", "64"});
    ASSERT_EQ(attached.status, 0) << attached.err;
    const auto set = olaf_({"job", "set", "in", std::to_string(rounds_job), "--children", "2"});
    ASSERT_EQ(set.status, 0) << set.err;
    switch_.ip("link set worker0 mtu " + std::to_string(narrow) + "\n");
    expect_too_narrow(worker_, node());
    switch_.ip("link set worker0 mtu " + std::to_string(jumbo) + "\n");
    work();
    expect_jobs_add_up(olaf_);
}

/// Long frames are lost in one direction of the workers' device.
class RoundsLosingLongFrames : public testing::TestWithParam<Losing::Direction> {
  protected:
    Testbed bed{{.way = Way::local, .mtu = jumbo, .place = Place::kernel}};
};

INSTANTIATE_TEST_SUITE_P(Of, RoundsLosingLongFrames, testing::Values(Losing::sent, Losing::received),
                         [](const auto &info) {
                             return info.param == Losing::sent ? "Contributions" : "Results";
                         });

TEST_P(RoundsLosingLongFrames, AreToldAtJoin) {
    bed.attach({"--round-slots", "64"});
    set_job(bed, 2, 1000);
    const LosingLong losing(bed.worker, "eth0", GetParam(), narrow + 14);
    expect_too_narrow(bed.worker, bed.target(4).address);
}

TEST_P(RoundsLosingLongFrames, SumWhereContributionsAreShortEnough) {
    bed.attach({"--round-slots", "64"});
    set_job(bed, 2, 175);
    const LosingLong losing(bed.worker, "eth0", GetParam(), narrow + 14);
    for_each_worker(bed, 2, [](Collective &collective, unsigned rank) {
        std::vector<std::int32_t> vector(10'000, static_cast<std::int32_t>(rank) + 1);
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(vector, std::vector<std::int32_t>(10'000, 3));
    });
}

} // namespace
} // namespace olaf::test::rounds_narrow_test
