// SPDX-License-Identifier: BSD-2-Clause
// The queue's books against the server's: every update that left the queue is one that the server
// received, or one that is counted as lost behind the queue.
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tap.hpp"
#include "traffic.hpp"

namespace olaf::test::books_test {
namespace {

using namespace std::chrono_literals;

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

std::uint64_t lost(const Status &status) {
    std::uint64_t sum = 0;
    for (const auto &[place, updates] : status.json.at("lost_behind_updates").items())
        sum += updates.get<std::uint64_t>();
    return sum;
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
        return status["updates_out"] == received() + lost(status);
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
    Books() { make_lossless(bed); }

    void attach(std::vector<std::string> more = {}) {
        more.insert(more.end(), GetParam().options.begin(), GetParam().options.end());
        bed.attach(more);
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

std::string name_of(const testing::TestParamInfo<Case> &info) {
    return info.param.name;
}

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
    Frame short4 = bed.path(4).carrying(Update{});
    set_be(short4.bytes, short4.l3 + 2, 8, 2);
    set_be(short4.bytes, short4.l3 + 10, ipv4_checksum(short4.bytes, short4.l3), 2);
    Frame short6 = bed.path(6).hop_by_hop().carrying(Update{});
    set_be(short6.bytes, short6.l3 + 4, 4, 2);
    const std::vector<Frame> frames(10, short4), more(10, short6);
    const PacketSocket socket(bed.worker, "eth0");
    socket.send(frames);
    socket.send(more);
    const auto before = bed.olaf.await([](const Status &s) { return s["bypassed"] >= 20; });
    EXPECT_EQ(before["received"], 0u);
    EXPECT_EQ(lost(before), 0u) << before.json.dump();
    send(50);
    await_balance_with(bed.olaf, server);
}

INSTANTIATE_TEST_SUITE_P(All, BooksOfAServerHere,
                         testing::Values(Case{"Native", Way::local, native},
                                         Case{"NativePaced", Way::local, native_paced},
                                         Case{"Generic", Way::local, generic},
                                         Case{"GenericPaced", Way::local, generic_paced}),
                         name_of);

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
    EXPECT_EQ(lost(status) > 0, status.json["mode"] == "native");
}

/// Bridged: addresses of the output would go down with it.
class BooksOfABridge : public BooksOfAServerThere {};

TEST_P(BooksOfABridge, BalanceWhenTheOutputGoesDownUnderLoad) {
    attach();
    const auto frames = frames_of(bed, folded_updates(256, 7));
    {
        const std::jthread flaps([&](const std::stop_token &stop) {
            for (bool up = false; !stop.stop_requested() || up; up = !up)
                bed.host.ip(std::string("link set out ") + (up ? "up" : "down") + "\n");
        });
        flood(bed, frames, 40);
    }
    bed.host.ip("link set out up\n");
    bed.olaf.await_drained(std::uint64_t{256} * 40 * cpus());
    EXPECT_GT(lost(await_balance()), 0u);
}

/// The drain's departures meet the output's queueing discipline; XDP's don't.
TEST_P(BooksOfAServerThere, BalanceWhenTheOutputsQueueIsFull) {
    bed.host.tc("qdisc add dev out root tbf rate 200kbit burst 2000 limit 2000\n");
    attach({"--policy", "fifo"}); // many departures, not a few folded ones
    send(300);
    bed.host.tc("qdisc del dev out root\n"); // and with it what it holds
    EXPECT_GT(lost(await_balance()), 0u);
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
INSTANTIATE_TEST_SUITE_P(All, BooksOfABridge, bridged, name_of);
INSTANTIATE_TEST_SUITE_P(All, BooksOfAServerThere, everywhere, name_of);

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
    std::vector<std::string> options{"--forward", "out"};
    options.insert(options.end(), GetParam().options.begin(),
                   GetParam().options.end());
    olaf.attach(options);
    std::vector<Frame> frames;
    for (const auto &update : folded_updates(200, 3))
        frames.push_back(ipv4().carrying(update));
    PacketSocket(worker, "eth0").send(frames);
    expect_identities(olaf.await_drained(frames.size()));
    EXPECT_GT(lost(await_balance_with(olaf, tap)), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, BooksOfATap, bridged, name_of);

} // namespace
} // namespace olaf::test::books_test
