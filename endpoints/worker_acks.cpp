// SPDX-License-Identifier: BSD-2-Clause
#include "worker_impl.hpp"

#include <olaf/clock.hpp>

namespace olaf {
namespace {

// Bounds poll() under a flood: what is left over waits for the next call.
constexpr std::size_t kMostBatches = 64;

} // namespace

Result<bool> Worker::Impl::poll() {
    bool changed = false;
    for (std::size_t i = 0; i < kMostBatches; i++) {
        const auto received = batch_.receive(socket_);
        if (!received)
            return std::unexpected(received.error());
        for (std::size_t message = 0; message < *received; message++) {
            const auto handled = handle(message);
            if (!handled)
                stats_.rejected.add(handled.error());
            else
                changed |= *handled;
        }
        if (*received < batch_.size())
            break;
    }
    return changed;
}

Result<bool> Worker::Impl::wait(std::chrono::nanoseconds timeout) {
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
        const auto changed = poll();
        if (!changed || *changed)
            return changed;
        const auto passed = std::chrono::steady_clock::now() - start;
        if (passed >= timeout)
            return false;
        if (const auto ready = socket_.readable_within(timeout - passed); !ready)
            return ready;
    }
}

// True if the weights changed.
Decoded<bool> Worker::Impl::handle(std::size_t message) {
    if (batch_.cut_off(message))
        return std::unexpected(Reject::wrong_length);
    const auto ack = decode_ack(batch_.bytes(message));
    if (!ack)
        return std::unexpected(ack.error());
    if (ack->cluster != options_.cluster)
        return std::unexpected(Reject::unknown_cluster);
    if (ack->worker != options_.worker && ack->worker != OLAF_EVERY_WORKER)
        return std::unexpected(Reject::not_addressed);
    const auto lanes = batch_.lanes(message, ack->lanes);
    if (ack->has_checksum && !checksum_matches(lanes))
        return std::unexpected(Reject::wrong_checksum);
    const auto taken = replica_.take(*ack, lanes.first(ack->data_lanes()));
    if (!taken)
        return std::unexpected(taken.error());
    note(*ack);
    measure(*ack, *taken == Replica::Taken::fresh);
    stats_.acks++;
    stats_.stale += *taken == Replica::Taken::stale ? 1 : 0;
    return *taken == Replica::Taken::fresh;
}

void Worker::Impl::note(const Ack &ack) {
    feedback_.received_ns = tai_now_ns();
    feedback_.sequence = ack.sequence;
    feedback_.generated_ns = ack.generated_ns;
    feedback_.stamped = ack.stamped;
    if (!ack.stamped)
        return;
    feedback_.congested = ack.congested;
    feedback_.active_clusters = ack.active_clusters;
    feedback_.queue_capacity = ack.queue_capacity;
    feedback_.queue_length = ack.queue_length;
    feedback_.stamped_ns = feedback_.received_ns;
}

} // namespace olaf
