// SPDX-License-Identifier: BSD-2-Clause
// Streams into a node as fast as they go: what XAgg's negotiated rates are for. The node is a
// thread that runs only when no worker does, and the ring before it has 256 frames.
// bench/overrun/run tells more.
#include <gtest/gtest.h>

#include <barrier>
#include <mutex>

#include "../../endpoints/congestion_window.hpp"
#include "losing.hpp"
#include "napi_thread.hpp"
#include "rounds.hpp"

namespace olaf::test::rounds_overrun_test {
namespace {

constexpr unsigned lanes = 64, in_chunk = lanes - 1, ring = 256;

struct Books {
    std::uint64_t sent = 0, repeated = 0; // by the workers
    std::uint64_t received = 0;           // by the node
    std::uint64_t overflowed = 0;         // frames for which its ring had no room

    [[nodiscard]] std::uint64_t lost() const { return sent + repeated - received; }
};

class RoundsOverrun : public testing::Test {
  protected:
    Testbed bed{{.way = Way::local}};

    /// Each worker sums so many chunks with the others, through a window of `pool` chunks.
    Books stream(unsigned workers, unsigned pool, unsigned chunks, bool node_is_late = true) {
        bed.attach({"--round-slots", std::to_string(pool)});
        if (node_is_late)
            make_node_late();
        set_job(bed, workers, lanes, {"--format", "i64x1", "--pool", std::to_string(pool)});
        const auto overflowed_before = overflowed(bed.worker, "eth0");
        const std::size_t elements = std::size_t{in_chunk} * chunks;
        Books books;
        std::mutex mutex;
        std::barrier joined(workers);
        for_each_worker(
            bed, workers,
            [&](Collective &collective, unsigned rank) {
                auto vector = part_of(rank, 0, elements);
                go_first_on(cpu);
                // So that no question is lost, which isn't in these books, and all begin before the node runs.
                joined.arrive_and_wait();
                const auto report = collective.allreduce(std::span(vector));
                ASSERT_TRUE(report) << report.error().message();
                EXPECT_EQ(vector, sum_of(workers, 0, elements));
                const std::lock_guard lock(mutex);
                books.sent += collective.stats().sent;
                books.repeated += collective.stats().repeated;
            },
            [](CollectiveOptions &options) {
                options.format = Format::i64x1;
                options.lanes = lanes;
            });
        const auto job = job_status(bed);
        books.received = job.at("contributions").at("received").get<std::uint64_t>() +
                         job.at("probes").get<std::uint64_t>();
        books.overflowed = overflowed(bed.worker, "eth0") - overflowed_before;
        EXPECT_EQ(books.sent, std::uint64_t{workers} * chunks);
        RecordProperty("lost", std::to_string(books.lost()));
        RecordProperty("repeated", std::to_string(books.repeated));
        return books;
    }

    void make_node_late() const {
        constexpr std::uint16_t port = 7000;
        const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
        receive_in_thread(bed.host, "in", cpu, port, [&] {
            worker.send(Bytes{1}, {Testbed::server_peer(4).address, port});
        });
    }

    const int cpu = first_cpu();
};

TEST_F(RoundsOverrun, OneStreamWhoseWindowTheRingHoldsLosesNothing) {
    constexpr unsigned pool = 128, chunks = 20'000;
    static_assert(pool < ring);
    const Books books = stream(1, pool, chunks);
    EXPECT_EQ(books.overflowed, 0u);
    EXPECT_EQ(books.lost(), 0u);
    EXPECT_LE(books.repeated, chunks / 20);
}

// XAgg's receiver asks for what it lacks by a list of up to 360 numbers, and each is sent again. Without lists it
// takes no more frames here, but for a few contributions that weren't lost, where the worker had to wait for its CPU.
TEST_F(RoundsOverrun, WhatOnePercentOfLossTakesIsMendedByOneFrameEach) {
    constexpr unsigned pool = 128, chunks = 40'000, a_list = 360;
    const Losing losing(bed.worker, "eth0", Losing::sent, 1);
    const Books books = stream(1, pool, chunks, false);
    EXPECT_EQ(books.overflowed, 0u);
    EXPECT_GT(books.lost(), chunks / 200);
    EXPECT_GE(books.repeated, books.lost());
    EXPECT_LE(books.repeated, books.lost() + (books.lost() + a_list - 1) / a_list + chunks / 500);
}

TEST_F(RoundsOverrun, WindowsThatTogetherFitTheRingLoseNothing) {
    constexpr unsigned workers = 4, pool = 32;
    static_assert(workers * pool < ring);
    const Books books = stream(workers, pool, 3'000);
    EXPECT_EQ(books.overflowed, 0u);
    EXPECT_EQ(books.lost(), 0u);
}

// Whatever the window, a worker sees the ring fill by how long results take. Without that each contribution was lost
// several times. Each loss costs a frame, as it would with a list that names it. XAgg lost 0.261 % of one stream at its
// fastest (its figure 11).
TEST_F(RoundsOverrun, AWindowThatNoRingHoldsLosesNoMoreThanXAggs) {
    constexpr unsigned chunks = 40'000;
    const Books books = stream(1, 4'096, chunks);
    EXPECT_EQ(books.lost(), books.overflowed);
    EXPECT_LE(books.lost(), chunks * 261 / 100'000);
    EXPECT_GE(books.repeated, books.lost());
    EXPECT_LE(books.repeated, books.lost() + books.sent / 20);
}

// A lost contribution is asked for by each worker that lacks its sum: where a list would name one,
// all of them send theirs again.
TEST_F(RoundsOverrun, WhatSeveralStreamsOverflowIsMendedByOneFrameOfEach) {
    constexpr unsigned workers = 8, pool = 256;
    static_assert(workers * CongestionWindow::kFirst > ring);
    const Books books = stream(workers, pool, 3'000);
    EXPECT_GT(books.overflowed, 0u);
    EXPECT_EQ(books.lost(), books.overflowed);
    EXPECT_GE(books.repeated, books.lost());
    EXPECT_LE(books.repeated, workers * books.lost() + books.sent / 20);
}

} // namespace
} // namespace olaf::test::rounds_overrun_test
