// SPDX-License-Identifier: BSD-2-Clause
// What leaves by the output: whatever its driver does with the frames that XDP redirects to it, no update
// is lost, and none is called lost that arrives.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "traffic.hpp"

namespace olaf::test::output_test {
namespace {

class Output : public testing::TestWithParam<Way> {
  protected:
    /// 1,500 updates a second come, of which 4 Mbit/s may leave.
    void attach(std::vector<std::string> options) {
        options.insert(options.end(), {"--rate", "4mbit", "--queue", "8"});
        bed.worker.tc("qdisc add dev eth0 root tbf rate 7200kbit burst 3000 limit 10mb\n");
        bed.attach(options);
    }
    /// Sends updates until all have left.
    Status pass(const std::vector<std::string> &options) {
        attach(options);
        const auto frames = frames_of(bed, random_updates(2000, 64, 64, 1));
        PacketSocket(bed.worker, "eth0").send(frames);
        auto status = bed.olaf.await_drained(frames.size());
        expect_identities(status);
        return status;
    }

    Testbed bed{{.way = GetParam()}};
    const UdpSocket server{bed.server(), Testbed::server_peer(4)};
    Collector collector{server};
};

TEST_P(Output, GetsEveryDepartureAndIsAsItWasAfterwards) {
    const auto before = traces(bed.host);
    const auto status = pass({});
    EXPECT_EQ(status.lost_behind(), 0u) << status.json.dump();
    EXPECT_EQ(collector.await(status["updates_out"]).updates, status["updates_out"]);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

TEST_P(Output, GetsEveryDepartureInSkbMode) {
    const auto status = pass({"--mode", "skb"});
    EXPECT_EQ(status.json["mode"], "skb");
    EXPECT_EQ(status.lost_behind(), 0u) << status.json.dump();
    EXPECT_EQ(collector.await(status["updates_out"]).updates, status["updates_out"]);
}

TEST_P(Output, TakesMostDeparturesInFramesThatArrive) {
    const auto status = pass({"--mode", "native"});
    EXPECT_EQ(status.lost_behind(), 0u) << status.json.dump();
    EXPECT_GT(2 * status["departed_riding"], status["departed"]) << status.json.dump();
    EXPECT_EQ(status.json["gate"]["xdp_shut_cpus"], 0);
}

/// What an administrator may do while updates come. A driver may refuse it.
TEST_P(Output, KeepsItsBooksWhileItsDevicesAreChanged) {
    attach({});
    const auto send_some = [&] {
        PacketSocket(bed.worker, "eth0").send(frames_of(bed, random_updates(50, 4, 64, 1)));
    };
    const auto change = [&](const std::vector<std::string> &command) {
        (void)run(command, {}, &bed.host);
        const auto before = bed.olaf.status()["received"];
        send_some();
        (void)bed.olaf.await([&](const Status &now) { return now["received"] > before; });
    };
    for (const std::string device : {"in", "out"}) {
        for (const auto *offload : {"gro", "tx", "tso", "rx"})
            for (const auto *state : {"off", "on"})
                change({"ethtool", "-K", device, offload, state});
        for (const auto *places : {"128", "256"})
            change({"ethtool", "-G", device, "rx", places, "tx", places});
        change({"ethtool", "-L", device, "combined", "1"});
        for (const auto *mtu : {"1400", "1500"})
            change({"ip", "link", "set", device, "mtu", mtu});
    }
    bed.host.ip("link set in down\n");
    send_some();
    change({"ip", "link", "set", "in", "up"});
    const auto all_sent = [&] {
        return says(run({"tc", "-s", "qdisc", "show", "dev", "eth0"}, {}, &bed.worker).out, "backlog 0b 0p");
    };
    std::uint64_t out = 0, lost = 0;
    const auto status = bed.olaf.await([&](const Status &now) {
        out = now["updates_out"], lost = now.lost_behind();
        return now.queue("length") == 0 && collector.updates() == out - lost && bool(all_sent());
    });
    expect_identities(status);
    EXPECT_EQ(bed.olaf.await_drained(status["received"])["updates_out"], out);
    EXPECT_EQ(collector.updates(), out - lost);
    const auto &verdict = status.json["verdict"];
    EXPECT_TRUE(verdict["state"] == "working" || verdict["state"] == "idle") << verdict.dump();
}

INSTANTIATE_TEST_SUITE_P(Of, Output, testing::Values(Way::routed, Way::upstream4), by_way);

/// A veth's peer without NAPI takes nothing that XDP redirects, and all that the drain sends.
TEST(OutputAlone, WhatItRefusesOfXdpTheDrainSendsUntilItTakesAFrameThatHoldsNoUpdate) {
    Testbed bed{{.way = Way::bridged}};
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    Collector collector(server);
    bed.attach({"--rate", "unlimited", "--mode", "native"});
    const PacketSocket socket(bed.worker, "eth0");
    Status status;
    std::uint64_t sent = 0;
    const auto send = [&](std::uint32_t count) {
        std::jthread([&] {
            pin_to(0); // each CPU has a gate of its own
            socket.send(frames_of(bed, random_updates(count, 1, 8, 3)));
        }).join();
        status = bed.olaf.await_drained(sent += count);
    };
    const auto gate = [&](const char *key) { return status.json["gate"][key].get<std::uint64_t>(); };
    // In bursts, so that some are folded.
    const auto send_until = [&](const std::function<bool()> &satisfied) {
        await([&] { return send(30), satisfied(); }, [&] { return status.json.dump(); });
    };

    send(20);
    EXPECT_EQ(gate("xdp_shut_cpus"), 0u);
    set_offloads(bed.server(), "eth0", {.gro = false});
    send(1);
    EXPECT_EQ(gate("xdp_shut_cpus"), 1u);
    EXPECT_EQ(status.lost_behind(), 1u);
    send_until([&] { return gate("probes") > 2; });
    EXPECT_EQ(gate("xdp_shut_cpus"), 1u);
    set_offloads(bed.server(), "eth0", {});
    send_until([&] { return gate("xdp_shut_cpus") == 0; });
    EXPECT_EQ(status.lost_behind(), 1u);
    EXPECT_EQ(collector.await(sent - 1).updates, sent - 1);
}

/// Such as virtio_net without mergeable buffers: it takes XDP programs, and runs them for no frame.
TEST(NicsAlone, ADriverThatNeverRunsTheProgramIsTold) {
    Testbed bed{{.way = Way::local}};
    bed.attach({"--mode", "native"});
    PacketSocket(bed.worker, "eth0").send(frames_of(bed, random_updates(200, 4, 8, 3)));
    const auto status =
        bed.olaf.await([](const Status &now) { return now.json["verdict"]["state"] == "blocked"; });
    EXPECT_EQ(status["received"], 0u);
    EXPECT_TRUE(says(status.json["verdict"]["text"], "runs the queue's program for none of the"));
}

TEST(NicsAlone, AGuestThatStoodStillGoesOnWithWhatWaits) {
    Testbed bed{{.way = Way::routed}};
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    Collector collector(server);
    bed.attach({"--rate", "20kbit", "--mode", "native"}); // a burst takes four seconds to leave
    const PacketSocket socket(bed.worker, "eth0");
    const auto frames = frames_of(bed, random_updates(100, 16, 64, 3));
    socket.send(frames);
    pause_guest(3);
    socket.send(frames);
    const auto status = bed.olaf.await_drained(2 * frames.size());
    expect_identities(status);
    EXPECT_GT(status["updates_in"], status["departed"] + status["passed_through"]) << "nothing waited";
    EXPECT_EQ(status.lost_behind(), 0u) << status.json.dump();
    EXPECT_EQ(collector.await(status["updates_out"]).updates, status["updates_out"]);
    EXPECT_EQ(status.json["gate"]["xdp_shut_cpus"], 0);
}

/// What leaves between the failure of the bond's only port and the bond's noticing is lost, as it is of every
/// sender; the rest waits.
TEST(NicsBonded, WhatWaitsIsKeptWhileNoPortHasACarrier) {
    Testbed bed{{.way = Way::routed}};
    const auto doctor = [&] { return bed.olaf({"doctor", "in", "out"}).out; };
    EXPECT_TRUE(says(doctor(), "out doesn't watch their carrier"));
    EXPECT_TRUE(says(doctor(), "ip link set out type bond miimon 100"));
    bed.host.ip("link set out type bond miimon 100\n");
    EXPECT_FALSE(doctor().contains("carrier:"));

    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    Collector collector(server);
    bed.attach({"--rate", "1mbit", "--policy", "aggregate"});
    const PacketSocket socket(bed.worker, "eth0");
    const auto frames = frames_of(bed, random_updates(9, 9, 8, 3));
    bed.unplug_cable();
    std::uint64_t sent = 0;
    const auto before = bed.olaf.await([&](const Status &now) {
        socket.send(frames);
        sent += frames.size();
        return now["updates_waiting"] >= frames.size();
    });
    EXPECT_EQ(before.json["verdict"]["state"], "blocked") << before.json["verdict"].dump();
    bed.plug_cable();
    const auto status = bed.olaf.await_drained(sent);
    expect_identities(status);
    EXPECT_EQ(status["dropped_full"], 0u);
    EXPECT_GE(collector.await(before["updates_waiting"]).updates, before["updates_waiting"]);
}

/// For cards that merge frames, such as vmxnet3 by LRO: no XDP program may be on them then.
TEST(NicsMerging, WhatAProgramSwitchesOffIsOnAgainAfterDetach) {
    Testbed bed{{.way = Way::local}};
    const auto features = [&] { return run({"ethtool", "-k", "in"}, {}, &bed.host).out; };
    const auto before = features();
    ASSERT_TRUE(says(before, "large-receive-offload: on")) << before;
    const auto said = bed.olaf({"attach", "in", "--local", "--mode", "skb"}).err;
    EXPECT_TRUE(says(said, "without LRO until olaf detach")) << said;
    EXPECT_TRUE(says(features(), "large-receive-offload: off"));
    bed.olaf.detach();
    EXPECT_EQ(features(), before);
}

} // namespace
} // namespace olaf::test::output_test
