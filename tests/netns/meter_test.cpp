// SPDX-License-Identifier: BSD-2-Clause
// `olaf meter`, and the Age-of-Model that it and the queue keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <random>

#include "listening.hpp"
#include "loader/host/clock.hpp"
#include "olaf/clock.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::meter_test {
namespace {

// olaf meter: on any device, for any traffic, touching nothing, gone with its process.

std::vector<std::string> meter(const Netns &netns, std::vector<std::string> arguments) {
    const auto command =
        joined({OLAF_BINARY, "--netns", netns.name(), "--json", "meter"}, arguments);
    return command;
}

class MeterTest : public testing::Test {
  protected:
    /// What a meter says of what is sent while it runs.
    nlohmann::json measure(const Netns &netns, std::vector<std::string> arguments,
                           const std::function<void()> &send) {
        Process olaf(meter(netns, std::move(arguments)));
        await_taps(netns, 1);
        send();
        olaf.kill(SIGTERM);
        const auto outcome = olaf.wait();
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        expect_schema("meter", outcome.out);
        EXPECT_EQ(taps(netns), 0);
        return nlohmann::json::parse(outcome.out);
    }
    void receive(int count) {
        for (int i = 0; i < count; i++)
            (void)bed.to.receive();
    }

    SocketBed bed{{.way = Way::local}};
};

TEST_F(MeterTest, MeasuresWithoutAnyQueueAndCountsFolds) {
    const auto before = traces(bed.host);
    const auto json = measure(bed.host, {"in", "--for", "60s"}, [&] {
        EXPECT_EQ(traces(bed.host), before);
        for (std::uint32_t i = 0; i < 20; i++)
            bed.send(Update{.cluster = i % 2, .count = 1 + i % 2 * 4});
        receive(20);
    });
    EXPECT_EQ(json.at("messages"), 20);
    EXPECT_EQ(json.at("updates"), 10 + 50);
    ASSERT_EQ(json.at("clusters").size(), 2u);
    const auto &aom = json.at("clusters").at(1).at("aom");
    EXPECT_EQ(aom.at("departures"), 10);
    EXPECT_EQ(aom.at("folds").at("mean"), 5.0);
    EXPECT_EQ(aom.at("folds").at("histogram_log2"), nlohmann::json({0, 0, 10}));
    EXPECT_EQ(aom.at("by_arrival").at("peaks"), 9);
    EXPECT_EQ(traces(bed.host), before);
}

TEST_F(MeterTest, OneDirectionAtATime) {
    const auto send = [&] {
        for (std::uint32_t i = 0; i < 7; i++)
            bed.send(Update{.cluster = 1});
        receive(7);
    };
    EXPECT_EQ(measure(bed.worker, {"eth0", "--for", "60s", "--sent"}, send).at("messages"), 7);
    EXPECT_EQ(measure(bed.worker, {"eth0", "--for", "60s"}, send).at("messages"), 0);
    EXPECT_EQ(measure(bed.host, {"in", "--for", "60s", "--sent"}, send).at("messages"), 0);
}

TEST_F(MeterTest, ReadsEveryFormOfFrameAndBelievesNone) {
    const auto json = measure(bed.host, {"in", "--for", "60s", "--max-clusters", "4"}, [&] {
        const Update good{.cluster = 1};
        const std::vector<Frame> frames = {
            bed.path(4).carrying(good),
            bed.path(6).carrying(good),
            bed.path(4).options(40).carrying(good),
            bed.path(6).hop_by_hop(32).carrying(good),
            bed.path(4).vlan(5).carrying(good),
            bed.path(4).service_vlan(5).vlan(6).carrying(good),
            bed.path(4).carrying(Update{.cluster = 1, .lanes = std::vector<std::uint64_t>(150)}),
            // not counted as messages
            bed.path(4).carrying(Update{.cluster = 4}), // the first beyond
            bed.path(4).carrying(Update{.cluster = 1, .segments = 2}),
            bed.path(4).carrying(Update{.cluster = 1, .count = 0}),
            bed.path(4).port(9).carrying(good),
            bed.path(4).carrying(Ack{.cluster = 1}),
        };
        PacketSocket(bed.worker, "eth0").send(frames);
        bed.send(good); // behind them all
        Datagram last;
        do
            last = bed.to.receive();
        while (last.source.port != bed.from.port());
    });
    EXPECT_EQ(json.at("messages"), 8);
    EXPECT_EQ(json.at("out_of_range"), 2);
    EXPECT_EQ(json.at("malformed"), 1);
    ASSERT_EQ(json.at("clusters").size(), 1u);
    EXPECT_EQ(json.at("clusters").at(0).at("aom").at("departures"), 8);
}

/// Several messages in one, for the device to cut: not looked into, and said so.
TEST(Meter, CountsWhatItCannotLookInto) {
    SocketBed bed{{.way = Way::local, .worker = {.tx_checksum = true}}};
    Process olaf(meter(bed.worker, {"eth0", "--sent", "--for", "60s"}));
    await_taps(bed.worker, 1);
    bed.from.send_uncut(Update{.cluster = 1}, 3, bed.target(4));
    bed.send(Update{.cluster = 1});
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(bed.receive().cluster, 1u);
    olaf.kill(SIGTERM);
    const auto json = nlohmann::json::parse(olaf.wait().out);
    EXPECT_EQ(json.at("unread"), 1);
    EXPECT_EQ(json.at("messages"), 1);
    EXPECT_EQ(json.at("malformed"), 0);
}

TEST_F(MeterTest, PrintsEveryIntervalUntilInterrupted) {
    const auto before = traces(bed.host);
    Process olaf(meter(bed.host, {"in", "--interval", "20ms"}));
    await_taps(bed.host, 1);
    std::uint64_t sent = 0;
    await(
        [&] {
            bed.send(Update{.cluster = 1});
            receive(1);
            sent++;
            return std::ranges::count(olaf.output(), '\n') >= 3;
        },
        [&] { return "three lines of " + olaf.output(); });
    olaf.kill(SIGINT);
    const auto outcome = olaf.wait();
    EXPECT_EQ(outcome.status, 0);
    std::istringstream lines(outcome.out);
    std::uint64_t messages = 0, count = 0;
    for (std::string line; std::getline(lines, line); count++) {
        const auto now = nlohmann::json::parse(line).at("messages").get<std::uint64_t>();
        EXPECT_GE(now, messages);
        messages = now;
    }
    EXPECT_GE(count, 3u);
    EXPECT_EQ(messages, sent);
    EXPECT_EQ(traces(bed.host), before);
}

TEST_F(MeterTest, LeavesNothingWhenKilled) {
    const auto before = traces(bed.host);
    Process olaf(meter(bed.host, {"in"}));
    await_taps(bed.host, 1);
    olaf.kill();
    olaf.wait();
    await_taps(bed.host, 0);
    EXPECT_EQ(traces(bed.host), before);
}

TEST_F(MeterTest, NamesWhatItCannotMeasureOn) {
    EXPECT_TRUE(refused(run(meter(bed.host, {"none"})), "none"));
}

// ---- aom ----
// Age-of-Model as the kernel keeps it, against a computation from tcpdump's captures.

constexpr std::uint32_t clusters = 5;
constexpr std::size_t updates = 100'000;
constexpr double tolerance = 0.001;

/// How far CLOCK_TAI, by which updates are stamped, is ahead of the clock of tcpdump.
std::int64_t tai_ahead_ns() { return tai_now_ns() - static_cast<std::int64_t>(realtime_ns()); }

/// A departure, and the moment A that its age counts from, on one clock.
struct Fall {
    std::int64_t departed, newest;
};

struct Offline {
    double average = 0, mean_peak = 0;
    std::int64_t peaks = 0;
};

/// The definition, applied to what was captured: the age from the first departure on, over
/// `observed` ns.
Offline compute(const std::vector<Fall> &falls, std::int64_t observed) {
    Offline offline;
    double area = 0, peak_sum = 0;
    auto at = falls.front().departed, newest = falls.front().newest;
    const auto grow = [&](std::int64_t to) {
        const double from_age = static_cast<double>(at - newest);
        const double to_age = static_cast<double>(to - newest);
        area += (from_age + to_age) / 2 * static_cast<double>(to - at);
        at = to;
    };
    for (std::size_t i = 1; i < falls.size(); i++) {
        grow(std::max(falls[i].departed, at));
        if (falls[i].newest <= newest)
            continue; // stale
        peak_sum += static_cast<double>(at - newest);
        offline.peaks++;
        newest = falls[i].newest;
    }
    grow(std::max(falls.front().departed + observed, at));
    offline.average = area / static_cast<double>(observed);
    offline.mean_peak = peak_sum / static_cast<double>(offline.peaks);
    return offline;
}

void expect_agreement(const nlohmann::json &age, const std::vector<Fall> &falls,
                      std::int64_t observed, const std::string &which) {
    const auto offline = compute(falls, observed);
    SCOPED_TRACE(which);
    const auto average = age.at("average_ns").get<double>();
    const auto peak = age.at("peak_mean_ns").get<double>();
    EXPECT_NEAR(average / offline.average, 1, tolerance);
    EXPECT_NEAR(peak / offline.mean_peak, 1, tolerance);
    EXPECT_EQ(age.at("peaks").get<std::int64_t>(), offline.peaks);
    std::printf("%s: average %.0f ns, off by %.5f %%; peak %.0f ns, off by %.5f %%\n",
                which.c_str(), average, 100 * (average / offline.average - 1), peak,
                100 * (peak / offline.mean_peak - 1));
}

using FallsOfClusters = std::map<std::uint32_t, std::vector<Fall>>;

/// The same of every cluster, by both clocks, and of all of its departures.
void expect_agreement(const nlohmann::json &told, FallsOfClusters &by_generated,
                      FallsOfClusters &by_arrival) {
    ASSERT_EQ(told.size(), clusters);
    for (const auto &entry : told) {
        const auto id = entry.at("cluster").get<std::uint32_t>();
        const auto &aom = entry.at("aom");
        const auto observed = aom.at("observed_ns").get<std::int64_t>();
        const auto cluster = "cluster " + std::to_string(id);
        EXPECT_EQ(aom.at("departures").get<std::size_t>(), by_arrival[id].size());
        expect_agreement(aom.at("by_generated"), by_generated[id], observed,
                         cluster + " by generated_ns");
        expect_agreement(aom.at("by_arrival"), by_arrival[id], observed, cluster + " by arrival");
    }
}

/// Uneven traffic: bursts of all clusters with pauses between them. What is in a burst was
/// generated up to 60 ms ago, so that some are stale on arrival.
void send_all(const Testbed &bed, const UdpSocket &worker, std::int64_t oldest_ns) {
    std::mt19937_64 random(7);
    std::uint32_t sequence = 0;
    while (sequence < updates) {
        const auto burst = 1 + random() % 60;
        for (std::size_t i = 0; i < burst && sequence < updates; i++) {
            const auto age = static_cast<std::int64_t>(random() % (oldest_ns + 1));
            const auto generated = tai_now_ns() - 20'000'000 - age;
            worker.send(Update{.cluster = static_cast<std::uint32_t>(random() % clusters),
                               .worker = static_cast<std::uint32_t>(random() % 4),
                               .sequence = sequence,
                               .generated_ns = static_cast<std::uint64_t>(generated)},
                        bed.target(4));
            sequence++;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    }
}

/// A captured frame may lack its UDP checksum, which a device would have filled in.
Update update_of(const Captured &captured) {
    constexpr std::ptrdiff_t headers = 14 + 20 + 8;
    Datagram datagram;
    datagram.payload = {captured.frame.begin() + headers, captured.frame.end()};
    return datagram.update();
}

std::string captured_port() {
    return "udp dst port " + std::to_string(OLAF_DEFAULT_PORT);
}

/// The same hop, no queue in between: what passes is what is measured.
TEST(AomProof, TheMeterAgreesWithTcpdumpAtTheSameHop) {
    SocketBed bed{{.way = Way::local}};
    Capture capture(bed.host, "in", captured_port());
    Process meter(bed.olaf.command({"meter", "in", "--for", "60s", "--json"}));
    await_taps(bed.host, 2); // it measures
    const auto tai = tai_ahead_ns();
    send_all(bed, bed.from, 60'000'000);
    const auto captured = capture.end(updates); // before, some may be on the way to either
    meter.kill(SIGINT);                         // it prints what it has
    const auto outcome = meter.wait();
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json.at("messages"), updates);

    FallsOfClusters by_generated, by_arrival;
    for (const auto &frame : captured) {
        const auto update = update_of(frame);
        const auto departed = frame.time_ns + tai;
        by_generated[update.cluster].push_back(
            {departed, static_cast<std::int64_t>(update.generated_ns)});
        by_arrival[update.cluster].push_back({departed, departed});
    }
    EXPECT_EQ(captured.size(), updates);
    expect_agreement(json.at("clusters"), by_generated, by_arrival);
    for (const auto &entry : json.at("clusters"))
        EXPECT_GT(entry.at("aom").at("by_generated").at("stale"), 1000);
}

/// Through the queue: arrivals captured before it, departures behind it. Both captures are some
/// microseconds away from the queue: its rate makes ages long enough for that not to matter.
TEST(AomProof, TheQueueAgreesWithTcpdumpOnBothSides) {
    SocketBed bed{{.way = Way::bridged}};
    bed.attach({"--rate", "40kbit", "--policy", "aggregate"});
    bed.olaf.cluster({"set", "0-9", "--max-count", "65535"});
    Capture before(bed.worker, "eth0", captured_port());
    Capture behind(bed.server(), bed.server_device(), captured_port());
    const auto tai = tai_ahead_ns();
    send_all(bed, bed.from, 0);
    const auto drained = bed.olaf.await_drained(updates);
    const auto outcome = bed.olaf({"status", "in", "--clusters", "--json"});
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(drained["updates_out"], updates);

    std::map<std::uint32_t, std::int64_t> arrived; // by sequence
    for (const auto &frame : before.end(updates))
        arrived[update_of(frame).sequence] = frame.time_ns;
    EXPECT_EQ(arrived.size(), updates);
    FallsOfClusters by_generated, by_arrival;
    std::uint64_t folded = 0;
    for (const auto &frame : behind.end(drained["departed"] + drained["passed_through"])) {
        const auto update = update_of(frame);
        by_arrival[update.cluster].push_back({frame.time_ns, arrived.at(update.sequence)});
        by_generated[update.cluster].push_back(
            {frame.time_ns + tai, static_cast<std::int64_t>(update.generated_ns)});
        folded += update.count;
    }
    EXPECT_EQ(folded, updates);
    expect_agreement(json.at("clusters"), by_generated, by_arrival);
}

} // namespace
} // namespace olaf::test::meter_test
