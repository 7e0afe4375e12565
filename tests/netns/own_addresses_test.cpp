// SPDX-License-Identifier: BSD-2-Clause
// Which addresses and MAC addresses are this host's own, and what changes with them.
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <set>

#include "olaf/own.h"
#include "testbed.hpp"
#include "traffic.hpp"

namespace olaf::test::own_addresses_test {
namespace {

// The queue's programs know which addresses and MAC addresses are this host's own.

/// A pinned map of the queue on `device`.
class PinnedMap {
  public:
    PinnedMap(const Netns &netns, const std::string &device, const std::string &name) {
        const auto path = pin_directory(netns, device) + "/" + name;
        fd_ = Fd(bpf_obj_get(path.c_str()));
        EXPECT_TRUE(fd_) << path;
    }

    template <class Key> [[nodiscard]] std::set<std::string> keys() const {
        std::set<std::string> found;
        Key key{}, next{};
        for (int more = bpf_map_get_next_key(fd_.get(), nullptr, &next); more == 0;
             more = bpf_map_get_next_key(fd_.get(), &key, &next)) {
            key = next;
            found.insert(words(key));
        }
        return found;
    }

  private:
    static std::string words(const olaf_own_address &own) {
        char out[INET6_ADDRSTRLEN];
        return ::inet_ntop(AF_INET6, &own, out, sizeof out);
    }
    static std::string words(const olaf_own_mac &own) {
        Mac mac;
        std::copy(own.mac, own.mac + 6, mac.begin());
        return text(mac);
    }
    Fd fd_;
};

std::set<std::string> addresses(const Testbed &bed) {
    auto found = PinnedMap(bed.host, "in", "olaf_own").keys<olaf_own_address>();
    // Link-local ones are drawn from MAC addresses that the kernel chose.
    std::erase_if(found, [](const std::string &own) { return own.starts_with("fe80:"); });
    return found;
}

std::set<std::string> macs(const Testbed &bed) {
    return PinnedMap(bed.host, "in", "olaf_own_macs").keys<olaf_own_mac>();
}

TEST(OwnAddresses, AreEveryDevicesButLoopbackOnes) {
    Testbed bed{{.way = Way::routed}};
    bed.host.ip("link set lo up\n"
                "address add 198.51.100.9/32 dev lo\n"
                "link add name leg type veth peer name far\n"
                "address add 10.7.0.1/24 dev leg\n"
                "link add name point type veth peer name point2\n"
                "address add 10.8.0.1 peer 10.8.0.2 dev point\n");
    bed.attach();
    EXPECT_EQ(addresses(bed),
              (std::set<std::string>{"::ffff:10.0.0.254", "fd00::fe", "::ffff:10.0.1.254",
                                     "fd00:0:0:1::fe", "::ffff:198.51.100.9", "::ffff:10.7.0.1",
                                     "::ffff:10.8.0.1"}));
}

TEST(OwnMacAddresses, AreTheDevicesAndThoseOnTopOfIt) {
    Testbed bed{{.way = Way::routed}};
    bed.host.ip("link add link in name vrrp address 00:00:5e:00:01:33 type macvlan mode bridge\n"
                "link add link out name other address 02:00:00:00:00:73 type macvlan\n");
    bed.attach();
    // Not out's, nor the veth peers', which are in other namespaces.
    EXPECT_EQ(macs(bed), (std::set<std::string>{text(in_mac), "00:00:5e:00:01:33"}));
}

TEST(OwnMacAddresses, OfABridgePortAreTheBridgesAndItsPortsToo) {
    Testbed bed{{.way = Way::bridged}};
    bed.host.ip("link set bridge address 02:00:00:00:00:b0\n"
                "link add link bridge name vrrp address 00:00:5e:00:01:33 type macvlan\n");
    bed.attach();
    EXPECT_EQ(macs(bed), (std::set<std::string>{text(in_mac), text(out_mac), "02:00:00:00:00:b0",
                                                "00:00:5e:00:01:33"}));
}

/// A command that a queue meets takes in what the host has by then.
class OwnAddressesChange : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(OwnAddressesChange, IsToldUntilACommandTakesItIn) {
    Testbed bed{{.way = Way::routed}};
    bed.attach();
    EXPECT_EQ(bed.olaf.status().json["own_addresses"]["unknown"].size(), 0u);
    bed.host.ip("address add 10.0.0.7/32 dev in\n"
                "address del 10.0.1.254/24 dev out\n"
                "link set in address 02:00:00:00:00:99\n");
    const auto own = bed.olaf.status().json["own_addresses"];
    EXPECT_EQ(own["unknown"],
              (nlohmann::json{"address 10.0.0.7", "MAC address 02:00:00:00:00:99"}));
    EXPECT_EQ(own["gone"],
              (nlohmann::json{"address 10.0.1.254", "MAC address " + text(in_mac)}));
    const auto told = bed.olaf({"status", "in"});
    EXPECT_TRUE(says(told.out, "address 10.0.0.7 is new: olaf attach in --replace takes it in"));
    EXPECT_TRUE(says(bed.olaf({"doctor", "in"}).out, "address 10.0.0.7 is new"));

