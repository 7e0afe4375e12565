// SPDX-License-Identifier: BSD-2-Clause
// A path in simulated time with a window in front of it: something always waits to leave, each
// ACK lets the next departure go, and the pilot sets how many may be under way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include "bpf/order/window_pilot.bpf.h"

namespace olaf::test {

/// A bottleneck that serves one update after another, in the middle of a path.
struct Path {
    double delay_ns = 0;   ///< there and back, without waiting
    double service_ns = 0; ///< mean
    double spread = 0;     ///< 0: always the mean; 1: exponential
    std::uint32_t room = UINT32_MAX; ///< updates that the bottleneck holds; more are lost
};

class ClosedLoop {
  public:
    explicit ClosedLoop(const Path &path, std::uint32_t most = OLAF_MAX_WINDOW, unsigned seed = 1)
        : path(path), most_(most), random_(seed) {}

    Path path;         ///< may change on the way
    bool waits = true; ///< something waits to leave, always
    std::uint32_t fixed = 0; ///< 0: the pilot decides

    struct Figures {
        double throughput = 0; ///< ACKs a second
        double in_flight = 0;  ///< mean
        double queue = 0;      ///< of them, waiting at the bottleneck: mean
    };

    /// Runs for so long; the figures are of its last half.
    Figures run(double seconds) {
        const double end = now_ + seconds * 1e9, middle = now_ + seconds * 0.5e9;
        std::uint64_t acked = 0;
        double flight_area = 0, queue_area = 0;
        fill();
        while (!acks_.empty() && acks_.top().at < end) {
            const auto ack = acks_.top();
            acks_.pop();
            if (ack.at > middle) {
                const double step = ack.at - std::max(now_, middle);
                flight_area += step * in_flight_;
                queue_area += step * std::max(0.0, in_flight_ - pipe());
                acked++;
            }
            now_ = ack.at;
            in_flight_--;
            if (!ack.lost)
                olaf_pilot_acked(&pilot, ack.position, next_, static_cast<std::uint64_t>(now_),
                                 waits, most_);
            fill();
        }
        now_ = end;
        const double time = seconds * 0.5e9;
        return {static_cast<double>(acked) / time * 1e9, flight_area / time, queue_area / time};
    }

    /// Updates that the path holds without any waiting.
    [[nodiscard]] double pipe() const { return 1 + path.delay_ns / path.service_ns; }

    [[nodiscard]] std::uint32_t size() const {
        return fixed != 0 ? fixed : olaf_pilot_size(&pilot, most_);
    }

    olaf_pilot pilot{};

  private:
    struct AckEvent {
        double at;
        std::uint64_t position;
        bool lost;
        bool operator>(const AckEvent &other) const { return at > other.at; }
    };

    double service() {
        std::exponential_distribution<double> exponential(1);
        return path.service_ns * (1 - path.spread + path.spread * exponential(random_));
    }

    void fill() {
        while (in_flight_ < size()) {
            in_flight_++;
            const double arrives = now_ + path.delay_ns / 2;
            free_ = std::max(free_, arrives) + service();
            acks_.push({free_ + path.delay_ns / 2, next_++, false});
        }
    }

    std::uint32_t most_;
    std::mt19937 random_;
    double now_ = 1, free_ = 0;
    std::uint32_t in_flight_ = 0;
    std::uint64_t next_ = 0;
    std::priority_queue<AckEvent, std::vector<AckEvent>, std::greater<>> acks_;
};

} // namespace olaf::test
