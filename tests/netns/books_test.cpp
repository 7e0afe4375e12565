// SPDX-License-Identifier: BSD-2-Clause
// No loss is invisible: the queue's books against the server's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>

#include "killed_at.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::books_test {
namespace {

// The queue's books against the server's: every update that left the queue is one that the server
// received, or one that is counted as lost behind the queue.

using namespace std::chrono_literals;

/// A device whose other end is this process: what leaves by it waits in a ring until it is read.
class Tap {
  public:
    /// Up, with a ring for so many frames.
    Tap(const Netns &netns, const std::string &device, unsigned frames) {
        const Inside inside(netns);
        fd_ = Fd(open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
        ifreq request{};
        request.ifr_flags = IFF_TAP | IFF_NO_PI;
        std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
        if (!fd_ || ioctl(fd_.get(), TUNSETIFF, &request) != 0)
            throw std::runtime_error("cannot make tap " + device);
        netns.ip("link set " + device + " txqueuelen " + std::to_string(frames) + " up\n");
    }

    /// The next frame, or nothing within the time.
    [[nodiscard]] std::optional<Bytes> poll(std::chrono::milliseconds time) const {
        pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, static_cast<int>(time.count())) <= 0)
            return std::nullopt;
        Bytes frame(65536);
        const auto bytes = read(fd_.get(), frame.data(), frame.size());
        if (bytes <= 0)
            return std::nullopt;
        frame.resize(static_cast<std::size_t>(bytes));
        return frame;
    }

  private:
    Fd fd_;
};

/// Updates as a queue behind another queue gets them: several folded into one.
std::vector<Update> folded_updates(std::size_t count, unsigned seed) {
    auto updates = random_updates(count, 9, 8, seed);
    for (std::size_t i = 0; i < updates.size(); i++)
        updates[i].count = 1 + static_cast<std::uint32_t>(i % 5);
    return updates;
}

std::uint64_t lost_at(const Status &status, const char *place) {
    return status.json.at("lost_behind_updates").at(place).get<std::uint64_t>();
}

/// Reads until nothing has come for a while.
std::uint64_t read_all(const UdpSocket &server) {
    std::uint64_t updates = 0;
    while (const auto datagram = server.poll(100ms))
        updates += datagram->payload.empty() ? 0 : datagram->update().count;
    return updates;
}

std::uint64_t read_all(const Tap &tap) {
    std::uint64_t updates = 0;
    while (auto frame = tap.poll(100ms))
        if (const auto received = parse_update(std::move(*frame)))
            updates += received->update.count;
    return updates;
}

/// Awaits the balance: what has left the queue may still be on its way, so that neither the server
/// nor a counter has it yet. `received` tells how many updates the server has had so far.
Status await_balance(const OlafCommand &olaf, const std::function<std::uint64_t()> &received) {
    return olaf.await([&](const Status &status) {
        return status["updates_out"] == received() + status.lost_behind();
    });
}

/// The same with a socket or a tap that nobody has read from.
template <typename Unread> Status await_balance_with(const OlafCommand &olaf, const Unread &unread) {
    std::uint64_t read = 0;
    return await_balance(olaf, [&] { return read += read_all(unread); });
}

struct Case {
    const char *name;
    Way way;
    std::vector<std::string> options;
};

class Books : public testing::TestWithParam<Case> {
  protected:
    void attach(const std::vector<std::string> &more = {}) {
        bed.attach(joined(more, GetParam().options));
    }

    /// Sends updates that pass the queue, and waits until it has had them.
    Status send(std::size_t count) {
        const auto frames = frames_of(bed, folded_updates(count, seed_++));
        PacketSocket(bed.worker, "eth0").send(frames);
        sent_ += count;
        const auto status = bed.olaf.await_drained(sent_);
        expect_identities(status);
        return status;
    }

    Testbed bed{{.way = GetParam().way, .queues = 2}};
    std::uint64_t sent_ = 0;
    unsigned seed_ = 1;
};

const std::vector<std::string> native = {"--mode", "native"}, generic = {"--mode", "skb"},
                               native_paced = {"--mode", "native", "--rate", "5mbit"},
                               generic_paced = {"--mode", "skb", "--rate", "5mbit"};

class BooksOfAServerHere : public Books {};

