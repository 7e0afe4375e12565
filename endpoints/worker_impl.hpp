// SPDX-License-Identifier: BSD-2-Clause
// What a Worker is made of: worker_push.cpp sends, worker_acks.cpp receives,
// worker_report.cpp measures.
#pragma once

#include <olaf/worker.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <olaf/segments.hpp>

#include "missed_versions.hpp"
#include "own_updates.hpp"
#include "receive_batch.hpp"
#include "replica.hpp"
#include "send_gate.hpp"

namespace olaf {

class Worker::Impl {
  public:
    Impl(const WorkerOptions &options, UdpSocket socket, Segments segments, Encoder encoder)
        : options_(options), socket_(std::move(socket)), segments_(segments),
          encoder_(std::move(encoder)),
          frames_(std::min<std::size_t>(segments.count(), kSendBatch)), batch_(kReceiveBatch),
          replica_(options.elements), gate_(options.send_rule, options.random) {}

    Result<void> join();
    bool should_send();
    Result<PushReport> push(std::span<const float> gradient, double reward,
                            std::uint32_t model_version, std::int64_t generated_ns);
    Result<bool> poll();
    Result<bool> wait(std::chrono::nanoseconds timeout);

    const UdpSocket &socket() const { return socket_; }
    const Replica &replica() const { return replica_; }
    const Feedback &feedback() const { return feedback_; }
    const WorkerStats &stats() const { return stats_; }
    WorkerReport report() const;

  private:
    static constexpr std::size_t kSendBatch = 16;
    static constexpr std::size_t kReceiveBatch = 16;

    Result<std::size_t> fill(Frame &frame, Update update, std::size_t begin,
                             std::span<const float> slice, PackReport &report);
    UdpSocket::Sent send(std::span<const std::size_t> sizes);
    Decoded<bool> handle(std::size_t message);
    void note(const Ack &ack);
    void measure(const Ack &ack, bool fresh);
    QueueState queue_state() const;
    bool too_stale(std::uint32_t model_version) const;

    WorkerOptions options_;
    UdpSocket socket_;
    Segments segments_;
    Encoder encoder_;
    std::vector<Frame> frames_;
    ReceiveBatch batch_;
    Replica replica_;
    std::uint32_t sequence_ = 0;
    Feedback feedback_;
    WorkerStats stats_;
    SendGate gate_;
    OwnUpdates own_;
    MissedVersions missed_;
    bool answers_to_all_ = false; // ACKs are seen to go to the whole cluster
    OwnUpdates::Clock::time_point last_ack_ = OwnUpdates::Clock::now();
    WorkerReport report_; // but for what own_ and missed_ count
};

} // namespace olaf
