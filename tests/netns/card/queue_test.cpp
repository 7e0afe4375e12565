// SPDX-License-Identifier: BSD-2-Clause
// A queue in a card, olaf-card's: what `olaf attach --hw` drives, how it moves queues, what it says where it
// can't; and what top, serve, send and receive make of it.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "../listening.hpp"
#include "../traces.hpp"

namespace olaf::test::queue_test {
namespace {

class CardAttach : public testing::Test {
  protected:
    /// The server's own device is behind the card.
    SocketBed bed{{.way = Way::local, .place = Place::card}};
    CardProcess &card = *bed.card;

    void attach(const std::vector<std::string> &more, const std::string &hw = "require") {
        const auto all = joined({"--local", "--hw", hw, "--card", card.bar()}, more);
        bed.olaf.attach(all);
    }
    void replace(const std::vector<std::string> &more) {
        const auto all = joined({"--card", card.bar()}, more);
        bed.olaf.replace(all);
    }
    [[nodiscard]] bool queues() const {
        EXPECT_TRUE(card.fence());
        return (card.read(OLAF_REGISTER_STATUS) & 2) != 0;
    }
    /// Sends updates of four clusters while the command runs, and returns what was sent.
    Tally send_during(Process &command, Collector &collector) {
        Tally sent;
        for (std::uint32_t i = 0; command.running(); i++)
            send_one(sent, i, collector);
        for (std::uint32_t i = 0; i < 40; i++)
            send_one(sent, i, collector);
        return sent;
    }
    /// No more are on their way than sockets and the simulated card hold.
    void send_one(Tally &sent, std::uint32_t number, Collector &collector) {
        constexpr std::uint64_t most = 32;
        const Update update{.cluster = number % 4, .lanes = {number, 1}};
        bed.send(update);
        sent.add(update);
        if (sent.updates > most)
            collector.await(sent.updates - most);
    }
};

const std::vector<std::string> small = {"--policy", "aggregate", "--max-clusters", "16",
                                        "--queue", "8", "--rate", "4mbit"};

TEST_F(CardAttach, FoldsInTheCardAndTellsOfItAsOfAnyQueue) {
    attach({"--policy", "aggregate", "--rate", "130kbit", "--max-clusters", "16"});
    EXPECT_TRUE(queues());
    card.stop_clock();
    std::uint64_t sent = 0;
    const auto all_received = [&](const Status &s) { return s["received"] == sent; };
    for (bool is_busy = false; !is_busy;) { // until one waits, by itself
        bed.send(Update{.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(1000, 1)});
        sent++;
        is_busy = bed.olaf.await(all_received)["appended"] == 1;
        if (!is_busy) {
            EXPECT_EQ(bed.receive().cluster, busy_cluster);
        }
    }
    for (std::uint64_t i = 1; i <= 5; i++)
        bed.send(Update{.cluster = 3, .lanes = {i, 1}});
    sent += 5;
    bed.olaf.await(all_received);
    card.run_clock();
    EXPECT_EQ(bed.receive().cluster, busy_cluster);
    const auto got = bed.receive();
    EXPECT_EQ(got.cluster, 3u);
    EXPECT_EQ(got.count, 5u);
    EXPECT_EQ(got.lanes[0], 15u);
    const auto status = bed.olaf.await([&](const Status &s) { return s["updates_out"] == sent; });
    EXPECT_EQ(status.json.at("mode"), "hw");
    EXPECT_EQ(status.json.at("hw").at("asked"), "require");
    EXPECT_EQ(status.json.at("hw").at("card"), card.bar());
    EXPECT_EQ(status.json.at("hw").at("reason"), nullptr);
    EXPECT_EQ(status.json.at("hw").at("lost"), false);
    EXPECT_EQ(status["aggregated"], 4u);
    EXPECT_EQ(status["received"], sent);
    EXPECT_EQ(status.json.at("window"), nullptr);
    EXPECT_EQ(status.json.at("drain").at("ticks"), nullptr);
    EXPECT_EQ(status.json.at("lost_behind").at("socket"), nullptr);
    expect_schema("status", status.json.dump());
}

TEST_F(CardAttach, SetsAndListsRules) {
    attach(small);
    bed.olaf.cluster({"set", "3-4", "--policy", "newest", "--max-count", "9"});
    const auto at = OLAF_REGISTER_RULE + 4 * OLAF_REGISTER_STRIDE_RULE;
    EXPECT_TRUE(card.fence());
    EXPECT_EQ(card.read(at), OLAF_POLICY_NEWEST);
    EXPECT_EQ(card.read(at + 4), 9u);
    const auto listed = bed.olaf({"--json", "cluster", "list", "in"});
    EXPECT_EQ(listed.status, 0) << listed.err;
    EXPECT_TRUE(says(listed.out, "newest"));
    EXPECT_TRUE(refused(bed.olaf({"cluster", "set", "in", "3", "--worker", "1=10.0.0.1"}),
                        "binds no workers"));
}

TEST_F(CardAttach, DetachSendsWhatWaitsAndStopsIt) {
    attach({"--policy", "aggregate", "--rate", "130kbit", "--max-clusters", "16"});
    occupy(bed);
    for (std::uint32_t i = 0; i < 5; i++)
        bed.send(Update{.cluster = i});
    bed.olaf.await([](const Status &s) { return s["received"] == 7; });
    bed.olaf.detach();
    EXPECT_FALSE(queues());
    for (std::uint32_t i = 0; i < 5; i++)
        EXPECT_EQ(bed.receive().cluster, i);
    bed.send(Update{.cluster = 12}); // and what comes then passes
    EXPECT_EQ(bed.receive().cluster, 12u);
}

TEST_F(CardAttach, ReplacesInTheCard) {
    attach(small);
    replace({"--policy", "newest", "--rate", "8mbit"});
    EXPECT_TRUE(queues());
    EXPECT_EQ(card.read(OLAF_REGISTER_RULE), OLAF_POLICY_NEWEST);
    EXPECT_EQ(bed.olaf.status().json.at("policy"), "newest");
    EXPECT_EQ(bed.olaf.status().json.at("rate_bps"), 8'000'000);
    EXPECT_TRUE(
        refused(bed.olaf({"attach", "in", "--replace", "--card", card.bar(), "--queue", "4"}),
                "its sizes can't change"));
}

TEST_F(CardAttach, MovesFromTheKernelWithItsRules) {
    attach(small, "off");
    bed.olaf.cluster({"set", "15", "--max-count", "7"});
    EXPECT_EQ(bed.olaf.status().json.at("mode"), "native");
    Collector collector(bed.to);
    Tally sent;
    for (std::uint32_t i = 0; i < 40; i++)
        send_one(sent, i, collector);
    replace({"--hw", "require"});
    EXPECT_EQ(bed.olaf.status().json.at("mode"), "hw");
    EXPECT_TRUE(queues());
    EXPECT_EQ(card.read(OLAF_REGISTER_RULE + 15 * OLAF_REGISTER_STRIDE_RULE + 4), 7u);
    for (std::uint32_t i = 40; i < 80; i++)
        send_one(sent, i, collector);
    EXPECT_EQ(collector.await(sent.updates).clusters, sent.clusters);
}

TEST_F(CardAttach, MovesFromTheKernelUnderLoadWithoutLoss) {
    // A veth without GRO loses what is in its ring when its XDP program goes, whoever takes it off.
    set_offloads(bed.host, "in", {.gro = true});
    attach(small, "off");
    Collector collector(bed.to);
    Process moving(bed.olaf.command(
        {"attach", "in", "--replace", "--hw", "require", "--card", card.bar()}));
    const auto sent = send_during(moving, collector);
    const auto ended = moving.wait();
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(bed.olaf.status().json.at("mode"), "hw");
    EXPECT_TRUE(queues());
    EXPECT_EQ(collector.await(sent.updates).clusters, sent.clusters);
}

TEST_F(CardAttach, MovesIntoTheKernelUnderLoadWithoutLoss) {
    attach(small);
    bed.olaf.cluster({"set", "15", "--policy", "fifo"});
    Collector collector(bed.to);
    Process moving(bed.olaf.command({"attach", "in", "--replace", "--hw", "off"}));
    const auto sent = send_during(moving, collector);
    const auto ended = moving.wait();
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(bed.olaf.status().json.at("mode"), "native");
    EXPECT_FALSE(queues());
    EXPECT_TRUE(says(bed.olaf({"cluster", "list", "in"}).out, "fifo"));
    EXPECT_EQ(collector.await(sent.updates).clusters, sent.clusters);
}

TEST_F(CardAttach, ACardThatEndsIsLostAndItsCountersAreNotZero) {
    attach(small);
    EXPECT_EQ(card.end(SIGTERM).status, 0);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status.json.at("verdict").at("state"), "blocked");
    const auto text = status.json.at("verdict").at("text").get<std::string>();
    EXPECT_TRUE(says(text, "lost: its registers read as all ones"));
    EXPECT_EQ(status.json.at("hw").at("lost"), true);
    EXPECT_EQ(status.json.at("counters").at("received"), nullptr);
    EXPECT_EQ(status.json.at("queue").at("length"), nullptr);
    EXPECT_EQ(status.json.at("active_clusters"), nullptr);
    EXPECT_TRUE(
        refused(bed.olaf({"status", "in", "--interval", "100ms", "--count", "1"}), "it is lost"));
    const auto detached = bed.olaf({"detach", "in"});
    EXPECT_EQ(detached.status, 0) << detached.err;
    EXPECT_TRUE(says(detached.err, "lost with it"));
}

TEST_F(CardAttach, ACardThatIsKilledIsLost) {
    attach(small);
    EXPECT_EQ(card.end(SIGKILL).status, 128 + SIGKILL);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status.json.at("hw").at("lost"), true);
    const auto text = status.json.at("verdict").at("text").get<std::string>();
    EXPECT_TRUE(says(text, "it doesn't answer"));
}

