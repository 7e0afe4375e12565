// SPDX-License-Identifier: BSD-2-Clause
// `detach` sends what waits first, also under load, and leaves nothing behind; or says why it can't.
#include <gtest/gtest.h>

#include <bpf/bpf.h>
#include <csignal>
#include <cstring>
#include <thread>

#include "loader/attachment/attachment.hpp"
#include "loader/host/netns.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::detach_test {
namespace {

// `detach` sends what waits first, also under load, and leaves nothing behind.

class Detach : public testing::TestWithParam<Way> {
  protected:
    SocketBed bed{{.way = GetParam()}};
};

TEST_P(Detach, SendsWhatWaitsAndLeavesNoTrace) {
    const auto before = traces(bed.host);
    bed.attach(slow_link);
    const auto objects = kernel_objects(bed.host);
    if (!bed.card) {
        EXPECT_EQ(objects.programs.size(), 5u); // entrance, egress, the three of the drain
        EXPECT_GE(objects.maps.size(), 9u);
        EXPECT_NE(traces(bed.host), before);
    }
    occupy(bed);
    for (std::uint32_t i = 0; i < 6; i++)
        bed.send(Update{.cluster = i});
    bed.olaf.detach();
    for (std::uint32_t i = 0; i < 6; i++)
        EXPECT_EQ(bed.receive().cluster, i);
    EXPECT_EQ(traces(bed.host), before);
    await_freed(objects);
}

TEST_P(Detach, UnderLoadLosesNothing) {
    bed.attach({"--policy", "aggregate", "--rate", "4mbit"});
    bed.olaf.cluster({"set", "0-8", "--max-count", "65535"});
    const auto objects = kernel_objects(bed.host);
    const auto updates = random_updates(128, 9, 8, 21);
    Collector collector(bed.to);
    auto sent = flood(bed, updates, 8);
    Process detaching(bed.olaf.command({"detach", "in"}));
    while (detaching.running())
        sent.add(flood(bed, updates, 8));
    sent.add(flood(bed, updates, 8)); // what comes after it arrives as it was sent
    const auto ended = detaching.wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
    const auto tally = collector.await(sent.updates);
    EXPECT_EQ(tally.clusters, sent.clusters);
    EXPECT_LT(tally.messages, sent.messages);
    await_freed(objects);
}

INSTANTIATE_TEST_SUITE_P(All, Detach, testing::Values(Way::local, Way::bridged), by_way);

/// A queue that takes long to empty, and a detach that is about it.
class DetachInterrupted : public testing::TestWithParam<int> {
  protected:
    SocketBed bed;
};

TEST_P(DetachInterrupted, LeavesTheQueueAsItWas) {
    bed.attach({"--rate", "50kbit"});
    occupy(bed); // 1 KiB more: a sixth of a second each
    const auto large = std::vector<std::uint64_t>(128, 1);
    for (std::uint32_t i = 0; i < 6; i++)
        bed.send(Update{.cluster = i, .lanes = large});
    bed.olaf.await([](const Status &s) { return s["appended"] == 6; });
    Process detaching(bed.olaf.command({"detach", "in"}));
    bed.olaf.await([](const Status &s) { return s.json["emptying"] == true; });
    detaching.kill(GetParam());
    EXPECT_NE(detaching.wait().status, 0);
    EXPECT_GT(bed.olaf.status().queue("length"), 0u); // it landed midway
    // A catchable signal ends the order at once, SIGKILL when its lease has run out.
    if (GetParam() != SIGKILL) {
        EXPECT_EQ(bed.olaf.status().json["emptying"], false);
    }
    bed.olaf.await([](const Status &s) { return s.json["emptying"] == false; });
    std::uint64_t sent = 8;
    bed.olaf.await([&, appended = bed.olaf.status()["appended"]](const Status &s) {
        if (s["appended"] > appended)
            return true; // it waits
        bed.send(Update{.cluster = 7, .lanes = large});
        sent++;
        return false;
    });
    const auto status = bed.olaf.await_drained(sent);
    EXPECT_EQ(status["updates_out"], sent);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(Signals, DetachInterrupted, testing::Values(SIGINT, SIGTERM, SIGKILL),
                         [](const auto &info) { return std::string(sigabbrev_np(info.param)); });

// ---- detach obstacle ----
// `detach` when what waits can't leave: it says why and the queue works on; --force drops it.

struct Obstacle {
    const char *name;
    Way way;
    const char *on_host;   ///< ip commands that put it there
    const char *on_server;
    const char *away_host; ///< and take it away
    const char *away_server;
    const char *said;
};

class DetachObstacle : public testing::TestWithParam<Obstacle> {
  protected:
    /// Three updates wait, for longer than a test takes, with the obstacle before them. The drain
    /// is down as well, so that none is even tried.
    void let_wait() {
        bed.attach(slow_link);
        bed.set_drain("down");
        occupy(bed);
        for (std::uint32_t i = 0; i < 3; i++)
            bed.send(Update{.cluster = i});
        bed.olaf.await([](const Status &s) { return s["appended"] == 3; });
        put(bed.host, GetParam().on_host);
        put(bed.server(), GetParam().on_server);
    }
    void take_away() {
        put(bed.host, GetParam().away_host);
        put(bed.server(), GetParam().away_server);
        bed.set_drain("up");
    }
    static void put(const Netns &netns, const std::string &commands) {
        if (!commands.empty())
            netns.ip(commands);
    }

    SocketBed bed{{.way = GetParam().way}};
};

TEST_P(DetachObstacle, IsNamedAndTheQueueWorksOn) {
    let_wait();
    const auto told = bed.olaf({"detach", "in"});
    EXPECT_TRUE(refused(told, GetParam().said));
    EXPECT_TRUE(says(told.err, "3 updates wait"));
    const auto status = bed.olaf.status();
    EXPECT_EQ(status["updates_waiting"], 3u);
    EXPECT_EQ(status.json["emptying"], false);
    take_away();
    bed.send(Update{.cluster = 4});
    bed.olaf.await_drained(6);
    for (const std::uint32_t cluster : {0, 1, 2, 4})
        EXPECT_EQ(bed.receive().cluster, cluster);
}

TEST_P(DetachObstacle, ForceDropsAndCounts) {
    const auto before = traces(bed.host);
    let_wait();
    const auto told = bed.olaf({"--json", "detach", "in", "--force"});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(nlohmann::json::parse(told.out)["updates_dropped"], 3);
    EXPECT_TRUE(says(told.err, GetParam().said));
    EXPECT_TRUE(bed.olaf({"status"}).out.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, DetachObstacle,
    testing::Values(Obstacle{"OutputDown", Way::bridged, "link set out down\n", "",
                             "link set out up\n", "", "out is down"},
                    Obstacle{"NoCarrier", Way::bridged, "", "link set eth0 down\n", "",
                             "link set eth0 up\n", "out has no carrier"},
                    Obstacle{"NoRoute", Way::routed, "address del 10.0.1.254/24 dev out\n", "",
                             "address add 10.0.1.254/24 dev out\nneighbour replace 10.0.1.2 lladdr "
                             "02:00:00:00:00:0b dev out nud permanent\n",
                             "", "no route to 10.0.1.2"},
                    Obstacle{"NextHopSilent", Way::upstream4, "neighbour del 10.0.1.2 dev out\n",
                             "",
                             "neighbour replace 10.0.1.2 lladdr 02:00:00:00:00:0b dev out nud "
                             "permanent\n",
                             "", "the next hop 10.0.1.2 doesn't answer on out"},
                    Obstacle{"TheDrainAlone", Way::bridged, "", "", "", "", "olaf2a is down"}),
    by_name);

/// Two next hops that don't answer take turns at the front of the queue, and more comes for both.
/// Neither is a sign that the queue empties itself.
class DetachFromDeadServers : public testing::Test {
  protected:
    DetachFromDeadServers() {
        bed.attach({"--policy", "aggregate"});
        for (const auto *const dead : {"10.0.1.8", "10.0.1.9"})
            worker.send(Update{.cluster = 1}, Peer{.address = dead});
        bed.olaf.await([](const Status &s) { return s["updates_waiting"] == 2; });
        sender = std::jthread([this](const std::stop_token &stop) {
            for (std::uint32_t i = 0; !stop.stop_requested(); i++) {
                worker.send(Update{.cluster = 2 + i % 64},
                            Peer{.address = i % 2 == 0 ? "10.0.1.8" : "10.0.1.9"});
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        });
    }

    Testbed bed{{.way = Way::routed, .server_known = false}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    std::jthread sender;
};

TEST_F(DetachFromDeadServers, IsRefusedAndNamesOne) {
    EXPECT_TRUE(refused(bed.olaf({"detach", "in"}), "the next hop 10.0.1."));
    EXPECT_EQ(bed.olaf.status().json["emptying"], false);
}

TEST_F(DetachFromDeadServers, WithForceEnds) {
    const auto told = bed.olaf({"--json", "detach", "in", "--force"});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_GE(nlohmann::json::parse(told.out)["updates_dropped"], 2);
    EXPECT_TRUE(bed.olaf({"status"}).out.empty());
}

// ---- queues of an olaf that laid its maps out otherwise ----

/// A pinned map gives way to one whose values are longer, with the same first bytes.
void lengthen(const std::string &pins, const char *name) {
    const auto path = pins + "/" + name;
    const Fd old(bpf_obj_get(path.c_str()));
    bpf_map_info info{};
    __u32 length = sizeof info;
    ASSERT_EQ(bpf_obj_get_info_by_fd(old.get(), &info, &length), 0);
    const Fd longer(bpf_map_create(static_cast<bpf_map_type>(info.type), name, info.key_size,
                                   info.value_size + 4096, info.max_entries, nullptr));
    std::vector<std::byte> value(info.value_size + 4096);
    for (std::uint32_t key = 0; key < info.max_entries; key++) {
        ASSERT_EQ(bpf_map_lookup_elem(old.get(), &key, value.data()), 0);
        ASSERT_EQ(bpf_map_update_elem(longer.get(), &key, value.data(), BPF_ANY), 0);
    }
    ASSERT_EQ(unlink(path.c_str()), 0);
    ASSERT_EQ(bpf_obj_pin(longer.get(), path.c_str()), 0);
}

class OtherLayout : public testing::Test {
  protected:
    OtherLayout() {
        tc("qdisc add dev out clsact");
        before = traces(bed.host);
        bed.olaf.attach({"--local", "--round-slots", "64"});
        must(bed.olaf({"job", "set", "in", "7", "--children", "2", "--parent", "10.0.1.2", "--rank",
                       "0", "--max-count", "4"}));
        pins = pin_directory(bed.host, "in");
    }
    void tc(const std::string &words) const {
        must(run({"sh", "-c", "tc -n " + bed.host.name() + " " + words}));
    }
    void write_layout(std::uint32_t layout) const {
        const Inside inside(bed.host);
        const auto map =
            RecordMap::open({.netns = netns_inode().value(),
                             .ifindex = static_cast<std::uint32_t>(bed.host.ifindex("in"))});
        auto record = map->read().value();
        record.layout = layout;
        ASSERT_TRUE(map->write(record));
    }
    /// No command reads or writes a map, detach none without --force; with it nothing stays.
    void expect_kept_off() {
        for (const auto &command : std::vector<std::vector<std::string>>{
                 {"status", "in"},
                 {"reset", "in"},
                 {"job", "list", "in"},
                 {"job", "set", "in", "8", "--children", "2"},
                 {"cluster", "list", "in"},
                 {"cluster", "set", "in", "1", "--policy", "newest"},
                 {"attach", "in", "--local", "--replace"},
                 {"detach", "in"}})
            EXPECT_TRUE(refused(bed.olaf(command), "its maps have layout")) << command[0];
        const auto saved = run({"unshare", "--mount", "sh", "-c",
                                "mount -t tmpfs none /etc && exec " OLAF_BINARY " --netns " +
                                    bed.host.name() + " attach in --save"});
        EXPECT_TRUE(refused(saved, "its maps have layout"));
        EXPECT_TRUE(says(saved.err, "olaf detach in --force"));
        EXPECT_EQ(bed.olaf({"detach", "in", "--force"}).status, 0);
        EXPECT_EQ(traces(bed.host), before);
    }

    Testbed bed{{.way = Way::routed}};
    std::string before, pins;
};

TEST_F(OtherLayout, IsLeftAloneByAllAndTakenOffByForce) {
    write_layout(OLAF_LAYOUT + 1);
    lengthen(pins, "olaf_jobs");
    lengthen(pins, "olaf_control");
    expect_kept_off();
}

TEST_F(OtherLayout, OfTheRecordTooIsTakenOff) {
    lengthen(pins, "olaf_attachment");
    expect_kept_off();
}

TEST_F(OtherLayout, OfOneMapAloneIsNamed) {
    lengthen(pins, "olaf_jobs");
    for (const auto &command : {std::vector<std::string>{"job", "list", "in"},
                                {"job", "set", "in", "8", "--children", "2"}})
        EXPECT_TRUE(refused(bed.olaf(command), "olaf_jobs: its values have")) << command[0];
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
    EXPECT_EQ(traces(bed.host), before);
}

} // namespace
} // namespace olaf::test::detach_test