TEST_P(BooksOfAServerHere, BalanceWhenItReadsTooLate) {
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    attach();
    server.limit_room(4096);
    send(300);
    EXPECT_GT(lost_at(await_balance_with(bed.olaf, server), "socket"), 0u);
}

TEST_P(BooksOfAServerHere, BalanceWhenItIsNotThere) {
    attach();
    send(100);
    const auto status = await_balance(bed.olaf, [] { return 0u; });
    EXPECT_GT(lost_at(status, "socket"), 0u);
}

/// UDP's memory is the whole kernel's: in a guest of the test's own.
TEST(NicsShortOfMemory, BooksBalanceWhereUdpHasNoneForWhatComes) {
    constexpr auto setting = "/proc/sys/net/ipv4/udp_mem"; // in pages
    std::string usual;
    std::getline(std::ifstream(setting), usual);
    for (const auto *mode : {"native", "skb"}) {
        Testbed bed{{.way = Way::local}};
        const UdpSocket server(bed.server(), Testbed::server_peer(4));
        bed.attach({"--mode", mode});
        std::ofstream(setting) << "1 1 1" << std::flush;
        PacketSocket(bed.worker, "eth0").send(frames_of(bed, folded_updates(300, 1)));
        bed.olaf.await_drained(300);
        EXPECT_GT(lost_at(await_balance_with(bed.olaf, server), "socket"), 0u) << mode;
        std::ofstream(setting) << usual << std::flush;
    }
}

/// A reverse path filter drops what comes from an address that is reached by another device.
TEST_P(BooksOfAServerHere, BalanceWhenTheStackRefuses) {
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    attach();
    send(100);
    bed.host.sysctl("ipv4/conf/in/rp_filter", "1");
    bed.host.ip("route add 10.0.0.1/32 dev lo\n");
    send(100);
    EXPECT_GT(lost_at(await_balance_with(bed.olaf, server), "stack"), 0u);
}

/// A packet that is shorter than its headers is none of the queue's, though it carries an update.
TEST_P(BooksOfAServerHere, SayNothingOfWhatTheStackRefusesAndTheQueueNeverTook) {
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    attach();
    const PacketSocket socket(bed.worker, "eth0");
    socket.send(std::vector(10, with_ip(bed.path(4).carrying(Update{}), 2, 8, 2)));
    socket.send(std::vector(10, with_ip(bed.path(6).hop_by_hop().carrying(Update{}), 4, 4, 2)));
    const auto before = bed.olaf.await([](const Status &s) { return s["bypassed"] >= 20; });
    EXPECT_EQ(before["received"], 0u);
    EXPECT_EQ(before.lost_behind(), 0u) << before.json.dump();
    send(50);
    await_balance_with(bed.olaf, server);
}

INSTANTIATE_TEST_SUITE_P(All, BooksOfAServerHere,
                         testing::Values(Case{"Native", Way::local, native},
                                         Case{"NativePaced", Way::local, native_paced},
                                         Case{"Generic", Way::local, generic},
                                         Case{"GenericPaced", Way::local, generic_paced}),
                         by_name);

class BooksOfAServerThere : public Books {
  protected:
    UdpSocket server{bed.server(), Testbed::server_peer(GetParam().way == Way::upstream6 ? 6 : 4)};
    Collector collector{server};

    Status await_balance() {
        return books_test::await_balance(bed.olaf, [&] { return collector.updates(); });
    }
};

/// Native redirects into a veth end at a peer without NAPI; generic ones don't.
TEST_P(BooksOfAServerThere, BalanceWhenItsDeviceRefuses) {
    attach();
    send(100);
    collector.await(bed.olaf.status()["updates_out"]);
    set_offloads(bed.server(), "eth0", {.gro = false});
    send(100);
    set_offloads(bed.server(), "eth0", {});
    send(100);
    const auto status = await_balance();
    EXPECT_EQ(status.lost_behind() > 0, status.json["mode"] == "native");
}

/// Bridged: addresses of the output would go down with it.
class BooksOfABridge : public BooksOfAServerThere {};