TEST_F(CardAttach, IsNotSweptFromWhereItsNamespaceIsNotSeen) {
    attach(small);
    // Another attach, in a mount namespace that knows none of this test's network namespaces.
    const auto other =
        run({"unshare", "--mount", "sh", "-c",
             "mount -t tmpfs none /run/netns && exec " OLAF_BINARY " attach eth0 --local"},
            {}, &bed.worker);
    ASSERT_EQ(other.status, 0) << other.err;
    EXPECT_TRUE(queues()) << other.err;
    EXPECT_EQ(bed.olaf.status().json.at("mode"), "hw");
    EXPECT_EQ(run({OLAF_BINARY, "detach", "eth0"}, {}, &bed.worker).status, 0);
}

TEST_F(CardAttach, WhoseDeviceIsDeletedIsSweptAndTheCardPassesEverything) {
    attach(small);
    const auto pins = pin_directory(bed.host, "in");
    bed.host.ip("link delete in\nlink add in type veth peer name in2\n"); // another of that name
    const auto status = bed.olaf({"status", "in"});
    EXPECT_EQ(status.status, 1) << status.out;
    const auto swept = bed.olaf({"attach", "in", "--local", "--hw", "off"});
    EXPECT_TRUE(says(swept.err, "for its device has gone"));
    EXPECT_FALSE(std::filesystem::exists(pins));
    EXPECT_FALSE(queues());
    bed.olaf({"detach", "in"});
}

