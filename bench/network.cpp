// SPDX-License-Identifier: BSD-2-Clause
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sched.h>

#include "network.hpp"

namespace olaf::bench {

namespace {

constexpr const char *topology = R"(
    set -e
    sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
    sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
    ip link set lo up
    queues="numtxqueues $QUEUES numrxqueues $QUEUES"
    ip link add gen address 02:00:00:00:00:01 mtu $MTU $queues type veth peer name dut address 02:00:00:00:00:02 mtu $MTU $queues
    ip link add out address 02:00:00:00:01:01 mtu $MTU $queues type veth peer name sink address 02:00:00:00:01:02 mtu $MTU $queues
    for dev in gen dut out sink; do ip link set $dev up; done
    ip address add 10.0.0.2/24 dev dut
    ip address add 10.0.1.1/24 dev out
    ip neighbour add 10.0.0.1 lladdr 02:00:00:00:00:01 dev dut nud permanent
    ip neighbour add 10.0.1.2 lladdr 02:00:00:00:01:02 dev out nud permanent
)";

} // namespace

Result<void> shell(const std::string &command) {
    if (const int status = std::system(command.c_str()); status != 0)
        return fail("run", command, 0, "iproute2 and procps must be installed",
                    "it ended with status " + std::to_string(status));
    return {};
}

Result<Network> Network::make(const Options &options) {
    if (unshare(CLONE_NEWNET) != 0)
        return fail("make a network namespace", "", errno, "run as root");
    const auto sizes =
        "MTU=" + std::to_string(options.mtu) + " QUEUES=" + std::to_string(options.queues);
    if (auto built = shell(sizes + topology); !built)
        return std::unexpected(built.error());
    const auto device = [](const char *name) {
        return Device{.name = name, .ifindex = static_cast<int>(if_nametoindex(name))};
    };
    return Network{
        .gen = device("gen"), .dut = device("dut"), .out = device("out"), .sink = device("sink")};
}

Result<Attached> Attached::make(const Network::Device &device, int program) {
    const int error = bpf_xdp_attach(device.ifindex, program, XDP_FLAGS_DRV_MODE, nullptr);
    if (error != 0)
        return fail("attach XDP program to", device.name, -error);
    return Attached(device.ifindex);
}

Result<void> Attached::replace(int program) {
    const int error = bpf_xdp_attach(ifindex_, program, XDP_FLAGS_DRV_MODE, nullptr);
    if (error != 0)
        return fail("replace XDP program", "", -error);
    return {};
}

Attached::~Attached() {
    if (ifindex_ != 0)
        bpf_xdp_detach(ifindex_, XDP_FLAGS_DRV_MODE, nullptr);
}

Result<DeviceCounters> counters(const Network::Device &device) {
    // /proc/net follows the namespace; /sys/class/net was mounted in another.
    std::ifstream table("/proc/thread-self/net/dev");
    const std::string prefix = std::string(device.name) + ":";
    for (std::string line; std::getline(table, line);) {
        std::istringstream fields(line);
        std::string name;
        std::uint64_t bytes = 0, packets = 0, errors = 0, dropped = 0;
        if (fields >> name >> bytes >> packets >> errors >> dropped && name == prefix)
            return DeviceCounters{.received = packets, .dropped = dropped};
    }
    return fail("read the counters of", device.name, 0, {}, "no such line in /proc/net/dev");
}

} // namespace olaf::bench
