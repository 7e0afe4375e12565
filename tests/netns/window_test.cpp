// SPDX-License-Identifier: BSD-2-Clause
// Departures by ACKs, between real sockets: a slow server, lost ACKs, a server that dies.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

#include "olaf/window.h"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::window_test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t clusters = 9;

std::uint64_t window(const Status &status, const char *key) {
    return status.json.at("window").at(key).get<std::uint64_t>();
}
bool silent(const Status &status) { return status.json.at("window").at("silent").get<bool>(); }

/// A parameter server as the window sees it: takes its time over each update, then answers.
class AnsweringServer {
  public:
    struct Manner {
        std::chrono::microseconds service{0}; ///< time it takes over an update
        bool answers = true;
        /// Called for each update it has served, on its thread.
        std::function<void(const Update &)> served = {};
    };

    AnsweringServer(const UdpSocket &socket, Manner manner)
        : socket_(socket), manner_(std::move(manner)), answers_(manner_.answers),
          collector_(socket, [this](const Datagram &datagram, const Update &update) {
              serve(datagram, update);
          }) {}

    /// From now on it answers, or not.
    void set_answers(bool answers) { answers_ = answers; }
    /// Waits until it has served so many updates, folded ones counted; throws WaitRanOut when
    /// patience has passed.
    void await_updates(std::uint64_t updates) { (void)collector_.await(updates); }
    void await_messages(std::uint64_t messages) { (void)collector_.await_messages(messages); }

  private:
    void serve(const Datagram &datagram, const Update &update) {
        // The service itself, one update after another: a thread that computes would take
        // the test's CPUs from it.
        free_ = std::max(free_, std::chrono::steady_clock::now()) + manner_.service;
        if (manner_.service.count() != 0)
            std::this_thread::sleep_until(free_);
        if (answers_)
            socket_.send(ack_of(update), datagram.source);
        if (manner_.served)
            manner_.served(update);
    }

    const UdpSocket &socket_;
    Manner manner_;
    std::atomic<bool> answers_;
    std::chrono::steady_clock::time_point free_;
    Collector collector_; // last: its thread uses the rest
};

/// Updates of every cluster, each unlike any before it.
class Workers {
  public:
    Workers(const Testbed &bed, int family)
        : to_(bed.target(family)), socket_(bed.worker, Testbed::worker_peer(family)) {}
    void send(std::uint32_t cluster) {
        sent_++;
        socket_.send(Update{.cluster = cluster,
                            .worker = static_cast<std::uint32_t>(sent_ / clusters % 3),
                            .sequence = static_cast<std::uint32_t>(sent_),
                            .generated_ns = 1000 + sent_,
                            .lanes = std::vector<std::uint64_t>(20, sent_)},
                     to_);
    }
    void send_all() {
        for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
            send(cluster);
    }
    [[nodiscard]] std::uint64_t sent() const { return sent_; }

  private:
    Peer to_;
    UdpSocket socket_;
    std::uint64_t sent_ = 0;
};

struct Case {
    const char *name;
    Way way;
    const char *window;
    const char *mode = "auto";
    int family = 4;       ///< of the workers
    bool partial = false; ///< the server's device is left the checksum
};

class Windowed : public testing::TestWithParam<Case> {
  protected:
    Windowed() {
        if (GetParam().partial)
            set_offloads(bed.server(), bed.server_device(), {.tx_checksum = true});
    }
    void attach(const std::vector<std::string> &more = {}) {
        bed.attach(joined(
            {"--window", GetParam().window, "--mode", GetParam().mode, "--policy", "aggregate"},
            more));
    }
    SocketBed bed{{.way = GetParam().way}, GetParam().family};
    Workers workers{bed, bed.family};
    const UdpSocket &socket = bed.to;
};

/// 100 updates a second are served, 18 times as many are offered.
TEST_P(Windowed, ASlowServerKeepsTheQueueBoundedAndLosesNothing) {
    attach({"--queue", "16"});
    AnsweringServer server(socket, {.service = milliseconds(10), .served = [&](const Update &) {
                                        workers.send_all();
                                        workers.send_all();
                                    }});
    workers.send_all();
    const std::uint64_t most =
        GetParam().window == std::string("auto") ? OLAF_MAX_WINDOW : std::stoul(GetParam().window);
    for (int part = 1; part <= 5; part++) {
        server.await_messages(static_cast<std::uint64_t>(part) * 16);
        const auto status = bed.olaf.status();
        EXPECT_LE(status.queue("length"), clusters);
        EXPECT_LE(window(status, "in_flight"), most);
        EXPECT_EQ(status["dropped_full"], 0u);
    }
    bed.olaf.detach(); // sends what waits
}

