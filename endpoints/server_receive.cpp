// SPDX-License-Identifier: BSD-2-Clause
#include "server_impl.hpp"

#include <olaf/clock.hpp>

namespace olaf {

// Gets a new batch if the last one is all handled. False if the time was over.
Result<bool> ParameterServer::Impl::fill(std::chrono::nanoseconds timeout) {
    if (handled_ < received_)
        return true;
    const auto ready = socket_.readable_within(timeout);
    if (!ready || !*ready)
        return ready;
    const auto received = batch_.receive(socket_);
    if (!received)
        return std::unexpected(received.error());
    received_ = *received;
    handled_ = 0;
    stats_.datagrams += received_;
    return true;
}

Result<std::size_t> ParameterServer::Impl::receive(std::chrono::nanoseconds timeout) {
    finish(false);
    if (const auto filled = fill(timeout); !filled)
        return std::unexpected(filled.error());
    const std::size_t first = handled_;
    while (handled_ < received_)
        // Counted as handled first: what a rule throws doesn't bring the message back.
        if (const auto handled = handle(handled_++); !handled)
            stats_.rejected.add(handled.error());
    outbox_.flush(socket_);
    return handled_ - first;
}

Decoded<void> ParameterServer::Impl::handle(std::size_t message) {
    if (batch_.cut_off(message))
        return std::unexpected(Reject::wrong_length);
    const auto type = decode_type(batch_.bytes(message));
    if (!type)
        return std::unexpected(type.error());
    switch (*type) {
    case OLAF_UPDATE:
        return handle_update(message);
    case OLAF_CONTROL:
        return handle_join(message);
    default:
        return std::unexpected(Reject::wrong_type);
    }
}

Decoded<void> ParameterServer::Impl::handle_update(std::size_t message) {
    const auto update = decode_update(batch_.bytes(message));
    if (!update)
        return std::unexpected(update.error());
    const auto served = find_or_admit(*update);
    if (!served)
        return std::unexpected(served.error());
    Cluster &cluster = (*served)->cluster;
    const auto slice = cluster.apply(*update, batch_.lanes(message, update->lanes), tai_now_ns());
    if (!slice)
        return std::unexpected(slice.error());

    const Address source = batch_.source(message);
    cluster.workers().count(update->worker, source, update->sequence);
    answer(**served, *slice,
           {.worker = update->worker,
            .sequence = update->sequence,
            .generated_ns = update->generated_ns,
            .source = source},
           options_.ack_all_known_workers);
    return {};
}

Decoded<void> ParameterServer::Impl::handle_join(std::size_t message) {
    const auto join = decode_join(batch_.bytes(message));
    if (!join)
        return std::unexpected(join.error());
    const auto served = find(join->cluster);
    if (!served)
        return std::unexpected(served.error());
    const Address source = batch_.source(message);
    (*served)->cluster.joined(join->worker, source);
    answer(**served, {.begin = 0, .end = (*served)->acks.elements()},
           {.worker = join->worker,
            .sequence = join->sequence,
            .generated_ns = join->generated_ns,
            .source = source},
           false);
    return {};
}

Decoded<ParameterServer::Impl::Served *> ParameterServer::Impl::find(std::uint32_t cluster) {
    const auto found = clusters_.find(cluster);
    if (found == clusters_.end())
        return std::unexpected(Reject::unknown_cluster);
    return &found->second;
}

Decoded<ParameterServer::Impl::Served *>
ParameterServer::Impl::find_or_admit(const Update &update) {
    const auto found = find(update.cluster);
    if (found || !options_.admit)
        return found;
    auto settings = options_.admit(update);
    if (!settings)
        return found;
    settings->cluster = update.cluster;
    if (const auto added = add_cluster(std::move(*settings)); !added)
        return found;
    return find(update.cluster);
}

// Sends every segment of the weights that overlaps `slice`.
void ParameterServer::Impl::answer(const Served &served, Slice slice, const Answered &answered,
                                   bool to_all) {
    const std::span<const float> weights = served.cluster.weights();
    for (std::size_t segment = served.acks.holding(slice.begin);
         segment <= served.acks.holding(slice.end - 1); segment++) {
        const Slice part = served.acks.slice(segment);
        const std::size_t lanes = lanes_for(Format::f32x2, part.size());
        // Can't fail: the sizes agree.
        (void)pack_weights(weights.subspan(part.begin, part.size()),
                           outbox_.payload(socket_, lanes));
        Ack ack = {.cluster = served.cluster.id(),
                   .sequence = answered.sequence,
                   .generated_ns = answered.generated_ns,
                   .model_version = served.cluster.version(),
                   .segment = static_cast<std::uint16_t>(segment),
                   .segments = served.acks.count(),
                   .lanes = static_cast<std::uint16_t>(lanes)};
        const auto send_to = [&](std::uint32_t worker, const Address &address) {
            ack.worker = options_.address_every_worker ? OLAF_EVERY_WORKER : worker;
            outbox_.add(socket_, encode(ack), address);
        };
        if (!to_all) {
            send_to(answered.worker, answered.source);
            continue;
        }
        for (const auto &[worker, known] : served.cluster.workers().all())
            send_to(worker, known.address);
    }
}

} // namespace olaf
