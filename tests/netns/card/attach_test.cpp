// SPDX-License-Identifier: BSD-2-Clause
// `olaf attach --hw` on olaf-card: what it drives, how it moves queues, what it says where it can't.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "../traces.hpp"
#include "../traffic.hpp"

namespace olaf::test::attach_test {
namespace {

class CardAttach : public testing::Test {
  protected:
    /// The server's own device is behind the card.
    Testbed bed{{.way = Way::local, .place = Place::card}};
    CardProcess &card = *bed.card;
    UdpSocket server{bed.host, Testbed::server_peer(4)};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};

    void attach(const std::vector<std::string> &more, const std::string &hw = "require") {
        std::vector<std::string> all{"--local", "--hw", hw, "--card", card.bar()};
        all.insert(all.end(), more.begin(), more.end());
        bed.olaf.attach(all);
    }
    void replace(const std::vector<std::string> &more) {
        std::vector<std::string> all{"--card", card.bar()};
        all.insert(all.end(), more.begin(), more.end());
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
        worker.send(update, bed.target(4));
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
    occupy(bed, worker, server);
    for (std::uint64_t i = 1; i <= 5; i++)
        worker.send(Update{.cluster = 3, .lanes = {i, 1}}, bed.target(4));
    const auto got = server.receive().update();
    EXPECT_EQ(got.cluster, 3u);
    EXPECT_EQ(got.count, 5u);
    EXPECT_EQ(got.lanes[0], 15u);
    const auto status = bed.olaf.await([](const Status &s) { return s["received"] == 7; });
    EXPECT_EQ(status.json.at("mode"), "hw");
    EXPECT_EQ(status.json.at("hw").at("asked"), "require");
    EXPECT_EQ(status.json.at("hw").at("card"), card.bar());
    EXPECT_EQ(status.json.at("hw").at("reason"), nullptr);
    EXPECT_EQ(status.json.at("hw").at("lost"), false);
    EXPECT_EQ(status["aggregated"], 4u);
    EXPECT_EQ(status["updates_out"], 7u);
    EXPECT_EQ(status.json.at("window"), nullptr);
    EXPECT_EQ(status.json.at("drain").at("ticks"), nullptr);
    EXPECT_EQ(status.json.at("lost_behind").at("socket"), nullptr);
    const auto outcome = run({"/usr/bin/python3", OLAF_VALIDATE, "status"}, status.json.dump());
    EXPECT_EQ(outcome.status, 0) << outcome.err;
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
    EXPECT_NE(listed.out.find("newest"), std::string::npos) << listed.out;
    const auto bound = bed.olaf({"cluster", "set", "in", "3", "--worker", "1=10.0.0.1"});
    EXPECT_EQ(bound.status, 1);
    EXPECT_NE(bound.err.find("binds no workers"), std::string::npos) << bound.err;
}

TEST_F(CardAttach, DetachSendsWhatWaitsAndStopsIt) {
    attach({"--policy", "aggregate", "--rate", "130kbit", "--max-clusters", "16"});
    occupy(bed, worker, server);
    for (std::uint32_t i = 0; i < 5; i++)
        worker.send(Update{.cluster = i}, bed.target(4));
    bed.olaf.await([](const Status &s) { return s["received"] == 7; });
    bed.olaf.detach();
    EXPECT_FALSE(queues());
    for (std::uint32_t i = 0; i < 5; i++)
        EXPECT_EQ(server.receive().update().cluster, i);
    worker.send(Update{.cluster = 12}, bed.target(4)); // and what comes then passes
    EXPECT_EQ(server.receive().update().cluster, 12u);
}

TEST_F(CardAttach, ReplacesInTheCard) {
    attach(small);
    replace({"--policy", "newest", "--rate", "8mbit"});
    EXPECT_TRUE(queues());
    EXPECT_EQ(card.read(OLAF_REGISTER_RULE), OLAF_POLICY_NEWEST);
    EXPECT_EQ(bed.olaf.status().json.at("policy"), "newest");
    EXPECT_EQ(bed.olaf.status().json.at("rate_bps"), 8'000'000);
    const auto resized = bed.olaf({"attach", "in", "--replace", "--card", card.bar(), "--queue", "4"});
    EXPECT_EQ(resized.status, 1);
    EXPECT_NE(resized.err.find("its sizes can't change"), std::string::npos) << resized.err;
}

TEST_F(CardAttach, MovesFromTheKernelWithItsRules) {
    attach(small, "off");
    bed.olaf.cluster({"set", "15", "--max-count", "7"});
    EXPECT_EQ(bed.olaf.status().json.at("mode"), "native");
    Collector collector(server);
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
    Collector collector(server);
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
    Collector collector(server);
    Process moving(bed.olaf.command({"attach", "in", "--replace", "--hw", "off"}));
    const auto sent = send_during(moving, collector);
    const auto ended = moving.wait();
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(bed.olaf.status().json.at("mode"), "native");
    EXPECT_FALSE(queues());
    EXPECT_NE(bed.olaf({"cluster", "list", "in"}).out.find("fifo"), std::string::npos);
    EXPECT_EQ(collector.await(sent.updates).clusters, sent.clusters);
}

TEST_F(CardAttach, ACardThatEndsIsLostAndItsCountersAreNotZero) {
    attach(small);
    EXPECT_EQ(card.end(SIGTERM).status, 0);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status.json.at("verdict").at("state"), "blocked");
    const auto text = status.json.at("verdict").at("text").get<std::string>();
    EXPECT_NE(text.find("lost: its registers read as all ones"), std::string::npos) << text;
    EXPECT_EQ(status.json.at("hw").at("lost"), true);
    EXPECT_EQ(status.json.at("counters").at("received"), nullptr);
    EXPECT_EQ(status.json.at("queue").at("length"), nullptr);
    EXPECT_EQ(status.json.at("active_clusters"), nullptr);
    const auto top = bed.olaf({"status", "in", "--interval", "100ms", "--count", "1"});
    EXPECT_EQ(top.status, 1);
    EXPECT_NE(top.err.find("it is lost"), std::string::npos) << top.err;
    const auto detached = bed.olaf({"detach", "in"});
    EXPECT_EQ(detached.status, 0) << detached.err;
    EXPECT_NE(detached.err.find("lost with it"), std::string::npos) << detached.err;
}

TEST_F(CardAttach, ACardThatIsKilledIsLost) {
    attach(small);
    EXPECT_EQ(card.end(SIGKILL).status, 128 + SIGKILL);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status.json.at("hw").at("lost"), true);
    const auto text = status.json.at("verdict").at("text").get<std::string>();
    EXPECT_NE(text.find("it doesn't answer"), std::string::npos) << text;
}

