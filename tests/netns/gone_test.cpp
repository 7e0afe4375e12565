// SPDX-License-Identifier: BSD-2-Clause
// A queue whose network namespace goes, or whose device gets another name.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>

#include "killed_at.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::gone_test {
namespace {

TEST(Gone, WhatADeletedNamespaceLeavesIsClearedByAnyCommandThatWrites) {
    Testbed bed; // of a queue that lives: it isn't touched
    bed.attach();
    std::string pins;
    {
        const Netns other("gone"); // goes at the end of this scope, with the queue attached
        other.ip("link add name in type veth peer name peer\nlink set in up\nlink set peer up\n");
        const auto attached = run({OLAF_BINARY, "--netns", other.name(), "attach", "in", "--local"});
        ASSERT_EQ(attached.status, 0) << attached.err;
        struct stat status {};
        ASSERT_EQ(fstat(other.fd(), &status), 0);
        pins = "/sys/fs/bpf/olaf/" + std::to_string(status.st_ino) + "-" +
               std::to_string(other.ifindex("in"));
        ASSERT_TRUE(std::filesystem::exists(pins));
    }
    std::string said;
    // The kernel takes a namespace down in its own time.
    await(
        [&] {
            said = bed.olaf({"cluster", "set", "in", "1", "--policy", "newest"}).err;
            return !std::filesystem::exists(pins);
        },
        [&] { return "the end of " + pins; });
    EXPECT_NE(said.find("in: removed what was left of its queue, for its network namespace"),
              said.npos)
        << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(bed.olaf.status()["received"], 0u);
}

/// Attaches in a mount namespace that doesn't know the network namespaces of this test, to a device of
/// the workers' namespace. Every attach sweeps what it takes for left over.
Outcome attach_where_namespaces_are_hidden(const Testbed &bed) {
    return run({"unshare", "--mount", "sh", "-c",
                "mount -t tmpfs none /run/netns && exec " OLAF_BINARY " attach eth0 --local"},
               {}, &bed.worker);
}

TEST(Gone, AnAttachThatWasKilledIsNotSweptFromWhereItsNamespaceIsNotSeen) {
    Testbed bed;
    const auto pins = pin_directory(bed.host, "in");
    unsigned left = 0;
    // No process is in its namespace any more once it is killed.
    for (const unsigned step : {2u, 4u, 8u, 16u, 32u, 64u}) {
        ASSERT_TRUE(killed_at(bed.olaf.command({"attach", "in", "--local"}), step));
        const bool began = std::filesystem::exists(pins) && !std::filesystem::is_empty(pins);
        const auto there = began ? run({"ls", pins}).out : "";
        const auto other = attach_where_namespaces_are_hidden(bed);
        ASSERT_EQ(other.status, 0) << other.err;
        if (began) {
            EXPECT_EQ(run({"ls", pins}).out, there) << "killed at step " << step << ": " << other.err;
            left++;
        }
        EXPECT_EQ(run({OLAF_BINARY, "detach", "eth0"}, {}, &bed.worker).status, 0);
        bed.olaf({"detach", "in", "--force"});
    }
    EXPECT_GT(left, 3u);
}

TEST(Gone, ARenamedDeviceKeepsItsQueueByItsNewName) {
    Testbed bed;
    const auto before = traces(bed.host);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.attach(slow_link);
    bed.host.ip("link set in name renamed\n");
    occupy(bed, worker, server);
    worker.send(Update{.cluster = 1}, bed.target(4));
    EXPECT_EQ(server.receive().update().cluster, 1u);
    EXPECT_EQ(bed.olaf({"attach", "renamed", "--replace", "--rate", "1mbit"}).status, 0);
    EXPECT_EQ(bed.olaf({"status", "renamed"}).status, 0);
    EXPECT_EQ(bed.olaf({"detach", "renamed"}).status, 0);
    bed.host.ip("link set renamed name in\n");
    EXPECT_EQ(traces(bed.host), before);
}

} // namespace
} // namespace olaf::test::gone_test
