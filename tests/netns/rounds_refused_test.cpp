// SPDX-License-Identifier: BSD-2-Clause
// What a job's worker is told where the network refuses what it sends.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include <olaf/collective.hpp>

#include "netns.hpp"
#include "olaf_command.hpp"
#include "process.hpp"

namespace olaf::test::rounds_refused_test {
namespace {

/// A worker, and the host beside it, which is a router as well. Nobody listens anywhere.
class RoundsRefused : public testing::Test {
  protected:
    Netns worker{"worker"}, host{"host"};

    RoundsRefused() {
        worker.ip("link add eth0 type veth peer name in netns " + host.name() +
                  "\nlink set eth0 up\n"
                  "address add 10.9.0.2/24 dev eth0\naddress add fd09::2/64 dev eth0 nodad\n");
        host.ip("link set in up\n"
                "address add 10.9.0.1/24 dev in\naddress add fd09::1/64 dev in nodad\n"
                "route add unreachable 10.10.0.1\nroute add prohibit 10.10.0.2\n"
                "route add prohibit fd10::2\n");
        host.sysctl("ipv4/conf/all/forwarding", "1");
        host.sysctl("ipv6/conf/all/forwarding", "1");
        worker.ip("route add default via 10.9.0.1\nroute add default via fd09::1\n");
    }

    [[nodiscard]] Collective at(const std::string &node) const {
        const Inside inside(worker);
        return Collective::make({.node = Address::resolve(node).value(),
                                 .job = 5,
                                 .workers = 2,
                                 .run = "test",
                                 .timeout = std::chrono::milliseconds(200)})
            .value();
    }

    static void expect_told(Collective collective, const std::string &words) {
        const auto started = collective.start();
        ASSERT_FALSE(started);
        EXPECT_TRUE(says(started.error().message(), words));
        EXPECT_EQ(started.error().code, ETIMEDOUT);
    }
};

TEST_F(RoundsRefused, WhereNobodyListens) {
    expect_told(at("10.9.0.1"), "ICMP port unreachable came from 10.9.0.1");
    expect_told(at("fd09::1"), "ICMP port unreachable came from fd09::1");
}

TEST_F(RoundsRefused, ByADeviceOfTheNodesHostThatHasNoQueue) {
    worker.ip("link add eth1 type veth peer name in2 netns " + host.name() +
              "\nlink set eth1 up\naddress add 10.11.0.2/24 dev eth1\n");
    host.ip("link set in2 up\naddress add 10.11.0.1/24 dev in2\n");
    host.await_links();
    OlafCommand olaf(host, "in");
    olaf.attach({"--local", "--round-slots", "64"});
    must(olaf({"job", "set", "in", "5", "--children", "2"}));
    expect_told(at("10.11.0.1"), "ICMP port unreachable came from 10.11.0.1");
    expect_told(at("10.11.0.1"), "to the device that the frames come in by");
}

TEST_F(RoundsRefused, WhereNobodyHasTheAddress) {
    expect_told(at("10.10.0.1"),
                "nobody has that address: ICMP host unreachable came from 10.9.0.1");
}

TEST_F(RoundsRefused, ByAFirewallOnTheWay) {
    const std::string words = "a firewall on the way refuses it: ICMP administratively prohibited "
                              "came from ";
    expect_told(at("10.10.0.2"), words + "10.9.0.1");
    expect_told(at("fd10::2"), words + "fd09::1");
}

TEST_F(RoundsRefused, ByTheWorkersOwnHost) {
    auto collective = at("10.9.0.1");
    worker.ip("route add prohibit 10.9.0.1\n");
    expect_told(std::move(collective), "a route of this host prohibits what is sent");
}

} // namespace
} // namespace olaf::test::rounds_refused_test