/// Nothing arrives that a departure could ride on: each ACK lets the next one go.
TEST_P(Windowed, EachAckSetsOffADeparture) {
    attach();
    workers.send_all();
    const auto at_first = GetParam().window == std::string("1") ? 1u : 4u;
    bed.olaf.await([&](const Status &s) {
        return s["received"] == clusters && s["passed_through"] == at_first;
    });
    std::deque<Datagram> taken;
    std::uint64_t updates = 0;
    const auto take = [&] {
        taken.push_back(socket.receive());
        updates += taken.back().update().count;
    };
    for (unsigned i = 0; i < at_first; i++)
        take();
    EXPECT_FALSE(socket.poll(milliseconds(50))) << "nothing leaves without an ACK";
    while (updates < clusters) {
        socket.send(ack_of(taken.front().update()), taken.front().source);
        taken.pop_front();
        take();
    }
    const auto status = bed.olaf.await([](const Status &s) { return !s.token_alive(); });
    EXPECT_EQ(status["updates_out"], clusters);
    EXPECT_EQ(window(status, "in_flight"), at_first);
    EXPECT_EQ(window(status, "acked"), clusters - at_first);
    EXPECT_GE(status.drain("kicks"), (clusters - at_first) / 2);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    bed.expect_checksums_right();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Windowed,
    testing::Values(
        Case{"Local", Way::local, "4"}, Case{"LocalAuto", Way::local, "auto"},
        Case{"Local6", Way::local, "4", "auto", 6}, Case{"LocalGeneric", Way::local, "4", "skb"},
        Case{"LocalPartial", Way::local, "4", "auto", 4, true}, Case{"Bridged", Way::bridged, "4"},
        Case{"BridgedOne", Way::bridged, "1"}, Case{"BridgedAuto", Way::bridged, "auto"},
        Case{"BridgedPartial6", Way::bridged, "4", "auto", 6, true},
        Case{"BridgedPartial", Way::bridged, "4", "auto", 4, true},
        Case{"Routed", Way::routed, "4"}, Case{"RoutedGeneric6", Way::routed, "4", "skb", 6},
        Case{"OneArmed", Way::one_armed, "4"}, Case{"Upstream4", Way::upstream4, "4"},
        Case{"Upstream6From4", Way::upstream6, "4"},
        Case{"UpstreamGeneric", Way::upstream4, "auto", "skb"},
        Case{"UpstreamPartial", Way::upstream4, "4", "auto", 4, true}),
    by_name);

struct Loss {
    const char *name;
    Way way;
    const char *window;
};

class LostAcks : public testing::TestWithParam<Loss> {};

/// A tenth of the ACKs is dropped before the queue sees them.
TEST_P(LostAcks, NeverStall) {
    Testbed bed{{.way = GetParam().way}};
    bed.attach({"--window", GetParam().window, "--policy", "aggregate"});
    // Before Olaf's filter sees it: of two filters of one priority the one that came last runs first.
    const Losing loss(bed.host, bed.upstream() ? "out" : "in",
                      bed.upstream() ? Losing::received : Losing::sent, 10);
    Workers workers(bed, 4);
    const UdpSocket socket(bed.server(), Testbed::server_peer(4));
    AnsweringServer server(socket, {.served = [&](const Update &update) {
                               if (workers.sent() < 6000) {
                                   workers.send(update.cluster);
                                   workers.send((update.cluster + 1) % clusters);
                               }
                           }});
    workers.send_all();
    // What is behind a lost ACK waits a timeout, tens of milliseconds; not for ever.
    bed.olaf.await([](const Status &s) { return s["received"] >= 6000; });
    const auto status = bed.olaf.await_drained(workers.sent());
    server.await_updates(workers.sent());
    EXPECT_EQ(status["updates_out"], workers.sent());
    EXPECT_EQ(status["updates_dropped"], 0u);
    const auto left = status["passed_through"] + status["departed"];
    EXPECT_LT(window(status, "acked") + window(status, "late"), left * 19 / 20) << "ACKs were lost";
    EXPECT_EQ(window(status, "acked") + window(status, "released") + window(status, "forgiven") +
                  window(status, "in_flight"),
              left);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, LostAcks,
    testing::Values(Loss{"Local", Way::local, "8"}, Loss{"LocalOne", Way::local, "1"},
                    Loss{"LocalAuto", Way::local, "auto"}, Loss{"Bridged", Way::bridged, "8"},
                    Loss{"Routed", Way::routed, "auto"}, Loss{"Upstream", Way::upstream4, "8"}),
    by_name);

