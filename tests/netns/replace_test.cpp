// SPDX-License-Identifier: BSD-2-Clause
// `attach --replace`, which changes a queue at work, and `reset`, which lets its figures start anew.
#include <gtest/gtest.h>

#include <atomic>

#include "killed_at.hpp"
#include "listening.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::replace_test {
namespace {

// `attach --replace` under load: the new programs take the queue over, and no update is lost,
// doubled or let by unseen.

class Replace : public testing::TestWithParam<Way> {
  protected:
    SocketBed bed{{.way = GetParam(), .queues = 2}};
};

TEST_P(Replace, UnderLoadLosesNothing) {
    bed.attach({"--policy", "aggregate", "--rate", "10mbit"});
    bed.olaf.cluster({"set", "0-8", "--max-count", "65535"});
    const auto old = kernel_objects(bed.host);
    Collector collector(bed.to);
    Flooding flooding(bed, random_updates(256, 9, 8, 31));
    for (const char *rate : {"20mbit", "5mbit", "10mbit"}) {
        bed.olaf.replace({"--rate", rate});
        EXPECT_EQ(bed.olaf.status().json["policy"], "aggregate");
    }
    expect_all_arrive(bed, flooding.stop(), collector);
    EXPECT_EQ(bed.olaf.status().json["rate_bps"], 10'000'000);
    for (const auto program : old.programs)
        EXPECT_FALSE(kernel_objects(bed.host).programs.contains(program));
    await_freed({.programs = old.programs, .maps = {}});
}

INSTANTIATE_TEST_SUITE_P(All, Replace, testing::Values(Way::local, Way::bridged, Way::routed),
                         by_way);

TEST(ReplaceState, IsKept) {
    SocketBed bed;
    const auto before = traces(bed.host);
    bed.attach(slow_link);
    bed.olaf.cluster({"set", "3", "--policy", "newest"});
    occupy(bed);
    bed.send(Update{.cluster = 3, .worker = 1, .lanes = {1}});
    bed.olaf.await([](const Status &s) { return s["received"] == 3; });
    bed.olaf.replace({"--rate", "10kbit"});
    bed.send(Update{.cluster = 3, .worker = 2, .lanes = {2}});
    for (auto left = bed.olaf.await_drained(4)["updates_out"] - 2; left > 0; left--)
        EXPECT_EQ(bed.receive().cluster, 3u);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["received"], 4u);
    EXPECT_EQ(status["passed_through"] + status["appended"] + status["replaced"], 4u);
    expect_identities(status);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

TEST(ReplaceNothing, SaysSo) {
    Testbed bed;
    const auto before = traces(bed.host);
    const auto told = bed.olaf({"attach", "in", "--replace"});
    EXPECT_TRUE(refused(told, "in"));
    EXPECT_EQ(std::count(told.err.begin(), told.err.end(), '\n'), 1) << told.err;
    EXPECT_EQ(traces(bed.host), before);
}

/// The remedy that the verdict names for it.
TEST(ReplaceWithoutClsact, PutsItBackAndDetachTakesItAway) {
    SocketBed bed({.way = Way::local});
    const auto before = traces(bed.host);
    bed.attach(slow_link);
    bed.host.tc("qdisc del dev in clsact");
    EXPECT_TRUE(says(bed.olaf({"status", "in"}).out, "olaf attach in --replace"));
    bed.olaf.replace();
    EXPECT_TRUE(says(bed.olaf({"doctor", "in"}).out, "the queue's are all on their hooks"));
    bed.send(Update{.cluster = 1});
    EXPECT_EQ(bed.receive().cluster, 1u);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

// ---- replace way ----
// `attach --replace` that sends updates another way, or asks who sends them, under load: servers
// that count get every update, and none is refused.

const Peer host_server{.address = "10.0.0.254"}, server{.address = "10.0.1.2"},
    other_server{.address = "10.0.1.3"};

struct WayChange {
    const char *name;
    std::vector<std::string> from, to;
    Peer target; ///< that workers send to
    const char *kind;
};

struct TwoServers : Testbed {
    TwoServers() : Testbed({.way = Way::upstream4}) {
        server().ip("address add 10.0.1.3/24 dev eth0\n");
        host.ip("neighbour add 10.0.1.3 lladdr " + text(server_mac) + " dev out nud permanent\n");
    }
};

class ReplaceWay : public testing::TestWithParam<WayChange> {
  protected:
    std::uint64_t collected() { return here.updates() + there.updates() + elsewhere.updates(); }

    TwoServers bed;
    UdpSocket host_socket{bed.host, host_server}, server_socket{bed.server(), server},
        other_socket{bed.server(), other_server};
    Collector here{host_socket}, there{server_socket}, elsewhere{other_socket};
};

/// Sends updates of eight clusters, up to a thousand in a second, until it is asked to stop: more than
/// the rate lets out. Many more would be lost on a busy machine, by the ring of a veth, while they pass
/// unpaced.
std::jthread sender(const Testbed &bed, const Peer &target, std::atomic<std::uint64_t> &sent) {
    return std::jthread([&bed, target, &sent](const std::stop_token &stop) {
        const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
        while (!stop.stop_requested()) {
            const auto number = static_cast<std::uint32_t>(sent++);
            worker.send(Update{.cluster = number % 8, .sequence = number}, target);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
}

TEST_P(ReplaceWay, LosesAndRefusesNothingUnderLoad) {
    const auto &change = GetParam();
    auto arguments = change.from;
    arguments.insert(arguments.end(), {"--policy", "aggregate", "--rate", "500kbit"});
    bed.olaf.attach(arguments);
    bed.olaf.cluster({"set", "0-7", "--max-count", "65535"});
    std::atomic<std::uint64_t> sent = 0;
    auto sending = sender(bed, change.target, sent);
    for (int turn = 0; turn < 3; turn++) {
        for (const auto &way : {change.to, change.from}) {
            const auto before = sent.load();
            while (sent < before + 250) // so that something waits
                std::this_thread::yield();
            bed.olaf.replace(way);
        }
    }
    bed.olaf.replace(change.to);
    sending.request_stop();
    sending.join();
    bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 0 && !s.token_alive(); });
    const auto status = bed.olaf.status(); // exact, where the one before may have been read halfway
    EXPECT_EQ(status.json["deliver"]["kind"], change.kind);
    EXPECT_EQ(status["not_allowed"], 0u);
    EXPECT_EQ(status.dropped(), 0u);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
    await([&] { return collected() >= sent; },
          [&] { return std::to_string(sent) + " updates: " + status.json["lost_behind"].dump(); });
    EXPECT_EQ(collected(), sent);
}

INSTANTIATE_TEST_SUITE_P(
    All, ReplaceWay,
    testing::Values(
        WayChange{"LocalToForward", {"--local"}, {"--forward", "out"}, server, "forward"},
        WayChange{
            "LocalToUpstream", {"--local"}, {"--upstream", "10.0.1.2"}, host_server, "upstream"},
        WayChange{"ForwardToUpstream",
                  {"--forward", "out"},
                  {"--upstream", "10.0.1.2"},
                  server,
                  "upstream"},
        WayChange{"UpstreamToAnother",
                  {"--upstream", "10.0.1.2"},
                  {"--upstream", "10.0.1.3"},
                  host_server,
                  "upstream"}),
    by_name);

TEST(ReplaceAllow, NewlyGivenRefusesNoListedSender) {
    for (int round = 0; round < 2; round++) {
        Testbed bed{{.way = Way::upstream4}};
        const UdpSocket socket(bed.server(), server);
        Collector collector(socket);
        bed.attach();
        std::atomic<std::uint64_t> sent = 0;
        auto sending = sender(bed, host_server, sent);
        bed.olaf.replace({"--allow", "10.0.0.0/24"});
        bed.olaf.replace({"--allow", "10.0.0.1", "--allow", "192.0.2.0/24"});
        bed.olaf.replace({"--allow", "10.0.0.0/16"});
        sending.request_stop();
        sending.join();
        const auto status = bed.olaf.await_drained(sent);
        EXPECT_EQ(status["not_allowed"], 0u);
        EXPECT_EQ(collector.await(sent).updates, sent);
        const UdpSocket stranger(bed.worker, {.address = "10.0.0.1"}); // still asked at all
        bed.olaf.replace({"--allow", "192.0.2.0/24"});
        stranger.send(Update{}, host_server);
        bed.olaf.await([](const Status &s) { return s["not_allowed"] == 1; });
    }
}

TEST(ReplaceWayBlocked, SaysWhyAndTheOldQueueWorksOn) {
    Testbed bed{{.way = Way::upstream4}};
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket socket(bed.server(), server);
    bed.attach(slow_link);
    bed.set_drain("down");
    occupy(bed, worker, socket);
    worker.send(Update{.cluster = 1}, host_server);
    bed.olaf.await([](const Status &s) { return s["appended"] == 1; });
    bed.host.ip("link set out down\n");
    EXPECT_TRUE(refused(bed.olaf({"attach", "in", "--replace", "--local"}), "out is down"));
    EXPECT_EQ(bed.olaf.status().json["deliver"]["kind"], "upstream");
    EXPECT_EQ(bed.olaf.status()["updates_waiting"], 1u);
    bed.host.ip("link set out up\nneighbour replace 10.0.1.2 lladdr " + text(server_mac) +
                " dev out nud permanent\n");
    bed.set_drain("up");
    worker.send(Update{.cluster = 2}, host_server);
    EXPECT_EQ(socket.receive().update().cluster, 1u);
}

/// A queue before a slow link, whose updates are to go to another server.
class ToAnotherServer : public testing::Test {
  protected:
    std::vector<std::string> command() {
        return bed.olaf.command({"attach", "in", "--replace", "--upstream", "10.0.1.3"});
    }
    /// Each takes almost half a second, so that some of them wait.
    void send_large() {
        const std::vector<std::uint64_t> large(128, 1);
        for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
            worker.send(Update{.cluster = cluster, .lanes = large}, bed.target(4));
        bed.olaf.await([](const Status &s) { return s["received"] == clusters; });
    }
    void expect_all_by_the_old_way() {
        for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
            EXPECT_EQ(before.receive().update().cluster, cluster);
        worker.send(Update{.cluster = 9}, bed.target(4));
        EXPECT_EQ(after.receive().update().cluster, 9u);
        const auto status = bed.olaf.await_drained(clusters + 1);
        EXPECT_EQ(status["updates_out"], clusters + 1);
        EXPECT_EQ(status.failed(), 0u);
        expect_identities(status);
    }

    static constexpr std::uint32_t clusters = 6;
    TwoServers bed;
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket before{bed.server(), {.address = "10.0.1.2"}};
    UdpSocket after{bed.server(), {.address = "10.0.1.3"}};
};

TEST_F(ToAnotherServer, WhatWaitsLeavesByTheOldWay) {
    bed.attach(slow_link);
    send_large();
    bed.olaf.replace({"--upstream", "10.0.1.3"});
    expect_all_by_the_old_way();
}

// ---- replace stopped ----
// `attach --replace` that sends updates another way, stopped for longer than its lease to drain:
// what comes meanwhile leaves by the old way, and the command goes on to its end all the same.

/// The steps of the command that matter here, from 1.
struct Steps {
    unsigned hold = 0;     ///< drained; the order that nothing leaves either
    unsigned prove = 0;    ///< the drain's programs are the new ones: a proof is about to be sent
    unsigned entrance = 0; ///< and XDP's is about to be
};

enum class At { hold, first_filter, proof, entrance };

class ReplaceStopped : public ToAnotherServer, public testing::WithParamInterface<At> {
  protected:
    /// By a run of its own, that nothing disturbs.
    Steps find_steps() {
        bed.attach(slow_link);
        Stepped replace(command());
        Steps found;
        unsigned map = 0, step = 0;
        while (const auto change = replace.step()) {
            step++;
            if (*change == Change::map)
                map = step;
            if (*change == Change::run && found.prove == 0)
                found.prove = step, found.hold = map;
            if (*change == Change::link && found.entrance == 0)
                found.entrance = step;
        }
        EXPECT_EQ(replace.finish(), 0);
        bed.olaf.detach();
        return found;
    }

    static unsigned wanted(const Steps &steps) {
        switch (GetParam()) {
        case At::hold:
            return steps.hold;
        case At::first_filter:
            return steps.hold + 1;
        case At::proof:
            return steps.prove;
        case At::entrance:
            return steps.entrance;
        }
        return 0;
    }
};

TEST_P(ReplaceStopped, WhatCameToWaitLeavesByTheOldWay) {
    const auto stop_at = wanted(find_steps());
    bed.attach(slow_link);
    Stepped replace(command());
    for (unsigned step = 0; step < stop_at; step++)
        ASSERT_TRUE(replace.step());
    bed.olaf.await([](const Status &s) { return s.json["emptying"] == false; });
    send_large();
    EXPECT_GT(bed.olaf.status()["updates_waiting"], 1u);
    EXPECT_EQ(replace.finish(), 0);
    expect_all_by_the_old_way();
}

std::string name_of(const testing::TestParamInfo<At> &info) {
    constexpr const char *names[] = {"BeforeTheHold", "BeforeTheFilters", "BeforeTheProof",
                                     "BeforeTheEntrance"};
    return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Steps, ReplaceStopped,
                         testing::Values(At::hold, At::first_filter, At::proof, At::entrance),
                         name_of);

// ---- reset ----
// olaf reset: all figures start anew, and no update is lost by it.

class Resetting : public testing::Test {
  protected:
    nlohmann::json reset() {
        const auto outcome = bed.olaf({"reset", "in", "--json"});
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return nlohmann::json::parse(outcome.out);
    }

    void send_one(std::uint32_t cluster) {
        const Update update{.cluster = cluster};
        bed.send(update);
        EXPECT_EQ(bed.receive(), update);
    }

    SocketBed bed{{.way = Way::bridged}};
};

TEST_F(Resetting, WhatWaitsCountsAsJustArrived) {
    bed.attach({"--rate", "4kbit"}); // busy for two seconds with what occupies it
    occupy(bed);
    for (std::uint32_t cluster = 0; cluster < 3; cluster++)
        bed.send(Update{.cluster = cluster});
    bed.send(Update{.cluster = 1, .worker = 9}); // folded, for it is another's
    bed.olaf.await([](const Status &now) { return now["received"] == 6; });
    const auto answer = reset();
    expect_schema("reset", answer.dump());
    EXPECT_EQ(answer.at("updates_waiting"), 4);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["updates_in"], 4u);
    EXPECT_EQ(status["appended"], 3u);
    EXPECT_EQ(status["departed"], 0u);
    EXPECT_EQ(status.json.at("aom").at("clusters"), 0);
    bed.receive(4);
    const auto end = bed.olaf.await([](const Status &now) { return now["departed"] == 3; });
    EXPECT_EQ(end["updates_out"], 4u);
    EXPECT_EQ(end.json.at("aom").at("clusters"), 3);
    expect_identities(end);
}

TEST_F(Resetting, UnderAFloodIsExact) {
    bed.attach({"--rate", "20mbit", "--policy", "aggregate"});
    bed.olaf.cluster({"set", "0-8", "--max-count", "65535"});
    const auto updates = random_updates(256, 9, 8, 52);
    Collector collector(bed.to);
    std::atomic<bool> over = false;
    std::atomic<unsigned> resets = 0;
    std::jthread command([&] {
        while (!over) {
            reset();
            resets++;
        }
    });
    Tally sent;
    while (resets <= 3)
        sent.add(flood(bed, updates, 100));
    over = true;
    command.join();
    EXPECT_EQ(collector.await(sent.updates).clusters, sent.clusters);
    const auto status = bed.olaf.await([&](const Status &now) {
        return now["updates_waiting"] == 0 && now["received"] < sent.updates;
    });
    expect_identities(status);
    reset();
    EXPECT_EQ(bed.olaf.status()["received"], 0u);
    EXPECT_EQ(bed.olaf.status()["updates_out"], 0u);
    flood(bed, updates, 1);
    const auto more = bed.olaf.await([](const Status &now) {
        return now["received"] == 256 * cpus() && now["updates_waiting"] == 0;
    });
    expect_identities(more);
}

TEST_F(Resetting, OutlivesAReplacementAndEndsWithTheQueue) {
    const auto before = traces(bed.host);
    bed.attach({"--rate", "unlimited"});
    const auto send_two = [&] {
        for (unsigned i = 0; i < 2; i++)
            send_one(i);
    };
    send_two();
    reset();
    send_two();
    bed.olaf.replace();
    EXPECT_EQ(bed.olaf.await([](const Status &now) { return now["received"] >= 2; })["received"],
              2u);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
    bed.attach({"--rate", "unlimited"});
    send_two();
    EXPECT_EQ(bed.olaf.await([](const Status &now) { return now["received"] >= 2; })["received"],
              2u);
}

/// At every step of the command: the old start or the new one, and the next reset works.
TEST_F(Resetting, KilledMidwayLeavesOneOfBothStarts) {
    bed.attach({"--rate", "unlimited"});
    send_one(1);
    reset();
    for (int i = 0; i < 3; i++)
        send_one(1);
    bed.olaf.await([](const Status &now) { return now["received"] == 3; });
    unsigned kept = 0, anew = 0;
    for (unsigned step = 1; killed_at(bed.olaf.command({"reset", "in"}), step); step++) {
        const auto status = bed.olaf.status();
        expect_identities(status);
        ASSERT_TRUE(status["received"] == 3 || status["received"] == 0) << status["received"];
        (status["received"] == 3 ? kept : anew)++;
        if (anew != 0)
            break;
    }
    EXPECT_GT(kept, 0u);
    reset();
    EXPECT_EQ(bed.olaf.status()["received"], 0u);
}

TEST_F(Resetting, OfWhatIsNotThereSaysSo) {
    const auto outcome = bed.olaf({"reset", "in"});
    EXPECT_TRUE(refused(outcome, "in"));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

} // namespace
} // namespace olaf::test::replace_test
