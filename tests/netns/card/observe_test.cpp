// SPDX-License-Identifier: BSD-2-Clause
// `olaf top` and `olaf serve` tell of a queue in a card what `olaf status` tells.
#include <gtest/gtest.h>

#include <csignal>

#include "../listening.hpp"
#include "../traffic.hpp"

namespace olaf::test::observe_test {
namespace {

class CardObserved : public testing::Test {
  protected:
    CardObserved() {
        bed.attach({"--policy", "aggregate", "--max-clusters", "16", "--rate", "4mbit"});
        const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
        for (std::uint32_t i = 0; i < 20; i++)
            worker.send(Update{.cluster = i % 4, .lanes = {i}}, bed.target(4));
        bed.olaf.await([](const Status &s) { return s["received"] == 20 && s["updates_waiting"] == 0; });
    }

    Testbed bed{{.way = Way::bridged, .place = Place::card}};
};

TEST_F(CardObserved, ByTop) {
    Process top(bed.olaf.command({"--json", "top", "in", "--interval", "100ms"}));
    top.await_output("\n{");
    top.kill(SIGINT);
    const auto told = top.wait();
    EXPECT_EQ(told.status, 0) << told.err;
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
    EXPECT_NE(text.out.find("olaf_received_messages_total{device=\"in\"} 20\n"), std::string::npos)
        << text.out;
    EXPECT_NE(run_script("fetch.py", {url}, {}, &bed.host).out.find("<html"), std::string::npos);
    server.kill(SIGTERM);
    EXPECT_EQ(server.wait().status, 0);
}

} // namespace
} // namespace olaf::test::observe_test
