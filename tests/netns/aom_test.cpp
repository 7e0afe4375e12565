// SPDX-License-Identifier: BSD-2-Clause
// Age-of-Model as the kernel keeps it, against a computation from tcpdump's captures.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <random>

#include "capture.hpp"
#include "traffic.hpp"

namespace olaf::test::aom_test {
namespace {

constexpr std::uint32_t clusters = 5;
constexpr std::size_t updates = 100'000;
constexpr double tolerance = 0.001;

std::int64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

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

/// Uneven traffic: bursts of all clusters with pauses between them. What is in a burst was
/// generated up to 60 ms ago, so that some are stale on arrival.
void send_all(const Testbed &bed, const UdpSocket &worker, std::int64_t oldest_ns) {
    std::mt19937_64 random(7);
    std::uint32_t sequence = 0;
    while (sequence < updates) {
        const auto burst = 1 + random() % 60;
        for (std::size_t i = 0; i < burst && sequence < updates; i++) {
            const auto age = static_cast<std::int64_t>(random() % (oldest_ns + 1));
            const auto generated = clock_ns(CLOCK_TAI) - 20'000'000 - age;
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
    Testbed bed{{.way = Way::local}};
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.host, Testbed::server_peer(4));
    Capture capture(bed.host, "in", captured_port());
    Process meter(bed.olaf.command({"meter", "in", "--for", "60s", "--json"}));
    await_taps(bed.host, 2); // it measures
    const auto tai = clock_ns(CLOCK_TAI) - clock_ns(CLOCK_REALTIME);
    send_all(bed, worker, 60'000'000);
    meter.kill(SIGINT); // it prints what it has
    const auto outcome = meter.wait();
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json.at("messages"), updates);

    std::map<std::uint32_t, std::vector<Fall>> by_generated, by_arrival;
    std::size_t seen = 0;
    for (const auto &frame : capture.end(updates)) {
        const auto update = update_of(frame);
        const auto departed = frame.time_ns + tai;
        by_generated[update.cluster].push_back(
            {departed, static_cast<std::int64_t>(update.generated_ns)});
        by_arrival[update.cluster].push_back({departed, departed});
        seen++;
    }
    EXPECT_EQ(seen, updates);
    ASSERT_EQ(json.at("clusters").size(), clusters);
    for (const auto &entry : json.at("clusters")) {
        const auto id = entry.at("cluster").get<std::uint32_t>();
        const auto &aom = entry.at("aom");
        const auto observed = aom.at("observed_ns").get<std::int64_t>();
        const auto cluster = "cluster " + std::to_string(id);
        expect_agreement(aom.at("by_generated"), by_generated[id], observed,
                         cluster + " by generated_ns");
        EXPECT_GT(aom.at("by_generated").at("stale"), 1000);
        expect_agreement(aom.at("by_arrival"), by_arrival[id], observed, cluster + " by arrival");
    }
}

/// Through the queue: arrivals captured before it, departures behind it. Both captures are some
/// microseconds away from the queue: its rate makes ages long enough for that not to matter.
TEST(AomProof, TheQueueAgreesWithTcpdumpOnBothSides) {
    Testbed bed{{.way = Way::bridged}};
    make_lossless(bed);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    bed.attach({"--rate", "40kbit", "--policy", "aggregate"});
    bed.olaf.cluster({"set", "0-9", "--max-count", "65535"});
    Capture before(bed.worker, "eth0", captured_port());
    Capture behind(bed.server(), bed.server_device(), captured_port());
    const auto tai = clock_ns(CLOCK_TAI) - clock_ns(CLOCK_REALTIME);
    send_all(bed, worker, 0);
    const auto drained = bed.olaf.await_drained(updates);
    const auto outcome = bed.olaf({"status", "in", "--clusters", "--json"});
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(drained["updates_out"], updates);

    std::map<std::uint32_t, std::int64_t> arrived; // by sequence
    for (const auto &frame : before.end(updates))
        arrived[update_of(frame).sequence] = frame.time_ns;
    EXPECT_EQ(arrived.size(), updates);
    std::map<std::uint32_t, std::vector<Fall>> by_generated, by_arrival;
    std::uint64_t folded = 0;
    for (const auto &frame : behind.end(drained["departed"] + drained["passed_through"])) {
        const auto update = update_of(frame);
        by_arrival[update.cluster].push_back({frame.time_ns, arrived.at(update.sequence)});
        by_generated[update.cluster].push_back(
            {frame.time_ns + tai, static_cast<std::int64_t>(update.generated_ns)});
        folded += update.count;
    }
    EXPECT_EQ(folded, updates);
    ASSERT_EQ(json.at("clusters").size(), clusters);
    for (const auto &entry : json.at("clusters")) {
        const auto id = entry.at("cluster").get<std::uint32_t>();
        const auto &aom = entry.at("aom");
        const auto observed = aom.at("observed_ns").get<std::int64_t>();
        const auto cluster = "cluster " + std::to_string(id);
        EXPECT_EQ(aom.at("departures").get<std::size_t>(), by_arrival[id].size());
        expect_agreement(aom.at("by_arrival"), by_arrival[id], observed, cluster + " by arrival");
        expect_agreement(aom.at("by_generated"), by_generated[id], observed,
                         cluster + " by generated_ns");
    }
}

} // namespace
} // namespace olaf::test::aom_test
