// SPDX-License-Identifier: BSD-2-Clause
// No loss is invisible: what an output device refuses is counted as lost behind the queue.
#include <gtest/gtest.h>

#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::losses_test {
namespace {

struct Lost {
    std::uint64_t redirect, transmit, send_back, drain;
    bool operator==(const Lost &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Lost &lost) {
    return out << "redirect " << lost.redirect << " transmit " << lost.transmit << " send_back "
               << lost.send_back << " drain " << lost.drain;
}

Lost lost(const Status &status) {
    const auto &object = status.json.at("lost_behind");
    const auto number = [&](const char *key) { return object.at(key).get<std::uint64_t>(); };
    return {number("redirect"), number("transmit"), number("send_back"), number("drain_send")};
}

class Losses : public testing::Test {
  protected:
    /// Sends updates, and waits until the queue has had them: they may wait there.
    Status send(std::uint32_t count) {
        sent_ += count;
        const auto frames = frames_of(bed, random_updates(count, 4, 8, 3));
        const PacketSocket socket(bed.worker, "eth0");
        socket.send(frames);
        return bed.olaf.await([&](const Status &now) { return now["received"] >= sent_; });
    }

    /// Waits until all of them have left.
    Status drained() const {
        const auto status = bed.olaf.await_drained(sent_);
        expect_identities(status);
        return status;
    }

    Testbed bed{{.way = Way::bridged}};

