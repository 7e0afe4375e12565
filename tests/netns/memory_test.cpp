// SPDX-License-Identifier: BSD-2-Clause
// What a queue takes of the host's memory: little, told, and no more for fifo than is asked for.
#include <gtest/gtest.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed.hpp"

namespace olaf::test::memory_test {
namespace {

/// Bytes that the values of the queue's pinned arrays hold, as their sizes say.
std::uint64_t bytes_in_arrays(const Netns &netns, const std::string &device) {
    struct stat status {};
    EXPECT_EQ(::fstat(netns.fd(), &status), 0);
    const auto directory = "/sys/fs/bpf/olaf/" + std::to_string(status.st_ino) + "-" +
                           std::to_string(netns.ifindex(device));
    std::uint64_t bytes = 0;
    for (const auto &pin : std::filesystem::directory_iterator(directory)) {
        const int fd = bpf_obj_get(pin.path().c_str());
        bpf_map_info info{};
        __u32 length = sizeof info;
        if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &length) == 0 &&
            info.type == BPF_MAP_TYPE_ARRAY && length >= offsetof(bpf_map_info, map_flags))
            bytes += std::uint64_t{info.max_entries} * info.value_size;
        ::close(fd);
    }
    return bytes;
}

constexpr std::uint64_t gibibyte = 1u << 30, mebibyte = 1u << 20;

TEST(Memory, OfAHundredThousandClustersIsLessThanAGibibyte) {
    Testbed bed;
    bed.attach({"--max-clusters", "100000"});
    const auto json = bed.olaf.status().json;
    const auto told = json.at("memory_bytes").get<std::uint64_t>();
    EXPECT_LT(told, gibibyte);
    EXPECT_EQ(json.at("queue").at("capacity"), 200'000); // as many as can wait
    // The arrays are almost all of it; the rest is counters, an event buffer and addresses.
    const auto arrays = bytes_in_arrays(bed.host, "in");
    EXPECT_GT(arrays, 500 * mebibyte);
    EXPECT_GE(told, arrays);
    EXPECT_LT(told, arrays + 8 * mebibyte);

    // And the last of them works.
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    worker.send(Update{.cluster = 99'999}, bed.target(4));
    EXPECT_EQ(server.receive().update().cluster, 99'999u);
}

TEST(Memory, IsToldByAttachToo) {
    Testbed bed;
    const auto told = bed.olaf({"--json", "attach", "in", "--local"});
    ASSERT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(nlohmann::json::parse(told.out).at("memory_bytes"),
              bed.olaf.status().json.at("memory_bytes"));
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
}

TEST(Memory, ForFifoIsTakenOnlyWhereFifoCanBeUsed) {
    Testbed bed;
    const auto before = bed.olaf({"attach", "in", "--local"});
    ASSERT_EQ(before.status, 0) << before.err;
    const auto without = bed.olaf.status().json.at("memory_bytes").get<std::uint64_t>();
    const auto refused = bed.olaf({"cluster", "set", "in", "3", "--policy", "fifo"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("attach it with --fifo"), std::string::npos) << refused.err;
    const auto kept = bed.olaf({"attach", "in", "--replace", "--policy", "fifo"});
    EXPECT_EQ(kept.status, 1);
    EXPECT_NE(kept.err.find("without room for policy fifo"), std::string::npos) << kept.err;
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);

    for (const auto &option : std::vector<std::vector<std::string>>{{"--fifo"}, {"--policy", "fifo"}}) {
        std::vector<std::string> arguments = {"attach", "in", "--local"};
        arguments.insert(arguments.end(), option.begin(), option.end());
        ASSERT_EQ(bed.olaf(arguments).status, 0);
        const auto status = bed.olaf.status().json;
        EXPECT_EQ(status.at("limits").at("fifo_places"), 4096);
        EXPECT_GT(status.at("memory_bytes").get<std::uint64_t>(), without + 3 * mebibyte);
        bed.olaf.cluster({"set", "3", "--policy", "fifo"});
        bed.olaf.replace(); // keeps it
        EXPECT_EQ(bed.olaf.status().json.at("limits").at("fifo_places"), 4096);
        EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
    }
}

} // namespace
} // namespace olaf::test::memory_test
