// SPDX-License-Identifier: BSD-2-Clause
// `olaf send` and `olaf receive` with a card between them, where senders leave checksums to their devices.
#include <gtest/gtest.h>

#include "../traffic.hpp"

namespace olaf::test::send_test {
namespace {

class CardSend : public testing::TestWithParam<Way> {
  protected:
    /// As a veth is when it is made: checksums, and the cutting of streams, are left to it.
    static void leave_to_device(const Netns &netns, const std::string &device) {
        const auto done = run({"ethtool", "-K", device, "tx", "on", "tso", "on", "gso", "on", "gro",
                               "on", "tx-udp-segmentation", "on"},
                              {}, &netns);
        ASSERT_EQ(done.status, 0) << done.err;
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
    Process receiving({OLAF_BINARY, "--netns", bed.server().name(), "receive", "--idle", "700ms"});
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

std::string name_of(const testing::TestParamInfo<Way> &info) {
    return info.param == Way::local ? "Local" : info.param == Way::bridged ? "Bridged" : "Routed";
}

INSTANTIATE_TEST_SUITE_P(All, CardSend, testing::Values(Way::local, Way::bridged, Way::routed), name_of);

} // namespace
} // namespace olaf::test::send_test
