// SPDX-License-Identifier: BSD-2-Clause
// Captures, read by tshark with Olaf's dissector: what `olaf trace --pcap` writes, and what
// dumpcap takes from the link.
#include <gtest/gtest.h>

#include <csignal>

#include "listening.hpp"

namespace olaf::test::wireshark_test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

class Captured : public testing::Test {
  protected:
    Captured() { bed.attach({"--rate", "20kbit", "--policy", "aggregate"}); }

    void await_drained() { bed.olaf.await_drained(bed.olaf.status()["received"]); }
    /// Sends markers until the first is in the file.
    void await_packets(Process &writer, const std::string &file) {
        constexpr std::uintmax_t headers = 400;
        const auto size = [&] {
            std::error_code none;
            const auto bytes = std::filesystem::file_size(file, none);
            return none ? 0 : bytes;
        };
        await(
            [&] {
                if (size() >= headers)
                    return true;
                if (!writer.running())
                    throw std::runtime_error("the writer ended: " + writer.output());
                worker.send(Update{.cluster = marker_cluster}, bed.target(4));
                return false;
            },
            [&] { return "packets in " + file + ": " + writer.output(); }, std::chrono::milliseconds(5));
    }
    static Rows of_cluster(const std::string &cluster, Rows rows) {
        std::erase_if(rows, [&](const auto &row) { return row[0] != cluster; });
        return rows;
    }

