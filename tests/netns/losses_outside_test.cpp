// SPDX-License-Identifier: BSD-2-Clause
// What dies on its way up before the entrance is there never passed the queue: it is no loss of the
// queue's, though the programs that count losses are there already.
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "killed_at.hpp"
#include "traffic.hpp"

namespace olaf::test {
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
        throw std::runtime_error("no answer");
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

INSTANTIATE_TEST_SUITE_P(Modes, LossesOutside, testing::Values("native", "skb"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace olaf::test
