// SPDX-License-Identifier: BSD-2-Clause
// One stream into a node, as fast as it goes: what XAgg's negotiated rates are for. bench/overrun/run
// tells what is lost without a window.
#include <gtest/gtest.h>

#include "rounds.hpp"

namespace olaf::test {
namespace {

constexpr unsigned lanes = 64, in_chunk = lanes - 1, chunks = 20'000;
constexpr std::size_t elements = std::size_t{in_chunk} * chunks;

struct Books {
    std::uint64_t sent, repeated; // by the worker
    std::uint64_t received;       // by the node
};

class RoundsOverrun : public testing::Test {
  protected:
    Testbed bed{{.way = Way::local}};

    /// One worker sums a vector by itself through a window of so many chunks.
    Books stream(unsigned pool) {
        bed.attach({"--round-slots", std::to_string(pool)});
        set_job(bed, 1, lanes, {"--format", "i64x1", "--pool", std::to_string(pool)});
        CollectiveStats stats;
        for_each_worker(
            bed, 1,
            [&](Collective &collective, unsigned) {
                auto vector = part_of(0, 0, elements);
                const auto report = collective.allreduce(std::span(vector));
                ASSERT_TRUE(report) << report.error().message();
                EXPECT_EQ(vector, part_of(0, 0, elements));
                stats = collective.stats();
            },
            [](CollectiveOptions &options) {
                options.format = Format::i64x1;
                options.lanes = lanes;
            });
        const auto job = job_status(bed);
        return {.sent = stats.sent,
                .repeated = stats.repeated,
                .received = job.at("contributions").at("received").get<std::uint64_t>()};
    }
};

// The ring before the node holds 256 frames of a veth, and no more than the window are under way. XAgg
// lost 0.261 % at its fastest, without a window (its figure 11).
TEST_F(RoundsOverrun, OneStreamLosesNoMoreThanXAggs) {
    const Books books = stream(64);
    EXPECT_EQ(books.sent, chunks);
    EXPECT_LE(static_cast<double>(books.sent + books.repeated - books.received),
              0.00261 * static_cast<double>(books.sent));
}

// Far more under way than the ring holds: what overflows is sent again, and the sum is exact.
TEST_F(RoundsOverrun, WhatOverflowsARingIsMended) {
    const Books books = stream(32'768);
    EXPECT_EQ(books.sent, chunks);
    EXPECT_GE(books.received, chunks);
}

} // namespace
} // namespace olaf::test
