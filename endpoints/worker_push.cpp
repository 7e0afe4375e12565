// SPDX-License-Identifier: BSD-2-Clause
#include "worker_impl.hpp"

#include <bit>
#include <cerrno>
#include <cmath>
#include <string>

#include <olaf/clock.hpp>

#include "lane_kernels.hpp"

namespace olaf {

Result<void> Worker::Impl::join() {
    frames_[0].header = encode(Join{.cluster = options_.cluster,
                                    .worker = options_.worker,
                                    .sequence = sequence_,
                                    .generated_ns = tai_now_ns()});
    const std::size_t size = message_size(0);
    send({&size, 1});
    return {};
}

QueueState Worker::Impl::queue_state() const {
    const std::chrono::duration<double> since_ack = OwnUpdates::Clock::now() - last_ack_;
    return {.active_clusters = feedback_.active_clusters,
            .capacity = feedback_.queue_capacity,
            .length = feedback_.queue_length,
            .since_ack_s = since_ack.count()};
}

bool Worker::Impl::should_send() {
    const bool may = gate_.may_pass(queue_state());
    stats_.held += may ? 0 : 1;
    return may;
}

// Versions wrap.
bool Worker::Impl::too_stale(std::uint32_t model_version) const {
    const auto lag = static_cast<std::int32_t>(replica_.version() - model_version);
    return options_.staleness_bound && replica_.complete() &&
           lag > std::int64_t{*options_.staleness_bound};
}

Result<PushReport> Worker::Impl::push(std::span<const float> gradient, double reward,
                                      std::uint32_t model_version, std::int64_t generated_ns) {
    if (gradient.size() != options_.elements)
        return fail("push gradient", {}, 0, {},
                    "it has " + std::to_string(gradient.size()) + " elements, the model " +
                        std::to_string(options_.elements));
    if (too_stale(model_version)) {
        stats_.too_stale++;
        return PushReport{.outcome = PushOutcome::too_stale};
    }
    if (!gate_.pass(queue_state())) {
        stats_.held++;
        return PushReport{.outcome = PushOutcome::held};
    }
    Update update = {.cluster = options_.cluster,
                     .worker = options_.worker,
                     .sequence = ++sequence_,
                     .generated_ns = generated_ns,
                     .reward = to_reward(reward, options_.packing.max_count),
                     .model_version = model_version,
                     .segments = segments_.count(),
                     .format = options_.packing.format,
                     .has_checksum = options_.checksum};
    PushReport report = {.sequence = update.sequence};
    own_.sent(update.sequence, generated_ns, model_version, OwnUpdates::Clock::now());
    std::vector<std::size_t> sizes;
    sizes.reserve(frames_.size());
    for (std::size_t segment = 0; segment < segments_.count(); segment++) {
        update.segment = static_cast<std::uint16_t>(segment);
        const Slice slice = segments_.slice(segment);
        const auto size = fill(frames_[sizes.size()], update, slice.begin,
                               gradient.subspan(slice.begin, slice.size()), report.packing);
        if (!size)
            return std::unexpected(size.error());
        sizes.push_back(*size);
        if (sizes.size() < frames_.size() && segment + 1 < segments_.count())
            continue;
        const UdpSocket::Sent result = send(sizes);
        if (result.last_errno == EMSGSIZE)
            return fail("push gradient", options_.server.text(), EMSGSIZE,
                        "lower the worker's mtu to that of the interface");
        report.segments += result.sent;
        report.unsent += result.unsent;
        sizes.clear();
    }
    stats_.updates++;
    stats_.clipped += report.packing.clipped;
    stats_.nans += report.packing.nans;
    const auto largest =
        std::bit_cast<float>(kernels::largest_magnitude(gradient.data(), gradient.size()));
    if (std::isfinite(largest))
        stats_.largest = std::max(stats_.largest, largest);
    return report;
}

// Returns the message's size in bytes.
Result<std::size_t> Worker::Impl::fill(Frame &frame, Update update, std::size_t begin,
                                       std::span<const float> slice, PackReport &report) {
    const std::size_t data = lanes_for(update.format, slice.size());
    const auto lanes = std::span(frame.lanes).first(data);
    const auto packed = encoder_.pack(begin, slice, lanes);
    if (!packed)
        return std::unexpected(packed.error());
    report += *packed;
    if (update.has_checksum)
        frame.lanes[data] = checksum(lanes);
    update.lanes = static_cast<std::uint16_t>(data + (update.has_checksum ? 1 : 0));
    frame.header = encode(update);
    return message_size(update.lanes);
}

// The first frames, of these sizes in bytes.
UdpSocket::Sent Worker::Impl::send(std::span<const std::size_t> sizes) {
    iovec parts[kSendBatch];
    mmsghdr headers[kSendBatch] = {};
    for (std::size_t i = 0; i < sizes.size(); i++) {
        parts[i] = {.iov_base = &frames_[i], .iov_len = sizes[i]};
        headers[i].msg_hdr.msg_iov = &parts[i];
        headers[i].msg_hdr.msg_iovlen = 1;
    }
    const UdpSocket::Sent result = socket_.send(headers, sizes.size(), options_.send_patience);
    stats_.messages += result.sent;
    stats_.unsent += result.unsent;
    return result;
}

} // namespace olaf
