// SPDX-License-Identifier: BSD-2-Clause
// `olaf trace`: every update makes its events, and ending it in any way leaves nothing behind.
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "listening.hpp"

namespace olaf::test::trace_test {
namespace {

class Tracing : public testing::Test {
  protected:
    Tracing() { bed.attach({"--rate", "20kbit", "--policy", "aggregate"}); }

    void send(const Update &update) { worker.send(update, bed.target(4)); }
    /// Waits until the queue is empty.
    void await_drained() { bed.olaf.await_drained(bed.olaf.status()["received"]); }
    static std::string name(const nlohmann::json &event) {
        return event.at("event").get<std::string>() + " " + event.at("action").get<std::string>();
    }

    Testbed bed;
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
    UdpSocket server{bed.server(), Testbed::server_peer(4)};
};

std::string lines(const std::vector<nlohmann::json> &events) {
    std::string text;
    for (const auto &event : events)
        text += event.dump() + "\n";
    return text;
}

TEST_F(Tracing, TellsWhatBecomesOfEveryUpdate) {
    Trace trace(bed, worker);
    await_drained();
    // The marker has spent the link's credit: the first update waits, the others fold into it.
    send({.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(100, 1)});
    send({.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(100, 1)});
    for (std::uint32_t i = 1; i <= 3; i++)
        send({.cluster = 2, .worker = i, .sequence = 10 + i, .model_version = 7});
    auto malformed = message(Update{.cluster = 2});
    malformed[23] = 0; // count
    worker.send(malformed, bed.target(4));
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
    const auto tai = [] {
        timespec now{};
        clock_gettime(CLOCK_TAI, &now);
        return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(now.tv_nsec);
    };
    Trace trace(bed, worker,
                {"--worker", "1", "--worker", "5", "--action", "arrival", "--action", "passed",
                 "--min-age", "1s"});
    await_drained();
    const std::uint64_t fresh = tai(), old = fresh - 5'000'000'000;
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
    Trace trace(bed, worker, {"--sample", "10", "--action", "arrival"});
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
    EXPECT_NE(told.find("cluster 9"), std::string::npos) << told;
    EXPECT_NE(told.find("\nended 0\n"), std::string::npos) << told;
}

TEST_F(Tracing, SaysThatAClusterCantCome) {
    const auto told = bed.olaf({"trace", "in", "--cluster", "5000", "--for", "1ms"});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_NE(told.err.find("olaf: cluster 5000 is beyond the queue's limit, 0 ... 1023"),
              std::string::npos)
        << told.err;
}

TEST_F(Tracing, ThereIsOneListenerAtATime) {
    {
        Trace first(bed, worker);
        const auto second = bed.olaf({"trace", "in", "--for", "1s"});
        EXPECT_EQ(second.status, 1);
        EXPECT_NE(second.err.find("somebody else does"), std::string::npos) << second.err;
        first.process.kill(SIGTERM);
        EXPECT_EQ(first.process.wait().status, 0);
    }
    Trace next(bed, worker); // at once
    next.process.kill(SIGKILL);
    next.process.wait();
    Trace another(bed, worker); // when the lease of the killed one has ended
    EXPECT_TRUE(another.process.running());
}

TEST_F(Tracing, EndsWithTheQueue) {
    Trace trace(bed, worker);
    await_drained();
    bed.olaf.detach();
    const auto outcome = trace.process.wait();
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("it was detached"), std::string::npos) << outcome.err;
}

TEST(TracingInAFlood, LosesEventsAndSaysHowManyButNoUpdate) {
    Testbed bed;
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    bed.attach();
    make_lossless(bed);
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

} // namespace
} // namespace olaf::test::trace_test