TEST_F(CardAttach, IsNotSweptFromWhereItsNamespaceIsNotSeen) {
    attach(small);
    // Another attach, in a mount namespace that knows none of this test's network namespaces.
    const auto other = run({"unshare", "--mount", "sh", "-c",
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
    EXPECT_NE(swept.err.find("for its device has gone"), std::string::npos) << swept.err;
    EXPECT_FALSE(std::filesystem::exists(pins));
    EXPECT_FALSE(queues());
    bed.olaf({"detach", "in"});
}

TEST_F(CardAttach, SaysWhatTheCardCantAndGoesIntoTheKernelWhereItMay) {
    const auto required = bed.olaf({"attach", "in", "--local", "--hw", "require", "--card",
                                    card.bar(), "--strict"});
    EXPECT_EQ(required.status, 1);
    EXPECT_NE(required.err.find("it binds no workers to their addresses (--strict)"),
              std::string::npos)
        << required.err;
    attach({"--strict"}, "auto");
    const auto status = bed.olaf.status();
    EXPECT_EQ(status.json.at("mode"), "native");
    EXPECT_EQ(status.json.at("hw").at("asked"), "auto");
    EXPECT_EQ(status.json.at("hw").at("reason"), "it binds no workers to their addresses (--strict)");
    EXPECT_FALSE(queues());
}

TEST_F(CardAttach, DoctorTellsOfTheCardAndOfOffload) {
    const auto found = bed.olaf({"doctor", "in", "--card", card.bar()});
    EXPECT_NE(found.out.find("8 places, 128 clusters, 128 slots"), std::string::npos) << found.out;
    EXPECT_NE(found.out.find("XDP offload"), std::string::npos) << found.out;
    const auto none = bed.olaf({"doctor", "in"});
    EXPECT_NE(none.out.find("it is no PCI device (its driver is veth)"), std::string::npos)
        << none.out;
    attach(small); // that of a queue needn't be named
    const auto attached = bed.olaf({"doctor", "in"});
    EXPECT_NE(attached.out.find(card.bar() + ": 8 places"), std::string::npos) << attached.out;
}

} // namespace
} // namespace olaf::test::attach_test
