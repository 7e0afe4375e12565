// SPDX-License-Identifier: BSD-2-Clause
// `attach --replace` that sends updates another way, stopped for longer than its lease to drain:
// what comes meanwhile leaves by the old way, and the command goes on to its end all the same.
#include <gtest/gtest.h>

#include "killed_at.hpp"
#include "traffic.hpp"

namespace olaf::test::replace_stopped_test {
namespace {

/// The steps of the command that matter here, from 1.
struct Steps {
    unsigned hold = 0;     ///< drained; the order that nothing leaves either
    unsigned prove = 0;    ///< the drain's programs are the new ones: a proof is about to be sent
    unsigned entrance = 0; ///< and XDP's is about to be
};

enum class At { hold, first_filter, proof, entrance };

class ReplaceStopped : public testing::TestWithParam<At> {
  protected:
    std::vector<std::string> command() {
        return bed.olaf.command({"attach", "in", "--replace", "--upstream", "10.0.1.3"});
    }

    /// By a run of its own, that nothing disturbs.
    Steps find_steps() {
        bed.attach(slow_link);
        Stepped replace(command());
        Steps found;
        unsigned map = 0, step = 0;
        while (const auto change = replace.step()) {
            step++;
            if (*change == Change::map)
                map = step;
            if (*change == Change::run && found.prove == 0)
                found.prove = step, found.hold = map;
            if (*change == Change::link && found.entrance == 0)
                found.entrance = step;
        }
        EXPECT_EQ(replace.finish(), 0);
        bed.olaf.detach();
        return found;
    }

    static unsigned wanted(const Steps &steps) {
        switch (GetParam()) {
        case At::hold:
            return steps.hold;
        case At::first_filter:
            return steps.hold + 1;
        case At::proof:
            return steps.prove;
        case At::entrance:
            return steps.entrance;
        }
        return 0;
    }

    struct TwoServers : Testbed {
        TwoServers() : Testbed({.way = Way::upstream4}) {
            server().ip("address add 10.0.1.3/24 dev eth0\n");
            host.ip("neighbour add 10.0.1.3 lladdr " + text(server_mac) +
                    " dev out nud permanent\n");
        }
    };

    TwoServers bed;
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket before{bed.server(), {.address = "10.0.1.2"}};
    UdpSocket after{bed.server(), {.address = "10.0.1.3"}};
};

TEST_P(ReplaceStopped, WhatCameToWaitLeavesByTheOldWay) {
    const auto stop_at = wanted(find_steps());
    bed.attach(slow_link);
    Stepped replace(command());
    for (unsigned step = 0; step < stop_at; step++)
        ASSERT_TRUE(replace.step());
    bed.olaf.await([](const Status &s) { return s.json["emptying"] == false; });
    constexpr std::uint32_t clusters = 6;
    const std::vector<std::uint64_t> large(128, 1);
    for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
        worker.send(Update{.cluster = cluster, .lanes = large}, bed.target(4));
    bed.olaf.await([](const Status &s) { return s["received"] == clusters; });
    EXPECT_GT(bed.olaf.status()["updates_waiting"], 1u);
    EXPECT_EQ(replace.finish(), 0);

    for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
        EXPECT_EQ(before.receive().update().cluster, cluster);
    worker.send(Update{.cluster = 9}, bed.target(4));
    EXPECT_EQ(after.receive().update().cluster, 9u);
    const auto status = bed.olaf.await_drained(clusters + 1);
    EXPECT_EQ(status["updates_out"], clusters + 1);
    EXPECT_EQ(status.failed(), 0u);
    expect_identities(status);
}

std::string name_of(const testing::TestParamInfo<At> &info) {
    constexpr const char *names[] = {"BeforeTheHold", "BeforeTheFilters", "BeforeTheProof",
                                     "BeforeTheEntrance"};
    return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Steps, ReplaceStopped,
                         testing::Values(At::hold, At::first_filter, At::proof, At::entrance),
                         name_of);

} // namespace
} // namespace olaf::test::replace_stopped_test
