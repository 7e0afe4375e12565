// SPDX-License-Identifier: BSD-2-Clause
// Members behind several devices: these are ports of a bridge, and the queue is on the bridge.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "rounds.hpp"

namespace olaf::test::rounds_bridge_test {
namespace {

constexpr unsigned hosts = 2, rounds = 10, lanes = 64;
constexpr std::size_t elements = std::size_t{63} * 30 + 5;

class RoundsOnABridge : public testing::TestWithParam<int> {
  protected:
    RoundsOnABridge() {
        host_.ip("link add br0 type bridge mcast_snooping 0\n"
                 "address add 10.9.0.1/24 dev br0\n"
                 "address add fd09::1/64 dev br0 nodad\n"
                 "link set br0 up\n");
        for (unsigned i = 0; i < hosts; i++) {
            const auto number = std::to_string(i), last = std::to_string(10 + i);
            const auto &worker =
                *workers_.emplace_back(std::make_unique<Netns>("worker" + number));
            host_.ip("link add name port" + number + " master br0 type veth peer name eth0 netns " +
                     worker.name() + "\nlink set port" + number + " up\n");
            worker.ip("link set eth0 up\n"
                      "address add 10.9.0." + last + "/24 dev eth0\n" +
                      "address add fd09::" + last + "/64 dev eth0 nodad\n");
        }
    }
    [[nodiscard]] static Address node() {
        return Address::resolve(GetParam() == 4 ? "10.9.0.1" : "fd09::1").value();
    }
    /// The member whose rank is the number of its host.
    void work(unsigned rank) const {
        run_workers(
            *workers_[rank], 1,
            [&](CollectiveOptions &options, unsigned) {
                options.node = node();
                options.rank = rank;
                options.workers = hosts;
                options.format = Format::i64x1;
                options.lanes = lanes;
            },
            [&](Collective &collective, unsigned) {
                for (unsigned round = 0; round < rounds; round++) {
                    auto vector = part_of(rank, round, elements);
                    const auto report = collective.allreduce(std::span(vector));
                    ASSERT_TRUE(report) << report.error().message();
                    ASSERT_EQ(vector, sum_of(hosts, round, elements)) << "round " << round;
                }
            });
    }

    Netns host_{"host"};
    std::vector<std::unique_ptr<Netns>> workers_;
    OlafCommand olaf_{host_, "br0"}; ///< last: it detaches before a device goes
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsOnABridge, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

TEST_P(RoundsOnABridge, EachGetsTheExactSumBehindItsOwnPort) {
    const auto attached = olaf_({"attach", "br0", "--local", "--round-slots", "64"});
    ASSERT_EQ(attached.status, 0) << attached.err;
    const auto set = olaf_({"job", "set", "br0", std::to_string(rounds_job), "--children",
                            std::to_string(hosts), "--lanes", std::to_string(lanes), "--format",
                            "i64x1"});
    ASSERT_EQ(set.status, 0) << set.err;
    {
        std::vector<std::jthread> threads;
        for (unsigned rank = 0; rank < hosts; rank++)
            threads.emplace_back([&, rank] { work(rank); });
    }
    const auto job = olaf_.status().json.at("jobs").at(0);
    EXPECT_EQ(job["chunks"]["completed"], rounds * 31);
    expect_job_identities(job);
}

} // namespace
} // namespace olaf::test::rounds_bridge_test
