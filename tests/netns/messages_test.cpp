// SPDX-License-Identifier: BSD-2-Clause
// What commands say to one who may not look, or who looks where nothing is to be seen.
#include <gtest/gtest.h>

#include "testbed.hpp"

namespace olaf::test::messages_test {
namespace {

class Messages : public testing::Test {
  protected:
    /// The command as nobody, without a capability.
    [[nodiscard]] Outcome nobody(std::vector<std::string> arguments) const {
        std::vector<std::string> command{"setpriv",        "--reuid", "65534",
                                         "--regid",        "65534",   "--clear-groups",
                                         "--bounding-set", "-all",    OLAF_BINARY};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return run(command, {}, &bed.host);
    }

    Testbed bed{{.way = Way::bridged}};
};

TEST_F(Messages, StatusNamesWhatNobodyMayRead) {
    const auto told = nobody({"status"});
    EXPECT_EQ(told.status, 1);
    EXPECT_TRUE(told.err.starts_with("olaf: cannot read the queues of this host: ")) << told.err;
}

/// It gives a command mounts of its own, without the BPF file system: a queue would go with them.
TEST_F(Messages, NothingIsAttachedUnderIpNetnsExec) {
    const auto before = traces(bed.host);
    const std::vector<std::vector<std::string>> commands{
        {"attach", "in", "--local"}, {"status"}, {"detach", "in"}};
    for (const auto &command : commands) {
        std::vector<std::string> line{"ip", "netns", "exec", bed.host.name(), OLAF_BINARY};
        line.insert(line.end(), command.begin(), command.end());
        const auto outcome = run(line);
        EXPECT_EQ(outcome.status, 1) << command[0];
        EXPECT_NE(outcome.err.find("use olaf --netns NAME in place of ip netns exec"),
                  std::string::npos)
            << outcome.err;
    }
    EXPECT_EQ(traces(bed.host), before);
}

TEST_F(Messages, DoctorOfNobodyCountsNoQueues) {
    bed.attach();
    const auto told = nobody({"doctor"});
    EXPECT_EQ(told.status, 1);
    EXPECT_NE(told.out.find("how many queues are pinned can't be told"), std::string::npos)
        << told.out;
    EXPECT_NE(bed.olaf({"doctor"}).out.find(" pinned\n"), std::string::npos);
}

TEST_F(Messages, MeterSaysThatTheQueueOnItsDeviceComesFirst) {
    constexpr auto hint = "in: its queue takes updates before the meter sees them";
    EXPECT_EQ(bed.olaf({"meter", "in", "--for", "1ms"}).err.find(hint), std::string::npos);
    bed.attach();
    EXPECT_NE(bed.olaf({"meter", "in", "--for", "1ms"}).err.find(hint), std::string::npos);
    EXPECT_EQ(bed.olaf({"meter", "out", "--for", "1ms"}).err, "");
}

} // namespace
} // namespace olaf::test::messages_test
