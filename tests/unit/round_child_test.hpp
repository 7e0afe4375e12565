// SPDX-License-Identifier: BSD-2-Clause
// A worker's side of a job, and a node that a test plays.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "round_child.hpp"

namespace olaf::test {

using namespace std::chrono_literals;

struct Recorder : RoundVectors {
    std::vector<std::uint32_t> packed, taken, missed;

    std::optional<std::uint32_t> has_none;

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
};

struct RoundChildTest : testing::Test {
    explicit RoundChildTest(
        const RoundChildOptions &options = {.job = 3, .rank = 1, .lanes = 2, .pool = 5})
        : child(options, vectors) {}

    Recorder vectors;
    RoundChild child;
    RoundChild::Time now = 1s;

    std::optional<RoundContribution> contribution() {
        const auto sending = child.next(now, 1000);
        if (!sending)
            return {};
        std::vector<std::byte> bytes(message_size(sending->lanes.size()));
        std::memcpy(bytes.data(), &sending->header, sizeof(sending->header));
        return decode_contribution(bytes).value();
    }
    std::optional<JobSync> question() {
        const auto sending = child.next(now, 1000);
        if (!sending)
            return {};
        return decode_sync(std::as_bytes(std::span(&sending->header, 1))).value();
    }
    void give(const olaf_header &header, std::vector<std::uint64_t> lanes = {}) {
        std::vector<std::byte> bytes(message_size(lanes.size()));
        std::memcpy(bytes.data(), &header, sizeof(header));
        static_cast<void>(child.take(bytes, lanes, now));
    }
    void answer(JobSync sync, olaf_control_status status) {
        sync.answer = true;
        sync.status = status;
        give(encode(sync));
    }
    void run(std::uint8_t pool, std::uint32_t round = 0, std::uint32_t chunk = 0) {
        JobSync done = question().value();
        done.round = round;
        done.chunk = chunk;
        done.pool = pool;
        done.generation = 50;
        answer(done, OLAF_CONTROL_DONE);
    }
    RoundResult result(std::uint32_t chunk, std::uint32_t chunks) const {
        return {.job = 3,
                .rank = 1,
                .count = 2,
                .chunk = chunk,
                .chunks = chunks,
                .generation = 50,
                .lanes = 2,
                .has_checksum = true};
    }
    void give_result(std::uint32_t chunk, std::uint32_t chunks) {
        give(encode(result(chunk, chunks)), {9, 9});
    }
};

} // namespace olaf::test
