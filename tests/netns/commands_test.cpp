// SPDX-License-Identifier: BSD-2-Clause
// The commands called as functions, as a controller does: values come back, nothing is printed,
// and the calling program's signals stay its own.
#include <gtest/gtest.h>

#include <csignal>

#include "loader/commands/commands.hpp"
#include "testbed.hpp"

namespace olaf::test::commands_test {
namespace {

/// Whether this thread takes the signals that commands hold back while they run.
bool takes_signals() {
    sigset_t held;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &held);
    return sigismember(&held, SIGINT) == 0 && sigismember(&held, SIGTERM) == 0;
}

class Commands : public testing::Test {
  protected:
    Commands() { testing::internal::CaptureStdout(); }
    ~Commands() override {
        EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
        EXPECT_TRUE(takes_signals());
    }

    Testbed bed;
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
    const Inside host{bed.host};
};

/// A queue of 8 that delivers to this host.
AttachOptions small_queue() {
    AttachOptions options;
    options.device = "in";
    options.local = true;
    options.queue = 8;
    return options;
}

TEST_F(Commands, ReturnWhatTheyDidAndFound) {
    const auto attached = attach(small_queue());
    ASSERT_TRUE(attached) << attached.error().message();
    EXPECT_EQ(attached->device, "in");
    EXPECT_EQ(attached->record.config.queue_capacity, 8u);
    worker.send(Update{.cluster = 3}, bed.target(4));
    EXPECT_EQ(server.receive().update().cluster, 3u);

    const auto one = status("in");
    ASSERT_TRUE(one) << one.error().message();
    EXPECT_TRUE(one->attachment.alive);
    EXPECT_EQ(one->reading.value().snapshot.counters.received, 1u);
    EXPECT_EQ(status_of_all().value().size(), 1u);

    ClusterOptions rule;
    rule.device = "in";
    rule.action = ClusterOptions::Action::set;
    rule.clusters = Range{3, 3};
    rule.max_count = 2;
    ASSERT_TRUE(change_clusters(rule));
    const auto listing = list_clusters(rule);
    ASSERT_TRUE(listing) << listing.error().message();
    EXPECT_EQ(listing->rows.at(0).rule.max_count, 2u);

    const auto checks = doctor({.device = "in"});
    ASSERT_TRUE(checks) << checks.error().message();
    EXPECT_TRUE(fit_to_attach(*checks));

    const auto detached = detach({.device = "in"});
    ASSERT_TRUE(detached) << detached.error().message();
    EXPECT_EQ(detached->updates_dropped, 0u);
    EXPECT_TRUE(status_of_all().value().empty());
}

TEST_F(Commands, HandOverWhatTheySee) {
    ASSERT_TRUE(attach(small_queue()));
    worker.send(Update{.cluster = 3}, bed.target(4));
    EXPECT_EQ(server.receive().update().cluster, 3u);
    std::vector<std::uint32_t> seen;
    const auto watched = watch({.device = "in"}, -1, [&](const Reading &, const Rows &rows) {
        for (const auto &row : rows.clusters)
            seen.push_back(row.cluster);
        return false; // enough
    });
    ASSERT_TRUE(watched) << watched.error().message();
    EXPECT_EQ(seen, std::vector{3u});
    EXPECT_TRUE(detach({.device = "in"}));
}

TEST_F(Commands, SayWhyTheyFail) {
    const auto none = status("in");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message().find("none is attached"), std::string::npos);
    auto options = small_queue();
    options.device = "nowhere";
    const auto refused = attach(options);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("nowhere"), std::string::npos);
}

} // namespace
} // namespace olaf::test::commands_test
