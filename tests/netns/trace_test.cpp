// SPDX-License-Identifier: BSD-2-Clause
// Who looks at every update: `olaf trace`, captures that it writes, and `olaf report`.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include "listening.hpp"
#include "olaf/clock.hpp"

namespace olaf::test::trace_test {
namespace {

// `olaf trace`: every update makes its events, and ending it in any way leaves nothing behind.

class Tracing : public testing::Test {
  protected:
    Tracing() { bed.attach({"--rate", "20kbit", "--policy", "aggregate"}); }

    void send(const Update &update) { bed.send(update); }
    /// Waits until the queue is empty.
    void await_drained() { bed.olaf.await_drained(bed.olaf.status()["received"]); }
    static std::string name(const nlohmann::json &event) {
        return event.at("event").get<std::string>() + " " + event.at("action").get<std::string>();
    }

    SocketBed bed;
};

std::string lines(const std::vector<nlohmann::json> &events) {
    std::string text;
    for (const auto &event : events)
        text += event.dump() + "\n";
    return text;
}

TEST_F(Tracing, TellsWhatBecomesOfEveryUpdate) {
    Trace trace(bed, bed.from);
    await_drained();
    // The marker has spent the link's credit: the first update waits, the others fold into it.
    send({.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(100, 1)});
    send({.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(100, 1)});
    for (std::uint32_t i = 1; i <= 3; i++)
        send({.cluster = 2, .worker = i, .sequence = 10 + i, .model_version = 7});
    auto malformed = message(Update{.cluster = 2});
    malformed[23] = 0; // count
    bed.send(malformed);
    send({.cluster = 1024});
    await_drained();
    auto events = trace.events();
    std::erase_if(events, [](const auto &event) { return event["cluster"] == busy_cluster; });
    std::vector<std::string> told;
    for (const auto &event : events)
        told.push_back(name(event));
    EXPECT_EQ(told, (std::vector<std::string>{"arrival appended", "arrival aggregated",
                                              "arrival aggregated", "drop malformed",
                                              "drop not_allowed", "departure drain"}))
        << lines(events);
    ASSERT_EQ(events.size(), 6u);
    expect_schema("trace", lines(events));
    for (std::uint32_t i = 0; i < 3; i++) {
        EXPECT_EQ(events[i]["worker"], i + 1);
        EXPECT_EQ(events[i]["sequence"], 11 + i);
        EXPECT_EQ(events[i]["count"], 1);
    }
    EXPECT_EQ(events[3]["cause"], "count");
    EXPECT_EQ(events[4]["cause"], "cluster");
    const auto &departure = events[5];
    EXPECT_EQ(departure["count"], 3);
    EXPECT_EQ(departure["worker"], 3);
    EXPECT_EQ(departure["model_version"], 7);
    // Its times are those of the arrivals, to the nanosecond.
    EXPECT_EQ(departure["first_arrived_ns"], events[0]["time_ns"]);
    EXPECT_EQ(departure["arrived_ns"], events[2]["time_ns"]);
    const auto number = [&](const char *key) { return departure[key].get<std::int64_t>(); };
    EXPECT_EQ(number("wait_ns"), number("time_ns") - number("first_arrived_ns"));
    EXPECT_EQ(number("engine_age_ns"), number("time_ns") - number("arrived_ns"));
    EXPECT_EQ(number("age_ns"), number("tai_ns") - number("generated_ns"));
}

TEST_F(Tracing, FiltersByWorkerActionAndAge) {
    Trace trace(bed, bed.from,
                {"--worker", "1", "--worker", "5", "--action", "arrival", "--action", "passed",
                 "--min-age", "1s"});
    await_drained();
    const auto fresh = static_cast<std::uint64_t>(tai_now_ns()), old = fresh - 5'000'000'000;
    send({.cluster = 3, .worker = 5, .sequence = 1, .generated_ns = old});
    send({.cluster = 3, .worker = 5, .sequence = 2, .generated_ns = fresh}); // too young
    send({.cluster = 3, .worker = 6, .sequence = 3, .generated_ns = old});   // another worker
    send({.cluster = 3, .worker = 5, .sequence = 4, .generated_ns = old});
    await_drained();
    std::vector<int> sequences;
    for (const auto &event : trace.events())
        sequences.push_back(event["sequence"].get<int>());
    EXPECT_EQ(sequences, (std::vector<int>{1, 4}));
}

TEST_F(Tracing, SamplesOneOfSoMany) {
    Trace trace(bed, bed.from, {"--sample", "10", "--action", "arrival"});
    await_drained();
    const auto frames = frames_of(bed, random_updates(100, 4, 2, 7));
    const PacketSocket socket(bed.worker, "eth0");
    socket.send(frames);
    await_drained();
    const auto events = trace.events();
    EXPECT_GE(events.size(), 8u); // departures take turns as well
    EXPECT_LE(events.size(), 10u + cpus());
    for (const auto &event : events)
        EXPECT_EQ(event["sampled"], 10);
}

TEST_F(Tracing, EndsWithItsReader) {
    // head ends at the first line; olaf is then done, though nothing more happens.
    std::string command;
    for (const auto &word : bed.olaf.command({"trace", "in"}))
        command += "'" + word + "' ";
    Process pipe({"bash", "-c", command + "| head -n 1; echo \"ended ${PIPESTATUS[0]}\""});
    while (pipe.running() && pipe.output().empty()) {
        send({.cluster = 9});
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const auto told = pipe.wait().out;
    EXPECT_TRUE(says(told, "cluster 9"));
    EXPECT_TRUE(says(told, "\nended 0\n"));
}

TEST_F(Tracing, SaysThatAClusterCantCome) {
    const auto told = bed.olaf({"trace", "in", "--cluster", "5000", "--for", "1ms"});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_TRUE(says(told.err, "olaf: cluster 5000 is beyond the queue's limit, 0 ... 1023"));
}

TEST_F(Tracing, ThereIsOneListenerAtATime) {
    {
        Trace first(bed, bed.from);
        EXPECT_TRUE(refused(bed.olaf({"trace", "in", "--for", "1s"}), "somebody else does"));
        first.process.kill(SIGTERM);
        EXPECT_EQ(first.process.wait().status, 0);
    }
    Trace next(bed, bed.from); // at once
    next.process.kill(SIGKILL);
    next.process.wait();
    Trace another(bed, bed.from); // when the lease of the killed one has ended
    EXPECT_TRUE(another.process.running());
}

TEST_F(Tracing, EndsWithTheQueue) {
    Trace trace(bed, bed.from);
    await_drained();
    bed.olaf.detach();
    EXPECT_TRUE(refused(trace.process.wait(), "it was detached"));
}

TEST(TracingInAFlood, LosesEventsAndSaysHowManyButNoUpdate) {
    Testbed bed;
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    bed.attach();
    const auto before = bed.olaf.status().json["events_lost"].get<std::uint64_t>();
    Trace trace(bed, worker);
    trace.process.kill(SIGSTOP);
    const auto frames = frames_of(bed, random_updates(256, 9, 8, 3));
    auto sent = bed.olaf.status()["received"];
    std::uint64_t lost = 0;
    for (unsigned round = 1; lost == 0; round++) {
        ASSERT_LT(round, 200u) << "the listener's buffer is never full";
        flood(bed, frames, 8);
        sent += std::uint64_t{frames.size()} * 8 * cpus();
        bed.olaf.await([&](const Status &s) { return s["received"] >= sent; });
        lost = bed.olaf.status().json["events_lost"].get<std::uint64_t>() - before;
    }
    trace.process.kill(SIGCONT);
    std::uint64_t told = 0, missed = 0;
    for (const auto &event : trace.events())
        (event["event"] == "missed" ? missed : told) +=
            event["event"] == "missed" ? event["count"].get<std::uint64_t>() : 1;
    EXPECT_GT(told, 0u);
    const auto status = bed.olaf.status();
    EXPECT_EQ(missed, status.json["events_lost"].get<std::uint64_t>() - before);
    EXPECT_EQ(status["received"], sent);
    expect_identities(status);
}

// ---- wireshark ----
// Captures, read by tshark with Olaf's dissector: what `olaf trace --pcap` writes, and what
// dumpcap takes from the link.

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
                bed.send(Update{.cluster = marker_cluster});
                return false;
            },
            [&] { return "packets in " + file + ": " + writer.output(); }, std::chrono::milliseconds(5));
    }
    /// Of so many messages, from here on.
    [[nodiscard]] Process capture_of(std::size_t messages, const std::string &file) const {
        Process capture({"dumpcap", "-q", "-i", "eth0", "-f", "udp port 6523", "-c",
                         std::to_string(messages), "-w", file},
                        {}, &bed.worker);
        capture.await_output("File: "); // it is open, and so is the device
        return capture;
    }
    static Rows of_cluster(const std::string &cluster, Rows rows) {
        std::erase_if(rows, [&](const auto &row) { return row[0] != cluster; });
        return rows;
    }

    Scratch scratch;
    SocketBed bed{{.way = Way::bridged}};
};