TEST_P(BooksOfABridge, BalanceWhenTheOutputGoesDownUnderLoad) {
    attach();
    const auto frames = frames_of(bed, folded_updates(256, 7));
    bed.host.ip("link set out down\n");
    flood(bed, frames, 1); // however late the thread comes that changes this
    {
        const std::jthread flaps([&](const std::stop_token &stop) {
            for (bool up = true; !stop.stop_requested() || up; up = !up)
                bed.host.ip(std::string("link set out ") + (up ? "up" : "down") + "\n");
        });
        flood(bed, frames, 39);
    }
    bed.host.ip("link set out up\n");
    bed.olaf.await_drained(std::uint64_t{256} * 40 * cpus());
    EXPECT_GT(await_balance().lost_behind(), 0u);
}

/// The drain's departures meet the output's queueing discipline; XDP's don't.
TEST_P(BooksOfAServerThere, BalanceWhenTheOutputsQueueIsFull) {
    bed.host.tc("qdisc add dev out root tbf rate 200kbit burst 2000 limit 2000\n");
    attach({"--policy", "fifo"}); // many departures, not a few folded ones
    send(300);
    bed.host.tc("qdisc del dev out root\n"); // and with it what it holds
    EXPECT_GT(await_balance().lost_behind(), 0u);
}

const auto bridged =
    testing::Values(Case{"Native", Way::bridged, native}, Case{"Generic", Way::bridged, generic},
                    Case{"NativePaced", Way::bridged, native_paced},
                    Case{"GenericPaced", Way::bridged, generic_paced});
const auto everywhere = testing::Values(Case{"BridgedNative", Way::bridged, native_paced},
                                        Case{"BridgedGeneric", Way::bridged, generic_paced},
                                        Case{"RoutedNative", Way::routed, native_paced},
                                        Case{"RoutedGeneric", Way::routed, generic_paced},
                                        Case{"Upstream4Native", Way::upstream4, native_paced},
                                        Case{"Upstream6Generic", Way::upstream6, generic_paced});
INSTANTIATE_TEST_SUITE_P(All, BooksOfABridge, bridged, by_name);
INSTANTIATE_TEST_SUITE_P(All, BooksOfAServerThere, everywhere, by_name);

/// A peer that reads too late: its ring has room for a few frames.
class BooksOfATap : public testing::TestWithParam<Case> {};