TEST_F(CardAttach, SaysWhatTheCardCantAndGoesIntoTheKernelWhereItMay) {
    EXPECT_TRUE(refused(
        bed.olaf({"attach", "in", "--local", "--hw", "require", "--card", card.bar(), "--strict"}),
        "it binds no workers to their addresses (--strict)"));
    attach({"--strict"}, "auto");
    const auto status = bed.olaf.status();
    EXPECT_EQ(status.json.at("mode"), "native");
    EXPECT_EQ(status.json.at("hw").at("asked"), "auto");
    EXPECT_EQ(status.json.at("hw").at("reason"),
              "it binds no workers to their addresses (--strict)");
    EXPECT_FALSE(queues());
}

TEST_F(CardAttach, DoctorTellsOfTheCardAndOfOffload) {
    const auto found = bed.olaf({"doctor", "in", "--card", card.bar()});
    EXPECT_TRUE(says(found.out, "8 places, 128 clusters, 128 slots"));
    EXPECT_TRUE(says(found.out, "XDP offload"));
    const auto none = bed.olaf({"doctor", "in"});
    EXPECT_TRUE(says(none.out, "it is no PCI device (its driver is veth)"));
    attach(small); // that of a queue needn't be named
    const auto attached = bed.olaf({"doctor", "in"});
    EXPECT_TRUE(says(attached.out, card.bar() + ": 8 places"));
}

