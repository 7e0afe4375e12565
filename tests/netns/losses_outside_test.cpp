// SPDX-License-Identifier: BSD-2-Clause
// What dies on its way up before the entrance is there never passed the queue: it is no loss of the
// queue's, though the programs that count losses are there already.
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "killed_at.hpp"
#include "traffic.hpp"

namespace olaf::test::losses_outside_test {
namespace {

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

    static std::uint64_t lost(const Status &status) {
        return status.json.at("lost_behind_updates").at("socket").get<std::uint64_t>();
    }

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
} // namespace olaf::test::losses_outside_test
