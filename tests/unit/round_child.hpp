// SPDX-License-Identifier: BSD-2-Clause
// A worker's side of a job, step by step, with a node that a test plays.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "endpoints/rounds/child.hpp"

namespace olaf::test {

using namespace std::chrono_literals;

struct Recorder : RoundVectors {
    std::vector<std::uint32_t> packed, taken, missed;
    /// Chunks that were agreed on anew, and what was packed anew, by which exponent.
    std::vector<std::uint32_t> taken_anew, missed_anew;
    std::vector<std::pair<std::uint32_t, std::int16_t>> packed_anew;
    float element = 0.5;
    bool fits = true;   ///< what is packed anew
    bool alone = false; ///< a sum means the same whatever sums came before it

    std::optional<std::uint32_t> has_none;
    bool sparing = false; ///< a result with exponent 1 spares the chunk that follows from it

    std::optional<std::int16_t> contribute(std::uint32_t, std::uint32_t chunk,
                                           std::span<std::uint64_t> lanes) override {
        packed.push_back(chunk);
        if (chunk == has_none)
            return {};
        lanes[0] = 100 + chunk;
        return 7;
    }
    void take(const RoundResult &result, std::span<const std::uint64_t>) override {
        taken.push_back(result.chunk);
    }
    void miss(std::uint32_t, std::uint32_t chunk) override { missed.push_back(chunk); }
    std::span<const float> source(std::uint32_t, std::uint32_t) const override {
        return {&element, 1};
    }
    bool pack_anew(std::uint32_t, std::uint32_t chunk, std::int16_t exponent,
                   std::span<const float> source, std::span<std::uint64_t> lanes) override {
        packed_anew.emplace_back(chunk, exponent);
        lanes[0] = static_cast<std::uint64_t>(1000 * source[0]);
        return fits;
    }
    void take_anew(const RoundResult &result, std::span<const std::uint64_t>) override {
        taken_anew.push_back(result.chunk);
    }
    void miss_anew(std::uint32_t, std::uint32_t chunk) override { missed_anew.push_back(chunk); }
    bool spares(const RoundResult &result, std::span<const std::uint64_t>,
                std::uint32_t) const override {
        return sparing && result.exponent == 1;
    }
    bool spares_missed(std::uint32_t) const override { return sparing; }
    bool sums_stand_alone() const override { return alone; }
};

struct RoundChildTest : testing::Test {
    explicit RoundChildTest(
        const RoundChildOptions &options = {.job = 3, .rank = 1, .lanes = 2, .pool = 5})
        : child(options, vectors) {}

    Recorder vectors;
    RoundChild child;
    RoundChild::Time now = 1s;

    /// What it sends next, if it is time for anything.
    std::optional<std::vector<std::byte>> message() {
        return child.next(now, 1000).transform(bytes_of);
    }
    static std::vector<std::byte> bytes_of(const RoundChild::Sending &sending) {
        std::vector<std::byte> bytes(message_size(sending.lanes.size()));
        std::memcpy(bytes.data(), &sending.header, sizeof(sending.header));
        std::ranges::copy(std::as_bytes(sending.lanes), bytes.begin() + sizeof(sending.header));
        return bytes;
    }
    std::optional<RoundContribution> contribution() {
        return message().transform([](auto &&bytes) { return decode_contribution(bytes).value(); });
    }
    /// Two are five milliseconds apart at least.
    std::optional<JobSync> question() {
        if (child.wakes_at() <= now + 5ms)
            now = std::max(now, child.wakes_at());
        return message().transform([](auto &&bytes) { return decode_sync(bytes).value(); });
    }
    void give(const olaf_header &header, std::vector<std::uint64_t> lanes = {}) {
        std::vector<std::byte> bytes(message_size(lanes.size()));
        std::memcpy(bytes.data(), &header, sizeof(header));
        std::ranges::copy(std::as_bytes(std::span(lanes)), bytes.begin() + sizeof(header));
        static_cast<void>(child.take(bytes, lanes, now));
    }
    void answer(JobSync sync, olaf_control_status status) {
        sync.answer = true;
        sync.status = status;
        give(encode(sync), lanes_of(sync));
    }
    void run(std::uint8_t pool, std::uint32_t round = 0, std::uint32_t chunk = 0,
             std::uint32_t generation = 50) {
        JobSync done = question().value();
        done.round = round;
        done.chunk = chunk;
        done.pool = pool;
        done.generation = generation;
        answer(done, OLAF_CONTROL_DONE);
    }
    RoundResult result(std::uint32_t chunk, std::uint32_t chunks) const {
        return {.job = 3,
                .rank = 1,
                .count = 2,
                .chunk = chunk,
                .chunks = chunks,
                .generation = 50,
                .lanes = child.lanes(),
                .has_checksum = true};
    }
    /// The node is of another generation, and has no such chunk any more.
    static RoundResult stale(std::uint32_t chunks, std::uint32_t round = 0) {
        return {.job = 3,
                .rank = 1,
                .round = round,
                .count = 50,
                .chunks = chunks,
                .generation = 60,
                .stale = true};
    }
    /// The result of a vector of one chunk, for all of the group.
    void give_to_all() {
        auto for_all = result(0, 1);
        for_all.rank = OLAF_EVERY_WORKER;
        give(encode(for_all), {9, 9});
    }
    void give_result(std::uint32_t chunk, std::uint32_t chunks) {
        give(encode(result(chunk, chunks)), std::vector<std::uint64_t>(child.lanes()));
    }
};

struct RoundChildSession : RoundChildTest {
    RoundChildSession()
        : RoundChildTest({.job = 3, .rank = 1, .lanes = 2, .pool = 5, .incarnation = 77}) {}

    /// All agree, for the first time: its session is 99.
    void begin() { agree(question().value(), 50, 99); }
    /// All agree in that generation, and are in that session.
    void agree(JobSync asked, std::uint32_t generation, std::uint64_t session) {
        asked.generation = generation;
        asked.pool = 1;
        asked.session = session;
        answer(asked, OLAF_CONTROL_DONE);
    }
    /// Round 0 is summed in its session, round 1 is under way.
    void sum_one_of_two() {
        child.add(1, 0, 0);
        child.add(1, 0, 0);
        begin();
        ASSERT_TRUE(contribution());
        give(encode(result(0, 1)), {9, 9});
        ASSERT_EQ(vectors.taken.size(), 1U);
        ASSERT_TRUE(contribution());
    }
    /// It learns that all are to agree anew, and asks.
    JobSync asked_anew() {
        RoundResult stopped = stale(1);
        stopped.count = child.generation();
        give(encode(stopped));
        return question().value();
    }
};

} // namespace olaf::test