  private:
    std::uint64_t sent_ = 0;
};

/// What is on its way when a device goes is lost; the rest waits until it is back.
TEST_F(Losses, BehindADeviceThatIsDownOrWhosePeerIs) {
    make_lossless(bed);
    bed.attach({"--rate", "unlimited"});
    send(50);
    EXPECT_EQ(lost(drained()), (Lost{0, 0, 0, 0}));
    bed.server().ip("link set eth0 down\n");
    EXPECT_GT(lost(send(40)).transmit, 0u);
    bed.server().ip("link set eth0 up\n");
    EXPECT_EQ(lost(drained()).redirect, 0u);
    bed.host.ip("link set out down\n");
    EXPECT_GT(lost(send(30)).redirect, 0u);
    bed.host.ip("link set out up\n");
    const auto before = lost(drained());
    send(20);
    EXPECT_EQ(lost(drained()), before);
}

/// The drain's departures go through a helper that tells how it went.
TEST_F(Losses, OfTheDrain) {
    bed.attach(slow_link);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    occupy(bed, worker, server);
    worker.send(Update{.cluster = 1}, bed.target(4));
    bed.host.ip("link set out down\n");
    const auto status = bed.olaf.await_drained(3);
    EXPECT_EQ(lost(status), (Lost{0, 0, 0, 1}));
    EXPECT_EQ(status.failed(), 1u);
}

TEST_F(Losses, AreCountedOnThroughAReplacementAndForgottenWithTheQueue) {
    make_lossless(bed);
    const auto before = traces(bed.host);
    bed.attach({"--rate", "unlimited"});
    bed.server().ip("link set eth0 down\n");
    const auto first = lost(send(5)).transmit;
    EXPECT_GT(first, 0u);
    bed.olaf.replace();
    EXPECT_GE(lost(bed.olaf.status()).transmit, first);
    bed.server().ip("link set eth0 up\n");
    EXPECT_EQ(drained()["updates_waiting"], 0u);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
    bed.attach({"--rate", "unlimited"});
    EXPECT_EQ(lost(bed.olaf.status()), (Lost{0, 0, 0, 0}));
    bed.olaf.detach();
}

/// A device's index says nothing without its namespace: another queue's losses are not ours.
TEST_F(Losses, AreThoseOfOneQueueAlone) {
    make_lossless(bed);
    bed.attach({"--rate", "unlimited"});
    Netns other("other"), far("far");
    other.ip("link add name in type veth peer name eth0 netns " + far.name() +
             "\n"
             "link add name out type veth peer name eth1 netns " +
             far.name() +
             "\n"
             "link set in up\nlink set out up\n");
    far.ip("link set eth0 up\nlink set eth1 up\n");
    ASSERT_EQ(other.ifindex("in"), bed.host.ifindex("in"));
    OlafCommand olaf(other, "in");
    olaf.attach({"--forward", "out", "--rate", "unlimited"});
    other.ip("link set out down\n");
    const auto frames = frames_of(bed, random_updates(25, 4, 8, 3));
    PacketSocket(far, "eth0").send(frames);
    EXPECT_GT(lost(olaf.await([](const Status &now) { return now["received"] >= 25; })).redirect, 0u);
    EXPECT_EQ(lost(bed.olaf.status()), (Lost{0, 0, 0, 0}));
}

/// A kernel that tells no layouts (BTF) lets nobody watch: attach says so, and works without.
TEST_F(Losses, AreUnknownWhereNobodyMayWatch) {
    const auto &host = bed.host.name();
    const auto attach = run({"unshare", "--mount", "sh", "-c",
                             "mount --bind /dev/null /sys/kernel/btf/vmlinux && exec " OLAF_BINARY
                             " --netns " + host + " attach in --forward out"});
    EXPECT_EQ(attach.status, 0) << attach.err;
    EXPECT_NE(attach.err.find("in: losses behind the queue won't be counted: "), std::string::npos);
    for (const auto *key : {"redirect", "transmit", "send_back"})
        EXPECT_TRUE(bed.olaf.status().json.at("lost_behind").at(key).is_null()) << key;
    EXPECT_EQ(bed.olaf.status().json.at("lost_behind").at("drain_send"), 0);
    bed.olaf.replace(); // here it may be watched
    EXPECT_EQ(lost(bed.olaf.status()), (Lost{0, 0, 0, 0}));
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
}

/// Back out of the device that updates come by: a veth whose peer has neither XDP nor GRO.
TEST(LossesOneArmed, OfWhatIsSentBack) {
    Netns host("host"), worker("worker");
    worker.ip("link add name eth0 type veth peer name in netns " + host.name() +
              "\nlink set eth0 up\n");
    host.ip("link set in up\n");
    set_offloads(worker, "eth0", {});
    OlafCommand olaf(host, "in");
    olaf.attach({"--forward", "in", "--rate", "unlimited", "--mode", "native"});
    run({"ethtool", "-K", "eth0", "gro", "off"}, "", &worker);
    std::vector<Frame> frames;
    for (std::uint32_t i = 0; i < 12; i++)
        frames.push_back(ipv4().to({2, 0, 0, 0, 0, 0x77}).carrying(Update{.cluster = i}));
    PacketSocket(worker, "eth0").send(frames);
    // What isn't lost the drain sends: its frames need no NAPI.
    EXPECT_GT(lost(olaf.await_drained(12)).send_back, 0u);
}

/// The device's NAPI gets a thread of its own, which runs when nobody else wants the CPU.
void make_slow(const Netns &netns, const std::string &device) {
    // `ip netns exec` mounts the namespace's own sysfs.
    const auto outcome = run({"ip", "netns", "exec", netns.name(), "sh", "-ec",
                              "echo 1 > /sys/class/net/" + device + "/threaded\n" +
                                  "chrt --idle --pid 0 $(pgrep --newest napi/" + device + ")"});
    if (outcome.status)
        throw std::runtime_error(outcome.err);
}

/// Generic XDP sends an skb. A veth takes it before its peer may find its ring full.
TEST(LossesInGenericMode, OfAVethWhoseRingIsFull) {
    Testbed bed({.way = Way::bridged});
    make_slow(bed.server(), "eth0");
    bed.attach({"--mode", "skb", "--rate", "unlimited"});
    const auto frames = frames_of(bed, random_updates(256, 4, 8, 61));
    const auto lost = [](const Status &status) {
        return status.json.at("lost_behind_updates").at("device").get<std::uint64_t>();
    };
    await(
        [&] {
            flood(bed, frames, 1);
            return lost(bed.olaf.status()) > 0;
        },
        [] { return "a loss"; });
    // The server's kernel counts what comes: nobody listens there.
    const auto status = bed.olaf.await([&](const Status &now) {
        return bed.server().snmp("UdpNoPorts") + lost(now) == now["updates_out"];
    });
    EXPECT_GT(lost(status), 0u);
    expect_identities(status);
}

} // namespace
} // namespace olaf::test::losses_test