// ---- `olaf top` and `olaf serve` tell of a queue in a card what `olaf status` tells ----

class CardObserved : public testing::Test {
  protected:
    CardObserved() {
        bed.attach({"--policy", "aggregate", "--max-clusters", "16", "--rate", "4mbit"});
        for (std::uint32_t i = 0; i < 20; i++)
            bed.send(Update{.cluster = i % 4, .lanes = {i}});
        bed.olaf.await(
            [](const Status &s) { return s["received"] == 20 && s["updates_waiting"] == 0; });
    }

    SocketBed bed{{.way = Way::bridged, .place = Place::card}};
};

TEST_F(CardObserved, ByTop) {
    Process top(bed.olaf.command({"--json", "top", "in", "--interval", "100ms"}));
    const auto told = interrupted_after(top, "\n{");
    expect_schema("live", told.out);
    const auto live = nlohmann::json::parse(told.out.substr(0, told.out.find('\n')));
    EXPECT_EQ(live["total"]["received"], 20);
    EXPECT_EQ(live["status"]["mode"], "hw");
    EXPECT_EQ(live["clusters"].size(), 4u);
}

TEST_F(CardObserved, ByMetricsAndThePage) {
    Process server(bed.olaf.command({"serve", "--port", "0"}));
    server.await_output("/metrics\n");
    const auto said = server.output();
    const auto url = said.substr(0, said.find(' '));
    const auto text = run_script("fetch.py", {url + "metrics"}, {}, &bed.host);
    const auto checked = run({"promtool", "check", "metrics"}, text.out);
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
    EXPECT_TRUE(says(text.out, "olaf_received_messages_total{device=\"in\"} 20\n"));
    EXPECT_TRUE(says(run_script("fetch.py", {url}, {}, &bed.host).out, "<html"));
    server.kill(SIGTERM);
    EXPECT_EQ(server.wait().status, 0);
}

// ---- `olaf send` and `olaf receive` with a card between them ----

class CardSend : public testing::TestWithParam<Way> {
  protected:
    /// As a veth is when it is made: checksums, and the cutting of streams, are left to it.
    static void leave_to_device(const Netns &netns, const std::string &device) {
        must(run({"ethtool", "-K", device, "tx", "on", "tso", "on", "gso", "on", "gro", "on",
                  "tx-udp-segmentation", "on"},
                 {}, &netns));
    }

    Testbed bed{{.way = GetParam(), .place = Place::card}};
};

TEST_P(CardSend, AnswersReachASenderWhereChecksumsAreLeftToDevices) {
    leave_to_device(bed.worker, "eth0");
    leave_to_device(bed.host, "in");
    if (GetParam() != Way::local) {
        leave_to_device(bed.host, "out");
        leave_to_device(bed.server(), "eth0");
    }
    bed.attach({"--policy", "aggregate", "--max-clusters", "16", "--rate", "4mbit"});
    Process receiving({OLAF_BINARY, "--netns", bed.server().name(), "receive", "--idle", "2s"});
    receiving.await_output("receiving on");
    const auto sent = run({OLAF_BINARY, "--json", "--netns", bed.worker.name(), "send",
                           bed.target(4).address, "--updates", "50"});
    ASSERT_EQ(sent.status, 0) << sent.err << sent.out;
    const auto totals = nlohmann::json::parse(sent.out).at("total");
    EXPECT_EQ(totals.at("updates_received"), 50) << sent.out;
    EXPECT_GT(totals.at("round_trip").at("answered"), 0) << sent.out;
    const auto status = bed.olaf.status();
    EXPECT_EQ(status.json.at("mode"), "hw");
    EXPECT_EQ(status.json.at("malformed_by_reason").at("udp_checksum"), 0);
    EXPECT_GT(status.json.at("acks").at("stamped"), 0);
    EXPECT_EQ(receiving.wait().status, 0);
}

INSTANTIATE_TEST_SUITE_P(All, CardSend, testing::Values(Way::local, Way::bridged, Way::routed),
                         by_way);

} // namespace
} // namespace olaf::test::queue_test