    Scratch scratch;
    Testbed bed{{.way = Way::bridged}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

TEST_F(Captured, TraceWritesEveryPacketWithItsReason) {
    const auto file = scratch.path("trace.pcapng");
    Process trace(bed.olaf.command({"trace", "in", "--pcap", file}));
    await_packets(trace, file);
    await_drained();
    for (int i = 0; i < 2; i++)
        worker.send(Update{.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(100, 1)},
                    bed.target(4));
    worker.send(Update{.cluster = 3, .worker = 7, .lanes = {5, 6}}, bed.target(4));
    worker.send(Update{.cluster = 3, .worker = 8, .lanes = {10, 20}}, bed.target(4));
    await_drained();
    trace.kill(SIGINT);
    const auto ended = trace.wait();
    EXPECT_EQ(ended.status, 0) << ended.err;

    const auto rows =
        of_cluster("3", dissect(file, {"olaf.cluster", "frame.interface_name", "frame.comment",
                                       "olaf.worker", "olaf.count", "olaf.checksum_status",
                                       "olaf.lane", "frame.packet_flags_direction"}));
    ASSERT_EQ(rows.size(), 3u);
    const auto &first = rows[0], &second = rows[1], &departed = rows[2];
    EXPECT_EQ(first[1], "in");
    EXPECT_EQ(
        first[2].find("olaf arrival: appended, cluster 3, worker 7, updates 1, age by generation "),
        0u)
        << first[2];
    EXPECT_EQ(second[2].find("olaf arrival: aggregated, cluster 3, worker 8"), 0u) << second[2];
    EXPECT_EQ(departed[1], "out");
    EXPECT_EQ(departed[2].find("olaf departure: drain, cluster 3, worker 8, updates 2"), 0u)
        << departed[2];
    EXPECT_EQ(departed[4], "2");
    EXPECT_EQ(departed[6], "15, 0,26, 0"); // the lanes' sums
    for (const auto &row : rows)
        EXPECT_EQ(row[5], "Good");
}

TEST_F(Captured, TheDissectorReadsWhatIsOnTheLink) {
    const auto file = scratch.path("link.pcapng");
    Process capture({"dumpcap", "-q", "-i", "eth0", "-f", "udp port 6523", "-c", "5", "-w", file},
                    {}, &bed.worker);
    capture.await_output("File: "); // it is open, and so is the device
    auto wrong = message(Update{.cluster = 5, .lanes = {1, 2, 3}});
    wrong.back() ^= 1; // of the checksum lane
    worker.send(wrong, bed.target(4));
    worker.send(Update{.cluster = 5,
                       .format = OLAF_FORMAT_I16X4,
                       .lanes = {(1ULL << 48) - (2ULL << 32) + (3ULL << 16) - 4}},
                bed.target(4));
    worker.send(message(Ack{.cluster = 5, .lanes = {0xc010'0000'3fc0'0000}}), bed.target(4));
    auto join = control_message();
    join[11] = 5; // cluster
    join[23] = 1; // action
    join[47] = 1; // segments, as libolaf sends it
    worker.send(join, bed.target(4));
    auto longer = message(Update{.cluster = 5});
    longer.push_back(0);
    worker.send(longer, bed.target(4));
    EXPECT_EQ(capture.wait().status, 0); // it has all five

    const auto rows = dissect(file, {"olaf.cluster", "olaf.type", "olaf.lane",
                                     "olaf.checksum_status", "olaf.action", "_ws.expert.message",
                                     "olaf.worker", "olaf.segments", "olaf.pool"});
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_EQ(rows[0][3], "Bad");
    EXPECT_EQ(rows[0][5], "Checksum lane is wrong");
    EXPECT_EQ(rows[1][2], "-4, 3, -2, 1");
    EXPECT_EQ(rows[1][3], "Good");
    EXPECT_EQ(rows[2][1], "2");
    EXPECT_EQ(rows[2][2], "1.5, -2.25");
    EXPECT_EQ(rows[2][6], "4294967295");
    EXPECT_EQ(rows[3][1], "3");
    EXPECT_EQ(rows[3][4], "1");
    EXPECT_EQ(rows[3][7], "1");
    EXPECT_EQ(rows[3][8], "") << "a cluster's join isn't a job's";
    EXPECT_EQ(rows[4][5], "Length isn't 8 + 48 + 8 x lanes");
}

TEST_F(Captured, TheDissectorReadsMessagesOfJobs) {
    const auto file = scratch.path("rounds.pcapng");
    Process capture({"dumpcap", "-q", "-i", "eth0", "-f", "udp port 6523", "-c", "4", "-w", file},
                    {}, &bed.worker);
    capture.await_output("File: ");
    JobMessage contribution{.rank = 3,
                            .round = 9,
                            .chunk = 2,
                            .chunks = 5,
                            .generation = 77,
                            .exponent = -6,
                            .lanes = {1, 1}};
    worker.send(message(contribution), bed.target(4));
    auto stale = contribution;
    stale.type = OLAF_RESULT;
    stale.flags = OLAF_FLAG_STALE;
    stale.count = 76;
    stale.lanes.clear();
    worker.send(message(stale), bed.target(4));
    worker.send(message(JobMessage{.type = OLAF_CONTROL,
                                   .flags = OLAF_FLAG_ANSWER,
                                   .count = OLAF_CONTROL_SYNC,
                                   .chunks = 2,
                                   .exponent = OLAF_CONTROL_WAIT}),
                bed.target(4));
    contribution.chunk = 5;
    worker.send(message(contribution), bed.target(4));
    EXPECT_EQ(capture.wait().status, 0);

    const auto rows = dissect(file, {"olaf.type", "olaf.worker", "olaf.sequence", "olaf.chunk",
                                     "olaf.chunks", "olaf.generation", "olaf.exponent",
                                     "olaf.named", "olaf.status", "olaf.missing",
                                     "olaf.checksum_status", "_ws.expert.message", "olaf.segment"});
    using Row = std::vector<std::string>;
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0], (Row{"4", "3", "9", "2", "5", "77", "-6", "", "", "", "Good", "", ""}));
    EXPECT_EQ(rows[1], (Row{"5", "3", "9", "2", "5", "77", "-6", "76", "", "", "", "", ""}));
    EXPECT_EQ(rows[2], (Row{"3", "0", "0", "0", "", "1", "", "", "1", "2", "", "", ""}));
    EXPECT_EQ(rows[3][11], "Chunk isn't below chunks");
}

/// What members ask and nodes answer, and results of floats for all.
std::vector<Bytes> orders_and_answers() {
    constexpr std::uint32_t shape = 12u << 16 | OLAF_FLAG_CHECKSUM;
    constexpr std::uint16_t answer = OLAF_FLAG_ANSWER;
    const auto control = [](JobMessage order) {
        order.type = OLAF_CONTROL;
        return message(order);
    };
    return {
        control({.flags = 0, .rank = 2, .count = OLAF_CONTROL_JOIN, .chunks = 0, .pool = 16}),
        control({.flags = 0, .rank = 2, .count = OLAF_CONTROL_LEAVE, .chunks = 0}),
        control({.flags = 0, .rank = 2, .count = OLAF_CONTROL_SETH, .chunks = 3}),
        control({.flags = answer,
                 .rank = 2,
                 .count = OLAF_CONTROL_LEAVE,
                 .chunks = shape,
                 .exponent = OLAF_CONTROL_GONE}),
        control({.flags = answer,
                 .rank = 2,
                 .count = OLAF_CONTROL_SETH,
                 .chunks = shape,
                 .exponent = OLAF_CONTROL_REFUSED}),
        control({.flags = answer | OLAF_FLAG_ABOVE,
                 .rank = 5,
                 .count = OLAF_CONTROL_SYNC,
                 .chunks = 4,
                 .exponent = OLAF_CONTROL_WAIT}),
        control({.flags = 0, .rank = 2, .count = OLAF_CONTROL_SYNC, .chunks = 0, .lanes = {0, 0}}),
        control({.flags = answer,
                 .rank = 2,
                 .count = OLAF_CONTROL_SYNC,
                 .chunks = 200u << 16 | OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT,
                 .pool = 6}),
        message(JobMessage{.type = OLAF_RESULT,
                           .flags = OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT,
                           .rank = OLAF_EVERY_WORKER,
                           .count = 3,
                           .lanes = {0xc010'0000'3fc0'0000}}),
    };
}

TEST_F(Captured, TheDissectorReadsOrdersOfMembersAndWhatIsAnswered) {
    const auto messages = orders_and_answers();
    const auto file = scratch.path("orders.pcapng");
    Process capture({"dumpcap", "-q", "-i", "eth0", "-f", "udp port 6523", "-c",
                     std::to_string(messages.size()), "-w", file},
                    {}, &bed.worker);
    capture.await_output("File: ");
    for (const auto &each : messages)
        worker.send(each, bed.target(4));
    EXPECT_EQ(capture.wait().status, 0);

    const auto rows =
        dissect(file, {"olaf.action", "olaf.worker", "olaf.pool", "olaf.threshold", "olaf.status",
                       "olaf.missing", "olaf.flags.above", "olaf.job_lanes", "olaf.job_shape",
                       "olaf.job_shape.format", "olaf.padding", "olaf.lane", "olaf.segments"});
    const std::string zeros(32, '0'), all = "4294967295";
    const Rows expected{{"1", "2", "16", "", "", "", "0", "", "", "", "", "", ""},
                        {"3", "2", "0", "", "", "", "0", "", "", "", "", "", ""},
                        {"4", "2", "0", "3", "", "", "0", "", "", "", "", "", ""},
                        {"3", "2", "0", "", "3", "", "0", "12", "0x0001", "0", "", "", ""},
                        {"4", "2", "0", "", "4", "", "0", "12", "0x0001", "0", "", "", ""},
                        {"2", "5", "0", "", "1", "4", "1", "", "", "", "", "", ""},
                        {"2", "2", "0", "", "", "", "0", "", "", "", zeros, "", ""},
                        {"2", "2", "6", "", "0", "", "0", "200", "0x0300", "3", "", "", ""},
                        {"", all, "0", "", "", "", "", "", "", "", "", "1.5, -2.25", ""}};
    EXPECT_EQ(rows, expected);
    // A packet's line says in words what its numbers mean.
    const auto lines = dissect(file, {"_ws.col.Info"});
    ASSERT_EQ(lines.size(), messages.size());
    for (const auto &[row, words] : {std::pair{0, "join, chunk 0"},
                                     {2, "seth, 3 complete a chunk"},
                                     {3, "leave, chunk 0: gone"},
                                     {4, "seth, chunk 0: refused"},
                                     {5, "sync, chunk 0: wait"}})
        EXPECT_NE(lines[static_cast<std::size_t>(row)][0].find(words), std::string::npos)
            << lines[static_cast<std::size_t>(row)][0];
}

} // namespace
} // namespace olaf::test::wireshark_test
