// SPDX-License-Identifier: BSD-2-Clause
// Departures keep the rate, by the receiver's timestamps: n of them take n serialisation times,
// less the credit of one. Upper bounds are loose, for the machine may be busy.
#include <gtest/gtest.h>

#include "traffic.hpp"

namespace olaf::test::pacing_test {
namespace {

struct Pace {
    const char *name;
    Way way;
    std::uint64_t rate_bps;
    int count;
    std::size_t lanes; ///< of data
    const char *drain_interval;
};

class Pacing : public testing::TestWithParam<Pace> {};

TEST_P(Pacing, DeparturesAreASerialisationTimeApart) {
    const auto &pace = GetParam();
    Testbed bed{{.way = pace.way}};
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    const auto queue = bed.places(64);
    const int count = std::min(pace.count, static_cast<int>(queue));
    bed.attach({"--policy", "fifo", "--queue", std::to_string(queue), "--rate",
                std::to_string(pace.rate_bps / 1000) + "kbit", "--drain-interval",
                pace.drain_interval});
    const Update update{.lanes = std::vector<std::uint64_t>(pace.lanes, 1)};
    const auto frame_bytes = bed.path().carrying(update).size();
    const auto serialisation =
        static_cast<std::int64_t>(frame_bytes * 8 * 1'000'000'000 / pace.rate_bps);

    for (int i = 0; i < count; i++)
        worker.send(update, bed.target(4));
    std::vector<std::int64_t> times;
    for (int i = 0; i < count; i++)
        times.push_back(server.receive().timestamp_ns);

    // Any two, not just neighbours: no burst may go faster than the rate. A frame that was late
    // to be stamped makes what follows look early: that much is forgiven.
    constexpr std::int64_t stamping = 15'000'000;
    for (std::size_t i = 0; i < times.size(); i++)
        for (std::size_t j = i + 1; j < times.size(); j++)
            EXPECT_GE(times[j] - times[i],
                      static_cast<std::int64_t>(j - i - 1) * serialisation - stamping)
                << i << " to " << j;
    const auto total = times.back() - times.front();
    EXPECT_LE(total, count * serialisation + 2'000'000'000) << "slower than the rate";
    expect_identities(bed.olaf.await_drained(static_cast<std::uint64_t>(count)));
}

INSTANTIATE_TEST_SUITE_P(
    All, Pacing,
    testing::Values(Pace{"Local1mbit", Way::local, 1'000'000, 60, 128, "100us"},
                    Pace{"Bridged1mbit", Way::bridged, 1'000'000, 60, 128, "100us"},
                    Pace{"Local10kbit", Way::local, 10'000, 9, 8, "100us"},
                    Pace{"Bridged10kbitSlowDrain", Way::bridged, 10'000, 9, 8, "5ms"}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace olaf::test::pacing_test
