// SPDX-License-Identifier: BSD-2-Clause
// The queue's programs know which addresses and MAC addresses are this host's own.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "olaf/own.h"
#include "testbed.hpp"

namespace olaf::test::own_addresses_test {
namespace {

/// A pinned map of the queue on `device`.
class PinnedMap {
  public:
    PinnedMap(const Netns &netns, const std::string &device, const std::string &name) {
        struct stat status {};
        EXPECT_EQ(::fstat(netns.fd(), &status), 0);
        const auto path = "/sys/fs/bpf/olaf/" + std::to_string(status.st_ino) + "-" +
                          std::to_string(netns.ifindex(device)) + "/" + name;
        fd_ = bpf_obj_get(path.c_str());
        EXPECT_GE(fd_, 0) << path;
    }
    ~PinnedMap() { ::close(fd_); }
    PinnedMap(const PinnedMap &) = delete;
    PinnedMap &operator=(const PinnedMap &) = delete;

    template <class Key> [[nodiscard]] std::set<std::string> keys() const {
        std::set<std::string> found;
        Key key{}, next{};
        for (int more = bpf_map_get_next_key(fd_, nullptr, &next); more == 0;
             more = bpf_map_get_next_key(fd_, &key, &next)) {
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
    int fd_ = -1;
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
    EXPECT_NE(told.out.find("address 10.0.0.7 is new: olaf attach in --replace takes it in"),
              std::string::npos)
        << told.out;
    EXPECT_NE(bed.olaf({"doctor", "in"}).out.find("address 10.0.0.7 is new"), std::string::npos);

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

} // namespace
} // namespace olaf::test::own_addresses_test
