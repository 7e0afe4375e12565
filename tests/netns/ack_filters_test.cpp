// SPDX-License-Identifier: BSD-2-Clause
// Our filters on the way back, next to those of others, and swapped under load.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fleet.hpp"
#include "traces.hpp"

namespace olaf::test::ack_filters_test {
namespace {

TEST(AckFilters, ThoseOfOthersSeeEveryCopyAndOutliveUs) {
    const CountRuns counting;
    Testbed bed;
    const ForeignFilter before(bed.host, "in", ForeignFilter::Side::egress, 1);
    {
        bed.attach();
        const ForeignFilter behind(bed.host, "in", ForeignFilter::Side::egress, 49000);
        Fleet fleet(bed, 4);
        fleet.speak();
        const UdpSocket server(bed.server(), Testbed::server_peer(4));
        const auto ran_before = before.runs(), ran_behind = behind.runs();
        server.send(Ack{.cluster = 2}, fleet.peer(2, 7));
        fleet.expect_own(2, [](const Ack &) {});
        EXPECT_EQ(before.runs() - ran_before, workers);
        EXPECT_EQ(behind.runs() - ran_behind, workers);
        bed.olaf.detach();
        EXPECT_TRUE(before.attached());
        EXPECT_TRUE(behind.attached());
        const auto runs = behind.runs();
        server.send(Ack{.cluster = 2}, fleet.peer(2, 7));
        EXPECT_EQ(fleet.at(2, 7).receive().ack().state_flags, 0);
        EXPECT_EQ(behind.runs(), runs + 1);
    }
}

TEST(AckFilters, ThoseOnTheUpstreamDeviceOutliveUsAsWell) {
    Testbed bed{{.way = Way::upstream4}};
    const ForeignFilter foreign(bed.host, "out", ForeignFilter::Side::ingress, 1);
    const auto before = traces(bed.host);
    bed.attach();
    EXPECT_NE(traces(bed.host), before);
    bed.olaf.detach();
    EXPECT_TRUE(foreign.attached());
    EXPECT_EQ(traces(bed.host), before);
}

/// Far more than a copy takes, far less than a test may.
constexpr auto patience_for_one = std::chrono::milliseconds(500);

TEST(AckReplace, KeepsTheMembersAndMovesTheFilters) {
    Testbed bed{{.way = Way::upstream4}};
    const auto before = traces(bed.host);
    bed.attach({"--activity-window", "3600s"});
    Fleet fleet(bed, 4);
    fleet.speak();
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    std::atomic<std::uint64_t> sent = 0;
    std::jthread acknowledging([&](const std::stop_token &stop) {
        for (; !stop.stop_requested(); sent++) {
            server.send(Ack{.cluster = 1}, {.address = "10.0.1.254"});
            // One at a time: a flood would lose some before our programs, some behind them.
            static_cast<void>(fleet.at(1, workers - 1).poll(patience_for_one));
        }
    });
    for (int i = 0; i < 3; i++)
        bed.olaf.replace({"--member-timeout", i % 2 == 0 ? "300s" : "60s"});
    acknowledging.request_stop();
    acknowledging.join();
    // Each was seen by one program or the next.
    const auto status = bed.olaf.await([&](const Status &s) {
        return s.json["acks"]["recognised"] == sent.load();
    });
    EXPECT_EQ(status.json["acks"]["copies"], sent * workers);
    EXPECT_EQ(status.json["limits"]["member_timeout_ns"], 300'000'000'000);
    const auto listed =
        nlohmann::json::parse(bed.olaf({"cluster", "list", "in", "1", "--json"}).out);
    EXPECT_EQ(listed[0]["members"].size(), workers);

    bed.olaf.replace({"--local"}); // no more upstream: its filter goes
    const UdpSocket local(bed.host, {.address = "10.0.0.254"});
    local.send(Ack{.cluster = 2}, fleet.peer(2, 0));
    EXPECT_EQ(fleet.at(2, 7).receive().ack().worker, 7u);
    bed.olaf.replace({"--upstream", "10.0.1.2"});
    server.send(Ack{.cluster = 0}, {.address = "10.0.1.254"});
    EXPECT_EQ(fleet.at(0, 3).receive().ack().worker, 3u);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

} // namespace
} // namespace olaf::test::ack_filters_test