TEST_F(Captured, TraceWritesEveryPacketWithItsReason) {
    const auto file = scratch.path("trace.pcapng");
    Process trace(bed.olaf.command({"trace", "in", "--pcap", file}));
    await_packets(trace, file);
    await_drained();
    for (int i = 0; i < 2; i++)
        bed.send(Update{.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(100, 1)});
    bed.send(Update{.cluster = 3, .worker = 7, .lanes = {5, 6}});
    bed.send(Update{.cluster = 3, .worker = 8, .lanes = {10, 20}});
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
    auto capture = capture_of(5, file);
    auto wrong = message(Update{.cluster = 5, .lanes = {1, 2, 3}});
    wrong.back() ^= 1; // of the checksum lane
    bed.send(wrong);
    bed.send(Update{.cluster = 5,
                    .format = OLAF_FORMAT_I16X4,
                    .lanes = {(1ULL << 48) - (2ULL << 32) + (3ULL << 16) - 4}});
    bed.send(message(Ack{.cluster = 5, .lanes = {0xc010'0000'3fc0'0000}}));
    auto join = control_message();
    join[11] = 5; // cluster
    join[23] = 1; // action
    join[47] = 1; // segments, as libolaf sends it
    bed.send(join);
    auto longer = message(Update{.cluster = 5});
    longer.push_back(0);
    bed.send(longer);
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
    auto capture = capture_of(5, file);
    constexpr std::uint32_t seven_integers = OLAF_CONTENT_INT64 << OLAF_CONTENT_SHIFT | 7;
    JobMessage contribution{.rank = 3,
                            .round = 9,
                            .chunk = 2,
                            .chunks = 5,
                            .vector = 4 << 16 | seven_integers,
                            .generation = 77,
                            .exponent = -6,
                            .lanes = {1, 1}};
    bed.send(message(contribution));
    auto stale = contribution;
    stale.type = OLAF_RESULT;
    stale.flags = OLAF_FLAG_STALE;
    stale.count = 76;
    stale.lanes.clear();
    stale.vector = 0;
    bed.send(message(stale));
    bed.send(message(JobMessage{.type = OLAF_CONTROL,
                                .flags = OLAF_FLAG_ANSWER,
                                .count = OLAF_CONTROL_SYNC,
                                .chunks = 2,
                                .exponent = OLAF_CONTROL_WAIT,
                                .lanes = {0, 0, 1, 0}}));
    contribution.chunk = 5;
    bed.send(message(contribution));
    contribution.flags |= OLAF_FLAG_MISFIT;
    contribution.generated_ns = 0x5'0004'4008;
    bed.send(message(contribution));
    EXPECT_EQ(capture.wait().status, 0);

    const auto vectors = dissect(file, {"olaf.workers", "olaf.content", "olaf.last", "olaf.added",
                                        "olaf.flags.misfit", "olaf.other_vector"});
    const Rows expected{{"4", "2", "7", "1", "0", ""},
                        {"", "", "", "", "0", ""},
                        {"", "", "", "", "", ""},
                        {"4", "2", "7", "1", "0", ""},
                        {"4", "2", "7", "1", "1", "0x0000000500044008"}};
    EXPECT_EQ(vectors, expected);
    const auto rows = dissect(file, {"olaf.type", "olaf.rank", "olaf.sequence", "olaf.chunk",
                                     "olaf.chunks", "olaf.generation", "olaf.exponent",
                                     "olaf.named", "olaf.status", "olaf.missing",
                                     "olaf.checksum_status", "_ws.expert.message", "olaf.segment"});
    using Row = std::vector<std::string>;
    ASSERT_EQ(rows.size(), 5u);
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
        control({.flags = 0,
                 .rank = 2,
                 .count = OLAF_CONTROL_JOIN,
                 .chunks = 0,
                 .pool = 16,
                 .lanes = {0x1d, 0, 0x4d, 5}}),
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
                 .exponent = OLAF_CONTROL_WAIT,
                 .lanes = {0, 0, 0x4d, 5}}),
        control({.flags = OLAF_FLAG_ANEW,
                 .rank = 2,
                 .count = OLAF_CONTROL_SYNC,
                 .chunks = 0,
                 .lanes = {0x2d, 0x3d, 0x4d, 5, 0, 0}}),
        control({.flags = answer,
                 .rank = 2,
                 .count = OLAF_CONTROL_SYNC,
                 .chunks = 200u << 16 | OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT,
                 .exponent = OLAF_CONTROL_OVER,
                 .pool = 6,
                 .lanes = {0, 0x3d, 0x4d, 5}}),
        control({.flags = answer,
                 .rank = 3,
                 .count = OLAF_CONTROL_SYNC,
                 .chunks = 2,
                 .exponent = OLAF_CONTROL_OTHER,
                 .pool = 6,
                 .lanes = {0, 0x3d, 0x5d, 6}}),
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
    auto capture = capture_of(messages.size(), file);
    for (const auto &each : messages)
        bed.send(each);
    EXPECT_EQ(capture.wait().status, 0);

    const auto rows =
        dissect(file, {"olaf.action", "olaf.rank", "olaf.pool", "olaf.threshold", "olaf.status",
                       "olaf.missing", "olaf.flags.above", "olaf.job_lanes", "olaf.job_shape",
                       "olaf.job_shape.format", "olaf.padding", "olaf.lane", "olaf.segments"});
    const std::string zeros(32, '0'), all = "65535";
    const Rows expected{{"1", "2", "16", "", "", "", "0", "", "", "", "", "", ""},
                        {"3", "2", "0", "", "", "", "0", "", "", "", "", "", ""},
                        {"4", "2", "0", "3", "", "", "0", "", "", "", "", "", ""},
                        {"3", "2", "0", "", "3", "", "0", "12", "0x0001", "0", "", "", ""},
                        {"4", "2", "0", "", "4", "", "0", "12", "0x0001", "0", "", "", ""},
                        {"2", "5", "0", "", "1", "4", "1", "", "", "", "", "", ""},
                        {"2", "2", "0", "", "", "", "0", "", "", "", zeros, "", ""},
                        {"2", "2", "6", "", "5", "", "0", "200", "0x0300", "3", "", "", ""},
                        {"2", "3", "6", "", "6", "", "0", "", "", "", "", "", ""},
                        {"", all, "0", "", "", "", "", "", "", "", "", "1.5, -2.25", ""}};
    EXPECT_EQ(rows, expected);
    const auto sessions = dissect(file, {"olaf.incarnation", "olaf.session", "olaf.flags.anew",
                                         "olaf.training", "olaf.run_number", "olaf.there"});
    const std::string none = "0x0000000000000000", one = "0x000000000000003d", run = "0x000000000000004d";
    const std::vector<std::string> order{"", "", "0", "", "", ""};
    const Rows joins{{"0x000000000000001d", none, "0", run, "5", ""}, order, order, order, order,
                     {none, none, "0", run, "5", ""},
                     {"0x000000000000002d", one, "1", run, "5", ""},
                     {none, one, "0", run, "5", ""},
                     {none, one, "0", "0x000000000000005d", "6", "2"},
                     {"", "", "", "", "", ""}};
    EXPECT_EQ(sessions, joins);
    // A packet's line says in words what its numbers mean.
    const auto lines = dissect(file, {"_ws.col.Info"});
    ASSERT_EQ(lines.size(), messages.size());
    for (const auto &[row, words] : {std::pair{0, "join, chunk 0"},
                                     {2, "seth, 3 complete a chunk"},
                                     {3, "leave, chunk 0: gone"},
                                     {4, "seth, chunk 0: refused"},
                                     {5, "sync, chunk 0: wait"},
                                     {7, "sync, chunk 0: over"},
                                     {8, "sync, chunk 0: another run has the job"}})
        EXPECT_TRUE(says(lines[static_cast<std::size_t>(row)][0], words));
}

// ---- report ----
// `olaf report`: what it writes adds up to what the queue counted.

std::string content(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Numbers of a CSV file behind its title, a row a line.
std::vector<std::vector<double>> numbers(const std::string &path) {
    std::istringstream lines(content(path));
    std::vector<std::vector<double>> rows;
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        std::istringstream cells(line);
        std::vector<double> row;
        for (std::string cell; std::getline(cells, cell, ',');)
            row.push_back(std::stod(cell));
        if (!row.empty())
            rows.push_back(std::move(row));
    }
    return rows;
}

class Reporting : public testing::Test {
  protected:
    /// Updates of nine clusters, faster than the link, until the object goes.
    Process traffic() {
        const auto frames = frames_of(bed, random_updates(90, 9, 8, 5));
        return Process([this, frames] {
            const PacketSocket socket(bed.worker, "eth0");
            for (;;)
                for (const auto &frame : frames) {
                    socket.send({&frame, 1});
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
        });
    }

    Scratch scratch;
    Testbed bed{{.way = Way::bridged}};
};

TEST_F(Reporting, TellsWhereUpdatesWereLostBehindTheQueue) {
    bed.attach();
    auto sender = traffic();
    Process report(bed.olaf.command(
        {"--json", "report", "in", "--for", "2s", "-o", scratch.path("lost")}));
    while (report.running()) { // a link that flaps loses what is on its way, each time
        bed.server().ip("link set eth0 down\n");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        bed.server().ip("link set eth0 up\n");
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    sender.kill();
    const auto told = report.wait();
    ASSERT_EQ(told.status, 0) << told.err;
    expect_schema("report", told.out);
    const auto all = nlohmann::json::parse(told.out), losses = all["losses"];
    EXPECT_EQ(all, nlohmann::json::parse(content(scratch.path("lost") + "/report.json")));
    const auto status = bed.olaf.status();
    std::uint64_t behind = 0;
    for (const auto &[place, frames] : status.json.at("lost_behind").items()) {
        const auto reason = "lost_behind." + place;
        ASSERT_TRUE(losses.contains(reason)) << losses;
        EXPECT_LE(losses[reason], frames) << reason;
        behind += losses[reason].get<std::uint64_t>();
    }
    EXPECT_GT(behind, 0u) << losses;
}

/// Each is a file, and in the page in both themes.
void expect_pictures(const std::string &directory, const std::string &page) {
    std::size_t pictures = 0;
    for (const auto *name : {"aom", "folds", "occupancy", "losses"}) {
        const auto png = content(directory + "/" + name + ".png");
        EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n") << name;
        EXPECT_GT(png.size(), 5'000u) << name;
    }
    for (std::size_t at = 0; (at = page.find("data:image/png;base64,iVBOR", at)) != page.npos; at++)
        pictures++;
    EXPECT_EQ(pictures, 8u);
}

TEST_F(Reporting, WritesWhatHappened) {
    bed.attach({"--rate", "200kbit", "--queue", "4"});
    const auto directory = scratch.path("made/if/need/be");
    Process recording(bed.olaf.command({"report", "in", "--for", "30s", "-o", directory}));
    recording.await_output("recording in");
    auto sender = traffic();
    bed.olaf.await([](const Status &s) { return s["departed"] >= 1000; }); // 7 s at this rate
    sender.kill();
    sender.wait();
    bed.olaf.await_drained(bed.olaf.status()["received"]);
    (void)interrupted_after(recording, "");
    const auto report = nlohmann::json::parse(content(directory + "/report.json"));
    expect_schema("report", report.dump());
    EXPECT_EQ(report["departures_missed"], 0);

    // Events and counters tell the same: nothing moved when it began, nor when it ended.
    const auto departures = numbers(directory + "/departures.csv");
    EXPECT_EQ(departures.size(), report["departures_told"]);
    EXPECT_EQ(departures.size(), report["messages_out"]);
    double updates = 0, lost = 0;
    for (const auto &row : departures)
        updates += row[2];
    EXPECT_EQ(updates, report["updates_out"].get<double>());
    EXPECT_GT(report["fold_factor"].get<double>(), 1.0);
    for (const auto &[reason, messages] : report["losses"].items())
        lost += messages.get<double>();
    EXPECT_GT(report["losses"]["dropped_full"], 0) << report["losses"];
    EXPECT_EQ(lost, report["dropped"].get<double>());
    EXPECT_EQ(report["clusters"].size(), 9u);
    EXPECT_EQ(report["attached_with"], "olaf attach in --forward out --queue 4 --rate 200kbit");
    EXPECT_EQ(report["reported_with"], "olaf report in --for 30s --clock generated");
    for (const auto &cluster : report["clusters"]) {
        ASSERT_FALSE(cluster["by_arrival"].is_null()) << cluster;
        const auto &age = cluster["by_arrival"];
        ASSERT_FALSE(age["peak_highest_ns"].is_null()) << cluster;
        EXPECT_GE(age["peak_highest_ns"].get<double>(), age["average_ns"].get<double>() / 2);
    }

    const auto folds = numbers(directory + "/folds.csv");
    ASSERT_FALSE(folds.empty());
    EXPECT_DOUBLE_EQ(folds.back()[2], 1.0); // a CDF ends so
    EXPECT_GT(numbers(directory + "/occupancy.csv").size(), 100u);
    for (const auto &row : numbers(directory + "/sawtooth.csv"))
        EXPECT_GE(row[1], 0);

    const auto page = content(directory + "/index.html");
    EXPECT_TRUE(says(page, "<th scope=\"row\">dropped_full</th><td>"));
    EXPECT_TRUE(says(page, "At the end: "));
    expect_pictures(directory, page);
    for (const auto *told : {"Where this is from", "<th scope=\"row\">host</th>", "--rate 200kbit"})
        EXPECT_TRUE(says(page, told));
    EXPECT_FALSE(says(page, "://")); // it fetches nothing
}

TEST_F(Reporting, EndsEarlyOnAnInterruptAndKnowsAnIdleQueue) {
    bed.attach();
    const auto directory = scratch.path("idle");
    Process report(bed.olaf.command({"report", "in", "--for", "3600s", "-o", directory}));
    report.await_output("recording in for 3600s");
    report.kill(SIGINT);
    const auto told = report.wait();
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(told.out, directory + "/index.html\n");
    EXPECT_TRUE(std::filesystem::exists(directory + "/occupancy.png"));
}

TEST_F(Reporting, SaysWhatIsMissingBeforeItRecords) {
    bed.attach();
    auto command = bed.olaf.command({"report", "in", "--for", "3600s", "-o", scratch.path("no")});
    command.insert(command.begin(), {"env", "PATH=/nowhere"});
    EXPECT_TRUE(refused(run(command), "gnuplot-nox"));
    EXPECT_TRUE(refused(bed.olaf({"report", "in", "-o", "/proc/olaf"}), "/proc/olaf"));
}

} // namespace
} // namespace olaf::test::trace_test
