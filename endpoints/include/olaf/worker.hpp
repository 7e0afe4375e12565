// SPDX-License-Identifier: BSD-2-Clause
// A worker's end: sends gradients, receives weights.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <olaf/address.hpp>
#include <olaf/encoder.hpp>
#include <olaf/message.hpp>
#include <olaf/transmission_control.hpp>
#include <olaf/worker_report.hpp>

namespace olaf {

struct WorkerOptions {
    Address server = {}; ///< Address::resolve("192.0.2.1") has the default port
    std::uint32_t cluster = 0;
    std::uint32_t worker = 0; ///< unique within the cluster; not OLAF_EVERY_WORKER
    std::size_t elements = 0; ///< of the model, as at the server
    Packing packing = {};     ///< as at the server
    Rounding rounding = {};   ///< this worker's own choice; to nearest by default
    std::size_t mtu = 1500;   ///< IP MTU in bytes of the way to the server
    bool checksum = true;     ///< end-to-end checksum lane
    /// How long push() may wait in all for room in the socket's buffer.
    std::chrono::nanoseconds send_patience = std::chrono::milliseconds(100);
    /// Kernel buffers in bytes; without CAP_NET_ADMIN net.core.{r,w}mem_max cap them.
    int receive_buffer = 4 << 20;
    int send_buffer = 4 << 20;
    /// Transmission control: TransmissionControl::urgent(0.4).value(), or any function of the
    /// queue's state. Off if empty: every update is sent.
    SendRule send_rule = {};
    /// What decides by the rule's probabilities; one seeded at random if empty.
    UniformRandom random = {};
    /// iSwitch's S: an update computed on a model more than this many versions older than the
    /// one held is not sent. Off if empty.
    std::optional<std::uint32_t> staleness_bound = {};
};

enum class PushOutcome : std::uint8_t {
    sent,
    held,      ///< by transmission control: go on training and push a newer one
    too_stale, ///< beyond the staleness bound: train on the newest weights
};

/// What became of one update on this side. Being sent is not being delivered.
struct PushReport {
    PushOutcome outcome = PushOutcome::sent;
    std::uint32_t sequence = 0; ///< 0 if not sent: nobody will ever miss it
    std::size_t segments = 0;   ///< messages handed to the kernel
    std::size_t unsent = 0;     ///< messages lost here
    PackReport packing = {};    ///< clipped and NaN elements
    std::size_t way_mtu = 0;    ///< WorkerReport::way_mtu when it was sent
};

/// What the network said on the way back.
struct Feedback {
    bool stamped = false; ///< the newest ACK carried queue state
    /// Of the newest stamped ACK; zero if none was.
    bool congested = false; ///< active clusters > queue capacity
    std::uint32_t active_clusters = 0;
    std::uint32_t queue_capacity = 0;
    std::uint32_t queue_length = 0;
    std::int64_t stamped_ns = 0; ///< CLOCK_TAI when it was received
    /// Of the newest ACK. Sequence and time echo the update that it answers, which may
    /// be another worker's.
    std::uint32_t sequence = 0;
    std::int64_t generated_ns = 0;
    std::int64_t received_ns = 0; ///< CLOCK_TAI; 0 if there was none
};

struct WorkerStats {
    std::uint64_t updates = 0;   ///< sent
    std::uint64_t held = 0;      ///< not sent, by transmission control: push() or should_send()
    std::uint64_t too_stale = 0; ///< not sent, because of the staleness bound
    std::uint64_t messages = 0;  ///< handed to the kernel: updates × segments, and joins
    std::uint64_t unsent = 0;    ///< lost before: buffer full, refused, no route, ...
    std::uint64_t clipped = 0;   ///< elements beyond the fixed-point range
    std::uint64_t nans = 0;      ///< NaN elements, sent as 0
    /// Magnitude of the largest element sent, for fitting_scale(). Updates with inf or NaN aside.
    float largest = 0;
    std::uint64_t acks = 0;     ///< accepted
    std::uint64_t stale = 0;    ///< of those, with weights older than the ones held
    RejectCounts rejected = {}; ///< malformed, or for somebody else
};

/// Not thread-safe. Moving one doesn't move its weights: spans stay valid.
///
/// Loss is normal: no call waits for an answer except wait(), no call waits without a
/// limit, and nothing is sent again.
class Worker {
  public:
    /// Fails if an option is invalid, the model needs more than 65535 segments, or the
    /// socket can't be made. Sends nothing.
    [[nodiscard]] static Result<Worker> make(const WorkerOptions &options);
    Worker(Worker &&) noexcept;
    Worker &operator=(Worker &&) noexcept;
    ~Worker();

    /// Asks the server for its weights (CONTROL join). The answer comes like any ACK:
    /// `while (!has_weights()) { join(); wait(100ms); }`.
    [[nodiscard]] Result<void> join();

    /// Whether transmission control lets the next update be sent, to be asked once for each
    /// update, before it is worth packing. After true the next push() sends; after
    /// false go on training, and ask again for a newer one.
    [[nodiscard]] bool should_send();

    /// Sends one update, unless transmission control or the staleness bound hold it back, in
    /// which case it is dropped and the report says so: `gradient` (options.elements long), the
    /// mean reward of its episode, and the version of the weights it was computed on
    /// (model_version()). `generated_ns` is when it was computed, CLOCK_TAI; now by default.
    /// Rewards beyond ±2^47 / max_count saturate, infinite ones too. Fails, and sends nothing, on a
    /// gradient of another size and on a reward that is NaN: folded with others it would spoil
    /// their mean. Fails on messages larger than the interface's MTU (EMSGSIZE), which no retry
    /// would cure. That the way carries less is told by the report: whoever says so may lie.
    [[nodiscard]] Result<PushReport> push(std::span<const float> gradient, double reward,
                                          std::uint32_t model_version,
                                          std::optional<std::int64_t> generated_ns = {});

    /// Takes in the ACKs that have arrived, without waiting. True if weights changed.
    [[nodiscard]] Result<bool> poll();
    /// Waits until weights changed (true) or the time is over (false).
    [[nodiscard]] Result<bool> wait(std::chrono::nanoseconds timeout);

    /// Whether every segment of the weights has come at least once.
    [[nodiscard]] bool has_weights() const;
    /// The newest weights, options.elements long; zeros where none have come.
    [[nodiscard]] std::span<const float> weights() const;
    /// Of the weights: the oldest segment's. 0 before has_weights().
    [[nodiscard]] std::uint32_t model_version() const;
    [[nodiscard]] const Feedback &feedback() const;
    [[nodiscard]] const WorkerStats &stats() const;
    [[nodiscard]] WorkerReport report() const;
    /// For event loops: readable when poll() has something to do.
    [[nodiscard]] int fd() const;

  private:
    class Impl;
    explicit Worker(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace olaf
