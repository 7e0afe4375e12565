// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/worker.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include <olaf/clock.hpp>
#include <olaf/segments.hpp>

#include "receive_batch.hpp"
#include "replica.hpp"

namespace olaf {
namespace {

constexpr std::size_t kSendBatch = 16;
constexpr std::size_t kReceiveBatch = 16;
// Bounds poll() under a flood: what is left over waits for the next call.
constexpr std::size_t kMostBatches = 64;

} // namespace

class Worker::Impl {
  public:
    Impl(const WorkerOptions &options, UdpSocket socket, Segments segments)
        : options_(options), socket_(std::move(socket)), segments_(segments),
          frames_(std::min<std::size_t>(segments.count(), kSendBatch)), batch_(kReceiveBatch),
          replica_(options.elements) {}

    Result<void> join();
    Result<PushReport> push(std::span<const float> gradient, double reward,
                            std::uint32_t model_version, std::int64_t generated_ns);
    Result<bool> poll();
    Result<bool> wait(std::chrono::nanoseconds timeout);

    const UdpSocket &socket() const { return socket_; }
    const Replica &replica() const { return replica_; }
    const Feedback &feedback() const { return feedback_; }
    const WorkerStats &stats() const { return stats_; }

  private:
    Result<std::size_t> fill(Frame &frame, Update update, std::span<const float> gradient,
                             PackReport &report) const;
    UdpSocket::Sent send(std::span<const std::size_t> sizes);
    Decoded<bool> handle(std::size_t message);
    void note(const Ack &ack);

    WorkerOptions options_;
    UdpSocket socket_;
    Segments segments_;
    std::vector<Frame> frames_;
    ReceiveBatch batch_;
    Replica replica_;
    std::uint32_t sequence_ = 0;
    Feedback feedback_;
    WorkerStats stats_;
};

Result<void> Worker::Impl::join() {
    frames_[0].header = encode(Join{.cluster = options_.cluster,
                                    .worker = options_.worker,
                                    .sequence = sequence_,
                                    .generated_ns = tai_now_ns()});
    const std::size_t size = message_size(0);
    send({&size, 1});
    return {};
}

Result<PushReport> Worker::Impl::push(std::span<const float> gradient, double reward,
                                      std::uint32_t model_version, std::int64_t generated_ns) {
    if (gradient.size() != options_.elements)
        return fail("push gradient", {}, 0, {},
                    "it has " + std::to_string(gradient.size()) + " elements, the model " +
                        std::to_string(options_.elements));
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
    std::vector<std::size_t> sizes;
    sizes.reserve(frames_.size());
    for (std::size_t segment = 0; segment < segments_.count(); segment++) {
        update.segment = static_cast<std::uint16_t>(segment);
        const Slice slice = segments_.slice(segment);
        const auto size = fill(frames_[sizes.size()], update,
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
    return report;
}

// Returns the message's size in bytes.
Result<std::size_t> Worker::Impl::fill(Frame &frame, Update update, std::span<const float> gradient,
                                       PackReport &report) const {
    const std::size_t data = lanes_for(update.format, gradient.size());
    const auto lanes = std::span(frame.lanes).first(data);
    const auto packed = pack(options_.packing, gradient, lanes);
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

Worker::Worker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Worker::Worker(Worker &&) noexcept = default;
Worker &Worker::operator=(Worker &&) noexcept = default;
Worker::~Worker() = default;

Result<Worker> Worker::make(const WorkerOptions &options) {
    if (auto valid = validate(options.packing); !valid)
        return std::unexpected(valid.error());
    if (options.worker == OLAF_EVERY_WORKER)
        return fail("make worker", std::to_string(options.worker), 0, {},
                    "that id means every worker");
    const std::size_t room = lanes_in_mtu(options.mtu, options.server.is_ipv6());
    const std::size_t reserved = options.checksum && room > 0 ? 1 : 0;
    const auto segments =
        Segments::fitting(options.elements, options.packing.format, room - reserved);
    if (!segments)
        return std::unexpected(segments.error());
    auto socket = UdpSocket::connected_to(
        options.server, {.receive = options.receive_buffer, .send = options.send_buffer});
    if (!socket)
        return std::unexpected(socket.error());
    return Worker(std::make_unique<Impl>(options, std::move(*socket), *segments));
}

Result<void> Worker::join() {
    return impl_->join();
}
Result<PushReport> Worker::push(std::span<const float> gradient, double reward,
                                std::uint32_t model_version,
                                std::optional<std::int64_t> generated_ns) {
    return impl_->push(gradient, reward, model_version, generated_ns.value_or(tai_now_ns()));
}
Result<bool> Worker::poll() {
    return impl_->poll();
}
Result<bool> Worker::wait(std::chrono::nanoseconds timeout) {
    return impl_->wait(timeout);
}
bool Worker::has_weights() const {
    return impl_->replica().complete();
}
std::span<const float> Worker::weights() const {
    return impl_->replica().weights();
}
std::uint32_t Worker::model_version() const {
    return impl_->replica().version();
}
const Feedback &Worker::feedback() const {
    return impl_->feedback();
}
const WorkerStats &Worker::stats() const {
    return impl_->stats();
}
int Worker::fd() const {
    return impl_->socket().fd();
}

} // namespace olaf
