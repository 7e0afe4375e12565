// SPDX-License-Identifier: BSD-2-Clause
#include "server_impl.hpp"

#include <algorithm>
#include <utility>

#include <olaf/clock.hpp>

namespace olaf {

Result<std::optional<PendingUpdate>> ParameterServer::Impl::next(std::chrono::nanoseconds timeout) {
    finish(false);
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
        const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - start;
        const auto filled = fill(std::max(std::chrono::nanoseconds(0), timeout - passed));
        if (!filled)
            return std::unexpected(filled.error());
        while (handled_ < received_ && !pending_)
            if (const auto accepted = accept(handled_++); !accepted)
                stats_.rejected.add(accepted.error());
        outbox_.flush(socket_); // answers to joins
        if (pending_) {
            Cluster &cluster = pending_->served->cluster;
            const Slice slice = pending_->contribution.slice;
            return PendingUpdate{.cluster = cluster.id(),
                                 .contribution = pending_->contribution,
                                 .weights = cluster.weights().subspan(slice.begin, slice.size())};
        }
        if (!*filled || passed >= timeout) // a flood of joins doesn't keep the caller
            return std::nullopt;
    }
}

// An update becomes the pending one; anything else is handled.
Decoded<void> ParameterServer::Impl::accept(std::size_t message) {
    const auto update = batch_.cut_off(message)
                            ? Decoded<Update>(std::unexpected(Reject::wrong_length))
                            : decode_update(batch_.bytes(message));
    if (!update)
        return handle(message); // a join, or it says once more what is wrong
    const auto served = find_or_admit(*update);
    if (!served)
        return std::unexpected(served.error());
    const auto contribution =
        (*served)->cluster.accept(*update, batch_.lanes(message, update->lanes));
    if (!contribution)
        return std::unexpected(contribution.error());
    pending_ = Pending{.served = *served,
                       .contribution = *contribution,
                       .answered = {.worker = update->worker,
                                    .sequence = update->sequence,
                                    .generated_ns = update->generated_ns,
                                    .source = batch_.source(message)},
                       .delivered_ns = tai_now_ns()};
    return {};
}

void ParameterServer::Impl::finish(bool changed) {
    if (!pending_)
        return;
    const Pending update = *std::exchange(pending_, std::nullopt);
    Cluster &cluster = update.served->cluster;
    cluster.commit(update.contribution, changed, update.delivered_ns);
    cluster.workers().count(update.answered.worker, update.answered.source,
                            update.answered.sequence);
    answer(*update.served, update.contribution.slice, update.answered,
           options_.ack_all_known_workers);
    outbox_.flush(socket_);
}

} // namespace olaf
