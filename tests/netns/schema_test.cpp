// SPDX-License-Identifier: BSD-2-Clause
// Everything printed as JSON is what docs/schema says.
#include <gtest/gtest.h>

#include <csignal>

#include "capture.hpp"
#include "traffic.hpp"

namespace olaf::test::schema_test {
namespace {

/// What a schema finds wrong with a text; empty if nothing.
std::string wrong(const std::string &schema, const std::string &text) {
    const auto outcome = run({"/usr/bin/python3", OLAF_VALIDATE, schema}, text);
    return outcome.status == 0
               ? ""
               : outcome.err + " (status " + std::to_string(outcome.status) + ")\n" + text;
}

class Schema : public testing::Test {
  protected:
    explicit Schema(Way way = Way::bridged) : bed({.way = way}) {}

    std::string says(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "--json");
        const auto outcome = bed.olaf(std::move(arguments));
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return outcome.out;
    }

    Testbed bed;
};

TEST_F(Schema, CanFail) {
    EXPECT_NE(wrong("status", "{}"), "");
    EXPECT_NE(wrong("meter", R"({"device": "in"})"), "");
    EXPECT_NE(wrong("doctor", R"([{"subject": "kernel"}])"), "");
}

TEST_F(Schema, StatusOfAQueueAtWork) {
    EXPECT_EQ(wrong("attach", says({"attach", "in", "--forward", "out", "--rate", "1mbit"})), "");
    EXPECT_EQ(wrong("status", says({"status", "in", "--clusters"})), ""); // nothing has come
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    const PacketSocket socket(bed.worker, "eth0");
    socket.send(frames_of(bed, random_updates(500, 9, 8, 5)));
    socket.send(bed.path().carrying(Update{.cluster = 1, .count = 0}));
    bed.olaf.await_drained(500);
    for (const auto &arguments : std::vector<std::vector<std::string>>{
             {"status", "in"}, {"status", "in", "--clusters"}, {"status"}})
        EXPECT_EQ(wrong("status", says(arguments)), "");
    const auto json = nlohmann::json::parse(says({"status", "in", "--clusters"}));
    EXPECT_EQ(json.at("aom").at("clusters"), 9);
    EXPECT_EQ(json.at("clusters").size(), 9u);
    EXPECT_EQ(wrong("detach", says({"detach", "in"})), "");
    EXPECT_EQ(wrong("status", says({"status"})), ""); // none
}

TEST_F(Schema, Clusters) {
    bed.attach({"--fifo"});
    bed.olaf.cluster({"set", "3", "--policy", "fifo", "--reward-threshold", "0.5"});
    EXPECT_EQ(wrong("cluster", says({"cluster", "list", "in"})), "");
    EXPECT_EQ(wrong("cluster", says({"cluster", "list", "in", "3"})), "");
}

TEST_F(Schema, Doctor) {
    // Its status is 1 where something is missing: that is no matter here.
    EXPECT_EQ(wrong("doctor", bed.olaf({"--json", "doctor"}).out), "");
    EXPECT_EQ(wrong("doctor", bed.olaf({"--json", "doctor", "in"}).out), "");
}

TEST_F(Schema, Meter) {
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    EXPECT_EQ(wrong("meter", says({"meter", "in", "--for", "10ms"})), ""); // nothing comes
    Process meter(bed.olaf.command({"meter", "in", "--for", "60s", "--json"}));
    await_taps(bed.host, 1);
    for (std::uint32_t i = 0; i < 10; i++)
        worker.send(Update{.cluster = i % 3}, bed.target(4));
    meter.kill(SIGINT);
    const auto outcome = meter.wait();
    EXPECT_EQ(wrong("meter", outcome.out), "");
    EXPECT_EQ(nlohmann::json::parse(outcome.out).at("clusters").size(), 3u);
}

class SchemaOfJobs : public Schema {
  protected:
    SchemaOfJobs() : Schema(Way::local) {}
};

TEST_F(SchemaOfJobs, ListAndStatus) {
    bed.host.sysctl("ipv4/conf/in/forwarding", "1"); // for the parent
    bed.attach({"--round-slots", "256"});
    EXPECT_EQ(wrong("job", says({"job", "list", "in"})), ""); // none
    says({"job", "set", "in", "7", "--children", "2", "--lanes", "16", "--member", "1=10.0.0.1"});
    says({"job", "set", "in", "8", "--children", "2", "--lanes", "16", "--parent", "10.0.0.1",
          "--rank", "0", "--max-count", "4"});
    says({"job", "set", "in", "9", "--children", "2", "--lanes", "16", "--format", "f32", "--pool",
          "1"});
    says({"job", "halt", "in", "8"});
    EXPECT_EQ(wrong("job", says({"job", "list", "in"})), "");
    EXPECT_EQ(wrong("status", says({"status", "in"})), "");
    EXPECT_NE(wrong("job", R"([{"job": 7}])"), "");
}

} // namespace
} // namespace olaf::test::schema_test