TEST(WindowServer, DiesAndComesBack) {
    Testbed bed{{.way = Way::bridged}};
    bed.attach({"--window", "8", "--policy", "aggregate"});
    Workers workers(bed, 4);
    const UdpSocket socket(bed.server(), Testbed::server_peer(4));
    AnsweringServer server(socket, {});
    workers.send_all();
    server.await_updates(workers.sent());

    server.set_answers(false);
    bed.olaf.await([&](const Status &s) {
        workers.send_all();
        return silent(s);
    });
    // It is asked less and less often: the rest waits, folded.
    const auto asked = bed.olaf.status();
    workers.send_all();
    const auto later = bed.olaf.await([&](const Status &s) {
        return window(s, "forgiven") > window(asked, "forgiven");
    });
    EXPECT_LE(window(later, "in_flight"), 1u);
    EXPECT_GT(later["updates_waiting"], 0u);
    EXPECT_GT(window(later, "timeout_ns"), 10'000'000u);

    server.set_answers(true);
    const auto back = bed.olaf.await_drained(workers.sent());
    EXPECT_FALSE(silent(back));
    server.await_updates(workers.sent());
    EXPECT_EQ(back["updates_out"], workers.sent());
    expect_identities(back);
}

TEST(WindowServer, DeadIsNotWaitedForByDetach) {
    Testbed bed;
    const auto before = traces(bed.host);
    bed.attach({"--window", "2"});
    Workers workers(bed, 4);
    const UdpSocket socket(bed.server(), Testbed::server_peer(4));
    workers.send_all();
    bed.olaf.await([&](const Status &s) { return s["received"] == clusters; });
    EXPECT_EQ(bed.olaf.status().queue("length"), clusters - 2);
    bed.olaf.detach();
    for (std::uint32_t i = 0; i < clusters; i++)
        EXPECT_EQ(socket.receive().update().cluster, i);
    EXPECT_EQ(traces(bed.host), before);
}

TEST(WindowReplace, ChangesAndState) {
    Testbed bed;
    bed.attach({"--window", "2"});
    Workers workers(bed, 4);
    const UdpSocket socket(bed.server(), Testbed::server_peer(4));
    workers.send_all();
    bed.olaf.await([&](const Status &s) { return s["received"] == clusters; });
    bed.olaf.replace();
    auto status = bed.olaf.status();
    EXPECT_EQ(window(status, "size"), 2u);
    EXPECT_TRUE(status.json["rate_bps"].is_null());
    // Nobody answers, so what is in flight may be given up meanwhile; it is not forgotten.
    EXPECT_GE(window(status, "in_flight") + window(status, "forgiven"), 2u);
    EXPECT_EQ(window(status, "in_flight") + window(status, "forgiven"),
              status["passed_through"] + status["departed"]);

    bed.olaf.replace({"--window", "5"});
    status = bed.olaf.await([](const Status &s) {
        return window(s, "in_flight") + window(s, "forgiven") >= 5; // the token lets three more go
    });
    EXPECT_EQ(window(status, "size"), 5u);

    bed.olaf.replace({"--window", "off"});
    status = bed.olaf.await_drained(clusters);
    EXPECT_TRUE(status.json["window"].is_null());
    for (std::uint32_t i = 0; i < clusters; i++)
        EXPECT_EQ(socket.receive().update().cluster, i);

    bed.olaf.replace({"--window", "auto"});
    EXPECT_TRUE(bed.olaf.status().json["window"]["auto"].get<bool>());
    AnsweringServer server(socket, {});
    workers.send_all();
    server.await_updates(clusters);
    expect_identities(bed.olaf.await_drained(2 * clusters));
}

} // namespace
} // namespace olaf::test::window_test
