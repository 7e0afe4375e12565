// SPDX-License-Identifier: BSD-2-Clause
// Children on several CPUs contribute to the same chunks and share one line of results, or have one for
// each CPU: every sum is exact, every child gets every result, and nothing is counted twice.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "float_reference.hpp"
#include "rounds.hpp"
#include "tests/effort.hpp"

namespace olaf::test::rounds_parallel_test {
namespace {

constexpr std::uint32_t children = 4, chunks = 16;

std::uint32_t rounds() {
    const auto steps = from_environment("OLAF_STEPS", 100'000);
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(10, steps / (children * chunks)));
}

olaf_job_setup shared_job(bool by_multicast = false) {
    auto setup = small_job();
    setup.children = setup.threshold = children;
    // So many that the line is never long: no frame becomes an order for TC.
    setup.slots = 64;
    setup.pool = 6;
    if (by_multicast) {
        setup.group_family = 4;
        setup.group_hops = 1;
        setup.group_addr_be[0] = htonl(0xef010203);
    }
    return setup;
}

class RoundsParallel : public RoundsTest {
  protected:
    explicit RoundsParallel(std::uint32_t lines = 2, const olaf_job_setup &given = shared_job())
        : RoundsTest(given, with_lines(lines)) {}
    static olaf::DatapathConfig with_lines(std::uint32_t lines) {
        auto config = queue_with_rounds();
        config.round_lines = lines;
        return config;
    }
    struct Board {
        /// One more than the newest round whose result the child has got, for each chunk.
        std::array<std::array<std::atomic<std::uint32_t>, chunks>, children> newest{};
        std::atomic<std::uint64_t> results = 0, for_all = 0, wrong = 0, others = 0;
        /// Frames for all, by chunk; of one round only one leaves.
        std::array<std::atomic<std::uint32_t>, chunks> told{};
    };

    static void note(std::atomic<std::uint32_t> &newest, std::uint32_t round) {
        for (auto seen = newest.load(); seen < round + 1;)
            if (newest.compare_exchange_weak(seen, round + 1))
                break;
    }

    /// What came back in a child's frame may be any child's result, or all children's.
    void take(const Ran &ran, Board &board) const {
        if (ran.verdict == XDP_DROP)
            return;
        const auto received = ran.verdict == XDP_TX ? parse_job_message(ran.bytes) : std::nullopt;
        if (!received || received->message.type != OLAF_RESULT ||
            (received->message.flags & OLAF_FLAG_STALE) ||
            (received->message.rank >= children && received->message.rank != OLAF_EVERY_WORKER)) {
            board.others++;
            return;
        }
        const auto &message = received->message;
        if (message.lanes != sum_of_all(message.chunk, message.round) ||
            message.count != children)
            board.wrong++;
        if (message.rank != OLAF_EVERY_WORKER) {
            board.results++;
            return note(board.newest.at(message.rank).at(message.chunk), message.round);
        }
        board.for_all++;
        board.told.at(message.chunk)++;
        for (auto &child : board.newest)
            note(child.at(message.chunk), message.round);
    }

    /// A child: it contributes to a chunk once it has the last round's result of it, and repeats
    /// what it lacks the result of.
    void work(std::uint32_t rank, Board &board) {
        pin_to(rank);
        const auto last = rounds();
        for (bool lacks = true; lacks;) {
            lacks = false;
            for (std::uint32_t chunk = 0; chunk < chunks; chunk++) {
                const auto round = board.newest[rank][chunk].load();
                if (round >= last)
                    continue;
                lacks = true;
                take(offer(given(rank, chunk, round)), board);
            }
        }
    }

    /// A contribution, and the sum of all.
    [[nodiscard]] virtual JobMessage given(std::uint32_t rank, std::uint32_t chunk, std::uint32_t round) const {
        return contribution(rank, chunk, round);
    }
    [[nodiscard]] virtual std::vector<std::uint64_t> sum_of_all(std::uint32_t chunk, std::uint32_t round) const {
        return sum_of({0, 1, 2, 3}, chunk, round);
    }