TEST_P(BooksOfATap, BalanceWhenItsRingIsFull) {
    Netns host("host"), worker("worker");
    const Tap tap(host, "out", 4);
    worker.ip("link add name eth0 type veth peer name in netns " + host.name() +
              "\nlink set eth0 up\n");
    host.ip("link add name bridge type bridge\nlink set in master bridge up\n"
            "link set out master bridge\nlink set bridge up\n");
    OlafCommand olaf(host, "in");
    olaf.attach(joined({"--forward", "out"}, GetParam().options));
    std::vector<Frame> frames;
    for (const auto &update : folded_updates(200, 3))
        frames.push_back(ipv4().carrying(update));
    PacketSocket(worker, "eth0").send(frames);
    expect_identities(olaf.await_drained(frames.size()));
    EXPECT_GT(await_balance_with(olaf, tap).lost_behind(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, BooksOfATap, bridged, by_name);

// ---- losses ----
// No loss is invisible: what an output device refuses is counted as lost behind the queue.

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

    /// Sends updates of which some are lost. The driver refuses them after the queue has counted them.
    Lost lose(std::uint32_t count) {
        send(count);
        return lost(bed.olaf.await([](const Status &now) { return now.lost_behind() > 0; }));
    }

    /// XDP sends again once the output has taken a frame of its that holds no update.
    void send_until_xdp_may() {
        while (send(1).json["gate"]["xdp_shut_cpus"] != 0)
            continue;
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
    bed.attach({"--rate", "unlimited"});
    send(50);
    EXPECT_EQ(lost(drained()), (Lost{0, 0, 0, 0}));
    bed.server().ip("link set eth0 down\n");
    EXPECT_GT(lose(40).transmit, 0u);
    bed.server().ip("link set eth0 up\n");
    EXPECT_EQ(lost(drained()).redirect, 0u);
    send_until_xdp_may();
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
    const auto before = traces(bed.host);
    bed.attach({"--rate", "unlimited"});
    bed.server().ip("link set eth0 down\n");
    const auto first = lose(5).transmit;
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
    const auto attach = bed.olaf.without_btf("attach in --forward out");
    EXPECT_EQ(attach.status, 0) << attach.err;
    EXPECT_TRUE(says(attach.err, "in: losses behind the queue won't be counted: "));
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
    const auto behind = lost(olaf.await_drained(12));
    EXPECT_GT(behind.redirect + behind.transmit, 0u); // by the redirect since Linux 6.3
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
    bed.olaf.await([&](const Status &now) {
        flood(bed, frames, 1);
        return lost_at(now, "device") > 0;
    });
    // The server's kernel counts what comes: nobody listens there.
    const auto status = bed.olaf.await([&](const Status &now) {
        return bed.server().snmp("UdpNoPorts") + lost_at(now, "device") == now["updates_out"];
    });
    expect_identities(status);
}

// ---- losses outside ----
// What dies on its way up before the entrance is there never passed the queue: it is no loss of the
// queue's, though the programs that count losses are there already.

class LossesOutside : public testing::TestWithParam<const char *> {
  protected:
    std::vector<std::string> command() {
        return bed.olaf.command({"attach", "in", "--local", "--mode", GetParam()});
    }

    /// How many links attach makes, of which the entrance's is the last. By a run of its own.
    unsigned count_links() {
        Stepped attach(command());
        unsigned links = 0;
        while (const auto change = attach.step())
            links += *change == Change::link;
        EXPECT_EQ(attach.finish(), 0);
        bed.olaf.detach();
        return links;
    }

    /// Sends an update to the server that isn't there; the host's stack answers by ICMP.
    void be_refused() {
        worker.send(Update{.cluster = 1}, bed.target(4));
        while (const auto frame = wire.poll(patience))
            if (frame->at(12) == 0x08 && frame->at(13) == 0x00 && frame->at(23) == IPPROTO_ICMP)
                return;
        throw WaitRanOut("an answer by ICMP");
    }

    /// Sends an update whose UDP checksum is wrong, and waits until it has arrived: nobody looks at that
    /// before the server reads.
    void send_spoilt(std::uint32_t count) {
        auto frame = bed.path(4).carrying(Update{.cluster = 1, .count = count});
        frame.bytes[frame.l4 + 6] ^= 0x55;
        wire.send(frame.bytes);
        const UdpSocket behind(bed.server(), {.address = "0.0.0.0", .port = 0});
        worker.send(Update{.cluster = 1}, {.address = bed.target(4).address, .port = behind.port()});
        static_cast<void>(behind.receive());
    }

    static std::uint64_t lost(const Status &status) { return lost_at(status, "socket"); }

    Testbed bed;
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    PacketSocket wire{bed.worker, "eth0"};
};

TEST_P(LossesOutside, AreNotTheQueuesBeforeTheEntranceIsThere) {
    bed.host.sysctl("ipv4/icmp_ratelimit", "0");
    const auto links = count_links();
    ASSERT_GT(links, 1u);
    Stepped attach(command());
    for (unsigned made = 0; made < links;) {
        const auto change = attach.step();
        ASSERT_TRUE(change);
        made += *change == Change::link;
    }
    for (int i = 0; i < 10; i++)
        be_refused();
    EXPECT_EQ(attach.finish(), 0);
    EXPECT_EQ(lost(bed.olaf.status()), 0u);
    be_refused();
    const auto status = bed.olaf.await([](const Status &s) { return s["received"] == 1; });
    EXPECT_EQ(lost(status), 1u); // from here on they are
    EXPECT_EQ(status["updates_out"], 1u);
}

// What came before the entrance was there may die behind it. No queue admits such a count.
TEST_P(LossesOutside, AreNotTheQueuesWhereTheCountIsOneThatItRefuses) {
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    const auto lost_of = [&](std::uint32_t count) {
        send_spoilt(count);
        bed.olaf.attach({"--local", "--mode", GetParam()});
        const Inside reader(bed.server());
        EXPECT_FALSE(server.poll(std::chrono::milliseconds(0))) << "its checksum is wrong";
        const auto lost_behind = lost(bed.olaf.status());
        bed.olaf.detach();
        return lost_behind;
    };
    EXPECT_EQ(lost_of(3), 3u);
    EXPECT_EQ(lost_of(OLAF_LIMIT_MAX_COUNT + 1), 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, LossesOutside, testing::Values("native", "skb"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace olaf::test::books_test
