// SPDX-License-Identifier: BSD-2-Clause
// When a worker that has an update should send it (paper, section 5). Times are in seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <olaf/result.hpp>

namespace olaf {

/// What a worker knows of the bottleneck's queue when it has an update to send.
struct QueueState {
    /// N, Qmax and Qn of the newest stamped ACK; all 0 if none has come.
    std::uint32_t active_clusters = 0;
    std::uint32_t capacity = 0;
    std::uint32_t length = 0;
    /// Δ: seconds since the newest ACK, stamped or not; since the worker was made, if none came.
    double since_ack_s = 0;
};

/// The probability with which an update is sent. Called once an update, on the thread that
/// asks. Below 0 counts as 0, above 1 as 1, and NaN as 1: a broken rule must not silence a
/// worker. What it throws passes through push() and should_send(), which then did nothing.
using SendRule = std::function<double(const QueueState &state)>;

/// Section 5's rule: without congestion (N <= Qmax) send at will, otherwise with
/// probability min(Qmax / N + f(Δ), 1), where
///   f(Δ) = v · (Δ − Δ_T) for Δ > Δ_T, else 0.
/// Fresh feedback so shares out the queue's places; without feedback for longer than Δ_T
/// a worker dares more and more. A SendRule; pure and thread-safe.
class TransmissionControl {
  public:
    /// Fails on a threshold Δ_T, in seconds, that isn't positive and finite.
    /// Urgent: v = 1 / Δ_T, so that certainty comes at the latest when Δ = 2 Δ_T.
    [[nodiscard]] static Result<TransmissionControl> urgent(double threshold_s);
    /// Fair: v = Δ_T. The paper leaves the unit open; here it is the number of seconds, so a
    /// threshold below a second makes workers more patient than urgent() does.
    [[nodiscard]] static Result<TransmissionControl> fair(double threshold_s);
    /// Any v, in 1 / seconds. Fails also if it is negative or not finite; with 0 a worker
    /// that hears nothing is never more daring.
    [[nodiscard]] static Result<TransmissionControl> with_slope(double threshold_s, double slope);

    [[nodiscard]] double operator()(const QueueState &state) const;

    [[nodiscard]] double threshold_s() const { return threshold_s_; }
    [[nodiscard]] double slope() const { return slope_; } ///< v, in 1 / seconds

  private:
    TransmissionControl(double threshold_s, double slope)
        : threshold_s_(threshold_s), slope_(slope) {}

    double threshold_s_;
    double slope_;
};

/// Not of the paper: while there is congestion (N > Qmax), a worker sends nothing for a while
/// after each ACK, and then everything. Where ACKs go to the whole cluster, all of it so leaves
/// the queue's places to others once it has been served, whatever the senders' rates, while
/// section 5's rule never goes below Qmax / N. Choose a pause somewhat below the time in which the
/// bottleneck serves each active cluster once; a longer one leaves it idle. A SendRule; pure
/// and thread-safe.
class PauseAfterAck {
  public:
    /// Fails on a pause, in seconds, that isn't positive and finite.
    [[nodiscard]] static Result<PauseAfterAck> make(double pause_s);

    [[nodiscard]] double operator()(const QueueState &state) const;

    [[nodiscard]] double pause_s() const { return pause_s_; }

  private:
    explicit PauseAfterAck(double pause_s) : pause_s_(pause_s) {}

    double pause_s_;
};

/// Numbers in [0, 1), one a call.
using UniformRandom = std::function<double()>;

/// A generator of those, of its own: repeatable by its seed, or different each time without.
[[nodiscard]] UniformRandom uniform_random(std::optional<std::uint64_t> seed = {});

} // namespace olaf