    void all_work(Board &board) {
        std::vector<std::jthread> threads;
        for (std::uint32_t rank = 0; rank < children; rank++)
            threads.emplace_back([&, rank] { work(rank, board); });
    }

    void expect_all_done(const Board &board) const {
        const auto now = counters();
        EXPECT_EQ(board.wrong, 0u);
        EXPECT_EQ(board.others, 0u);
        EXPECT_EQ(now.completed, std::uint64_t{rounds()} * chunks);
        EXPECT_EQ(now.added, now.completed * children);
        EXPECT_EQ(board.results, now.riding + now.repeated) << "each was counted once";
        EXPECT_EQ(now.stale + now.ahead + now.late, 0u);
        for (std::uint32_t i = 0; i < setup.slots; i++)
            EXPECT_EQ(slot(i).lock, 0u);
        for (const auto &line : job().line)
            EXPECT_EQ(line.lock, 0u);
    }
};

class RoundsParallelInOneLine : public RoundsParallel {
  protected:
    RoundsParallelInOneLine() : RoundsParallel(1) {}
};

class RoundsParallelByMulticast : public RoundsParallel {
  protected:
    RoundsParallelByMulticast() : RoundsParallel(2, shared_job(true)) {}
};

class RoundsParallelOfFloats : public RoundsParallel {
  protected:
    RoundsParallelOfFloats() : RoundsParallel(2, of_floats(shared_job())) {}
    /// Of a sum that is rounded differently in each order, if floats are added one after the other.
    static float element(std::uint32_t rank, std::uint32_t chunk, std::uint32_t round, std::size_t i) {
        const auto value = static_cast<float>(1 + chunk + 17 * round % 1009 + i);
        return rank % 2 == 0 ? value * 1e-3f : -value * 1e-7f * static_cast<float>(rank);
    }
    [[nodiscard]] JobMessage given(std::uint32_t rank, std::uint32_t chunk,
                                   std::uint32_t round) const override {
        auto message = contribution(rank, chunk, round);
        std::vector<float> values(2u * setup.lanes);
        for (std::size_t i = 0; i < values.size(); i++)
            values[i] = element(rank, chunk, round, i);
        message.lanes = float_lanes(values);
        return message;
    }
    [[nodiscard]] std::vector<std::uint64_t> sum_of_all(std::uint32_t chunk,
                                                        std::uint32_t round) const override {
        std::vector<std::uint64_t> lanes(setup.lanes);
        FloatFaults none;
        for (std::size_t i = 0; i < 2u * setup.lanes; i++) {
            FloatSum sum({.bits = setup.float_bits, .headroom = setup.float_headroom});
            for (std::uint32_t rank = 0; rank < children; rank++)
                sum.add(element(rank, chunk, round, i), none);
            lanes[i / 2] |= std::uint64_t{sum.bits()} << (i % 2 * 32);
        }
        return lanes;
    }
};

TEST_F(RoundsParallelOfFloats, EverySumIsTheSameWhoeverComesFirst) {
    Board board;
    all_work(board);
    expect_all_done(board);
    EXPECT_EQ(counters().float_overflow + counters().float_not_finite, 0u);
}

TEST_F(RoundsParallel, EverySumIsExactAndEveryChildGetsIt) {
    Board board;
    all_work(board);
    expect_all_done(board);
    EXPECT_EQ(counters().multicast, 0u);
}

TEST_F(RoundsParallelInOneLine, EverySumIsExactAndEveryChildGetsIt) {
    Board board;
    all_work(board);
    expect_all_done(board);
}

TEST_F(RoundsParallelByMulticast, EverySumIsExactAndLeavesForAllOnce) {
    Board board;
    all_work(board);
    expect_all_done(board);
    EXPECT_EQ(board.for_all, counters().multicast);
    EXPECT_EQ(counters().riding, 0u) << "everybody is in every sum";
    for (const auto &told : board.told)
        EXPECT_LE(told, rounds());
    EXPECT_GT(board.for_all, counters().completed / 2);
}

} // namespace
} // namespace olaf::test::rounds_parallel_test
