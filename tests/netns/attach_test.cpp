// SPDX-License-Identifier: BSD-2-Clause
// All or nothing: an attach that fails says why and leaves no trace; of two at once one wins.
#include <gtest/gtest.h>

#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::attach_test {
namespace {

class AttachFails : public testing::Test {
  protected:
    /// The attach ends with status 1 and one line that says `why`; nothing has changed.
    void expect_refused(const std::vector<std::string> &arguments, const std::string &why) {
        const auto before = traces(bed.host);
        auto words = std::vector<std::string>{"attach", "in"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        const auto told = bed.olaf(words);
        EXPECT_EQ(told.status, 1) << told.err;
        EXPECT_NE(told.err.find(why), told.err.npos) << told.err;
        EXPECT_EQ(told.out, "");
        EXPECT_EQ(traces(bed.host), before);
    }

    Testbed bed{{.way = Way::bridged}};
};

TEST_F(AttachFails, OnAForeignProgram) {
    const ForeignXdp foreign(bed.host, "in");
    expect_refused({"--local"}, "XDP program already");
    expect_refused({"--forward", "out", "--mode", "skb"}, "XDP program already");
}

TEST_F(AttachFails, WithoutTheOutputDevice) {
    expect_refused({"--forward", "nothing0"}, "nothing0");
}

TEST_F(AttachFails, WithoutARoute) {
    expect_refused({"--upstream", "192.0.2.1"}, "192.0.2.1");
}

TEST_F(AttachFails, WhereALanesNameIsTaken) {
    const auto name = "olaf" + std::to_string(bed.host.ifindex("in")) + "a";
    bed.host.ip("link add " + name + " type bridge\n");
    expect_refused({"--local"}, name);
    const auto kept = run({"ip", "-n", bed.host.name(), "link", "show", name});
    EXPECT_EQ(kept.status, 0) << "it wasn't ours to remove";
}

TEST_F(AttachFails, WhereAQueueIsAlready) {
    bed.attach();
    expect_refused({"--local"}, "a queue of olaf's is there");
    expect_refused({"--forward", "out"}, "a queue of olaf's is there");
    EXPECT_EQ(bed.olaf.status().json["deliver"]["kind"], "forward"); // as before
}

TEST_F(AttachFails, OnADeviceThatIsNot) {
    const auto before = traces(bed.host);
    const auto told = bed.olaf({"attach", "nothing0", "--local"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.err.find("nothing0"), told.err.npos) << told.err;
    EXPECT_EQ(traces(bed.host), before);
}

TEST(AttachRace, OneWinsAndTheOtherIsTold) {
    Testbed bed;
    const auto before = traces(bed.host);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    Process first(bed.olaf.command({"attach", "in", "--local", "--queue", "5"}));
    Process second(bed.olaf.command({"attach", "in", "--local", "--queue", "6"}));
    const Outcome ends[] = {first.wait(), second.wait()};
    ASSERT_EQ(ends[0].status + ends[1].status, 1) << ends[0].err << ends[1].err;
    const auto &loser = ends[ends[0].status == 0 ? 1 : 0];
    EXPECT_TRUE(loser.err.find("a queue of olaf's is there") != loser.err.npos ||
                loser.err.find("another olaf") != loser.err.npos)
        << loser.err;
    EXPECT_EQ(bed.olaf.status().queue("capacity"), ends[0].status == 0 ? 5u : 6u);
    worker.send(Update{.cluster = 1}, bed.target(4));
    EXPECT_EQ(server.receive().update().cluster, 1u);
    EXPECT_EQ(bed.olaf.status()["passed_through"], 1u);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

} // namespace
} // namespace olaf::test::attach_test