    const auto command = bed.olaf(GetParam());
    ASSERT_EQ(command.status, 0) << command.err;
    const auto after = bed.olaf.status().json["own_addresses"];
    EXPECT_EQ(after["unknown"].size() + after["gone"].size(), 0u) << after;
    EXPECT_TRUE(addresses(bed).contains("::ffff:10.0.0.7"));
    EXPECT_FALSE(addresses(bed).contains("::ffff:10.0.1.254"));
    EXPECT_EQ(macs(bed), (std::set<std::string>{"02:00:00:00:00:99"}));
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnAddressesChange,
    testing::Values(std::vector<std::string>{"attach", "in", "--replace"},
                    std::vector<std::string>{"cluster", "set", "in", "3", "--policy", "newest"},
                    std::vector<std::string>{"cluster", "remove", "in", "3"}),
    [](const auto &info) {
        return info.param[0] == "attach" ? "Replace" : "Cluster_" + info.param[1];
    });

// ---- own mac ----
// This host's MAC address changes after attach, or another comes beside it: updates still arrive.

constexpr Mac moved = {2, 0, 0, 0, 0, 0x55};

class OwnMac : public testing::TestWithParam<Route> {
  protected:
    /// The host's address towards the worker is at that MAC address now.
    void tell_worker(const Mac &mac) {
        const auto routed = bed.routes() || bed.upstream();
        for (const auto *address : {routed ? "10.0.0.254" : "10.0.1.2",
                                    routed ? "fd00::fe" : "fd00:0:0:1::2"})
            bed.worker.ip(std::string("neighbour replace ") + address + " lladdr " + text(mac) +
                          " dev eth0 nud permanent\n");
    }

    void all_arrive(std::uint32_t count) {
        std::vector<Update> updates;
        for (std::uint32_t i = 0; i < count; i++)
            updates.push_back({.cluster = i % 4, .worker = i, .sequence = i});
        bed.expect_arrival(bed.send(updates));
    }

    SocketBed bed{{.way = GetParam().way}, GetParam().family};
};

TEST_P(OwnMac, UpdatesArriveAfterItHasChanged) {
    bed.attach({"--mode", GetParam().mode, "--policy", "aggregate"});
    all_arrive(10);
    bed.host.ip("link set in address " + text(moved) + "\n");
    tell_worker(moved);
    all_arrive(50);
    bed.olaf.replace(); // and once the queue has been told
    const auto before = bed.olaf.status()["received"];
    all_arrive(50);
    const auto status = bed.olaf.await_drained(before + 50);
    EXPECT_EQ(status.json.at("bypassed_by_reason").at("foreign"), 0);
    expect_identities(status);
}

/// As VRRP does it: a macvlan has the address and a MAC address of its own.
TEST_P(OwnMac, UpdatesToAMacvlansArrive) {
    bed.attach({"--mode", GetParam().mode, "--policy", "aggregate"});
    bed.host.ip("link add link in name virtual address " + text(moved) +
                " type macvlan mode bridge\nlink set virtual up\n");
    tell_worker(moved);
    all_arrive(20);
}

INSTANTIATE_TEST_SUITE_P(All, OwnMac,
                         testing::Values(Route{"Local4", Way::local, 4},
                                         Route{"LocalGeneric6", Way::local, 6, "skb"},
                                         Route{"Routed4", Way::routed, 4},
                                         Route{"Routed6", Way::routed, 6},
                                         Route{"Upstream4", Way::upstream4, 4}),
                         by_name);

} // namespace
} // namespace olaf::test::own_addresses_test
