// SPDX-License-Identifier: BSD-2-Clause
// Attach sends a frame the whole way of a token before it says live: where somebody's program takes
// it away, it names that and leaves no trace.
#include <gtest/gtest.h>
#include <linux/pkt_cls.h>

#include "traffic.hpp"

namespace olaf::test::attach_proof_test {
namespace {

using Side = ForeignFilter::Side;

class AttachProof : public testing::TestWithParam<Side> {
  protected:
    const char *hook() { return GetParam() == Side::ingress ? "ingress" : "egress"; }
    void expect_refused(const std::string &culprit) {
        const auto before = traces(bed.host);
        for (const char *mode : {"native", "skb"}) {
            const auto told = bed.olaf({"attach", "in", "--local", "--mode", mode});
            EXPECT_EQ(told.status, 1);
            EXPECT_NE(told.err.find(culprit), told.err.npos) << told.err;
            EXPECT_EQ(std::count(told.err.begin(), told.err.end(), '\n'), 1) << told.err;
            EXPECT_EQ(traces(bed.host), before);
        }
    }
    void expect_live() {
        bed.attach();
        bed.olaf.detach();
    }
    Testbed bed;
};

TEST_P(AttachProof, ATcxProgramThatEndsTheWayIsNamed) {
    const ForeignTcx foreign(bed.host, "in", GetParam(), TC_ACT_OK);
    if (foreign.attached())
        expect_refused(std::string("(foreign) on the ") + hook());
    else // before Linux 6.6 there is no TCX: nothing is in the way
        expect_live();
}

TEST_P(AttachProof, AFilterThatEndsTheWayIsNamed) {
    bed.host.tc(std::string("qdisc add dev in clsact\nfilter add dev in ") + hook() +
                " protocol all prio 1 u32 match u32 0 0 classid 1:1\n");
    expect_refused(std::string("a filter of kind u32 and priority 1 on the ") + hook());
}

TEST_P(AttachProof, ProgramsThatLetFramesOnAreNoObstacle) {
    const ForeignTcx tcx(bed.host, "in", GetParam(), TC_ACT_UNSPEC);
    const ForeignFilter filter(bed.host, "in", GetParam(), 1);
    expect_live();
}

TEST_P(AttachProof, AReplacementTriesTheDrainTooAndTheOldProgramsStayIfItFails) {
    const auto filter = std::string("filter add dev in ") + hook() + " protocol all prio 1 u32 ";
    // One that matches nothing, so that olaf's come behind it.
    bed.host.tc("qdisc add dev in clsact\n" + filter +
                "match u32 0xffffffff 0xffffffff classid 1:1\n");
    bed.attach({"--rate", "1mbit"});
    bed.host.tc(filter + "match u32 0 0 classid 1:1\n");
    const auto before = traces(bed.host);
    const auto told = bed.olaf({"attach", "in", "--replace", "--rate", "2mbit"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.err.find("a filter of kind u32 and priority 1"), told.err.npos) << told.err;
    EXPECT_EQ(traces(bed.host), before);
    EXPECT_EQ(bed.olaf.status().json["rate_bps"], 1'000'000);
    bed.host.tc(std::string("filter del dev in ") + hook() + " protocol all prio 1\n");
    bed.olaf.replace({"--rate", "2mbit"});
    EXPECT_EQ(bed.olaf.status().json["rate_bps"], 2'000'000);
}

INSTANTIATE_TEST_SUITE_P(Hooks, AttachProof, testing::Values(Side::ingress, Side::egress),
                         [](const auto &info) {
                             return info.param == Side::ingress ? "Ingress" : "Egress";
                         });

TEST(AttachProofQuiet, NothingOfItReachesTheWire) {
    Testbed bed;
    const PacketSocket wire(bed.worker, "eth0");
    bed.attach();
    while (const auto frame = wire.poll(std::chrono::milliseconds(50)))
        EXPECT_NE(frame->size(), 128u);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status.drain("stale"), 0u);
    EXPECT_EQ(status.drain("ticks"), 0u);
}

TEST(AttachProofDrain, AReplacementSaysThatTheDrainIsDown) {
    Testbed bed;
    bed.attach();
    const auto drain = bed.olaf.status().json["drain"]["device"].get<std::string>();
    bed.host.ip("link set " + drain + " down\n");
    const auto told = bed.olaf({"attach", "in", "--replace", "--rate", "2mbit"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.err.find(drain + " is down"), told.err.npos) << told.err;
    bed.host.ip("link set " + drain + " up\n");
    bed.olaf.replace({"--rate", "2mbit"});
}

TEST(AttachProofDown, ADeviceThatIsDownIsNotTried) {
    Testbed bed;
    bed.host.ip("link set in down\n");
    const auto told = bed.olaf({"attach", "in", "--local"});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_NE(told.err.find("in: it is down, so the drain wasn't tried"), told.err.npos)
        << told.err;
    bed.host.ip("link set in up\n");
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
}

} // namespace
} // namespace olaf::test::attach_proof_test
