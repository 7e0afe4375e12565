// SPDX-License-Identifier: BSD-2-Clause
// A queue to be judged, and expectations about its verdict.
#pragma once

#include <gtest/gtest.h>

#include <arpa/inet.h>

#include "busy_queue.hpp"
#include "loader/observe/verdict.hpp"

namespace olaf::test {

inline constexpr std::uint64_t second = 1'000'000'000;

/// A queue that forwards to `out`, at second 100.
struct Scene {
    Reading reading = quiet_queue();

    Scene() {
        auto &config = reading.attachment.record.config;
        config.deliver = OLAF_DELIVER_FORWARD;
        config.max_clusters = 1024;
        config.port_be = htons(6523);
        reading.attachment.alive = true;
        reading.host.output = "out";
        reading.aom.now_ns = 100 * second;
        reading.snapshot.ring.drain_deadline_ns = 101 * second;
    }
    /// Nine messages wait, the oldest for five seconds.
    void wait() {
        reading.snapshot.levels.queue_length = 9;
        reading.snapshot.oldest_arrival_ns = 95 * second;
    }
    void receive(std::uint64_t messages) {
        reading.snapshot.counters.received = messages;
        reading.snapshot.active_clusters = 3;
        reading.snapshot.slots.updates_passed = messages;
    }
    [[nodiscard]] QueueVerdict verdict() const {
        return judge(reading.attachment, reading, reading.host);
    }
    void expect(Health health, const std::string &text, const std::string &remedy) const {
        const auto found = verdict().first;
        EXPECT_EQ(health_name(found.health), health_name(health)) << found.text;
        EXPECT_NE(found.text.find(text), std::string::npos) << found.text;
        EXPECT_NE(found.remedy.find(remedy), std::string::npos) << found.remedy;
        EXPECT_EQ(found.remedy.empty(), remedy.empty()) << found.remedy;
    }
    void expect_since(std::optional<std::uint64_t> seconds) const {
        const auto since = verdict().first.since_ns;
        EXPECT_EQ(since, seconds ? std::optional(*seconds * second) : std::nullopt);
    }
};

} // namespace olaf::test
