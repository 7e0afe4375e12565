// SPDX-License-Identifier: BSD-2-Clause
// A queue whose network namespace goes, or whose device gets another name.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>

#include "traffic.hpp"

namespace olaf::test {
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
    const auto deadline = std::chrono::steady_clock::now() + patience;
    std::string said;
    // The kernel takes a namespace down in its own time.
    while (std::filesystem::exists(pins) && std::chrono::steady_clock::now() < deadline)
        said = bed.olaf({"cluster", "set", "in", "1", "--policy", "newest"}).err;
    EXPECT_FALSE(std::filesystem::exists(pins));
    EXPECT_NE(said.find("in: removed what was left of its queue, for its network namespace"),
              said.npos)
        << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(bed.olaf.status()["received"], 0u);
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
} // namespace olaf::test
