// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/worker.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <olaf/clock.hpp>
#include <olaf/segments.hpp>
#include <olaf/try.hpp>

#include "endpoints/async/ack_tracking.hpp"
#include "endpoints/async/replica.hpp"
#include "endpoints/async/send_gate.hpp"
#include "endpoints/wire/lane_kernels.hpp"
#include "endpoints/wire/receive_batch.hpp"

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
    std::size_t narrow_way() const;

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

// ---- updates ----

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

// What the way carries, if it was said to be less than this worker may send.
std::size_t Worker::Impl::narrow_way() const {
    const std::size_t told = socket_.told_mtu().value_or(0);
    return told < options_.mtu ? told : 0;
}

Result<PushReport> Worker::Impl::push(std::span<const float> gradient, double reward,
                                      std::uint32_t model_version, std::int64_t generated_ns) {
    if (gradient.size() != options_.elements)
        return fail("push gradient", {}, 0, {},
                    "it has " + std::to_string(gradient.size()) + " elements, the model " +
                        std::to_string(options_.elements));
    if (std::isnan(reward)) // folded with others it would spoil their mean
        return fail("push gradient", {}, 0, "give 0 if there is no reward",
                    "its reward isn't a number");
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
        sizes.push_back(
            OLAF_TRY(fill(frames_[sizes.size()], update, slice.begin,
                          gradient.subspan(slice.begin, slice.size()), report.packing)));
        if (sizes.size() < frames_.size() && segment + 1 < segments_.count())
            continue;
        const UdpSocket::Sent result = send(sizes);
        if (result.last_errno == EMSGSIZE)
            return fail("push gradient", options_.server.text(), EMSGSIZE,
                        "the way carries " + std::to_string(OLAF_TRY(socket_.mtu())) +
                            " bytes: give that as mtu to the worker and to the parameter server");
        report.segments += result.sent;
        report.unsent += result.unsent;
        sizes.clear();
    }
    report.way_mtu = narrow_way();
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
    report += OLAF_TRY(encoder_.pack(begin, slice, lanes));
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

// ---- ACKs ----

Result<bool> Worker::Impl::poll() {
    bool changed = false;
    for (std::size_t i = 0; i < kMostBatches; i++) {
        const std::size_t received = OLAF_TRY(batch_.receive(socket_));
        for (std::size_t message = 0; message < received; message++) {
            const auto handled = handle(message);
            if (!handled)
                stats_.rejected.add(handled.error());
            else
                changed |= *handled;
        }
        if (received < batch_.size())
            break;
    }
    return changed;
}

Result<bool> Worker::Impl::wait(std::chrono::nanoseconds timeout) {
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
        if (OLAF_TRY(poll()))
            return true;
        const auto passed = std::chrono::steady_clock::now() - start;
        if (passed >= timeout)
            return false;
        OLAF_TRY(socket_.readable_within(timeout - passed));
    }
}

// True if the weights changed.
Decoded<bool> Worker::Impl::handle(std::size_t message) {
    if (batch_.cut_off(message))
        return std::unexpected(Reject::wrong_length);
    const Ack ack = OLAF_TRY(decode_ack(batch_.bytes(message)));
    if (ack.cluster != options_.cluster)
        return std::unexpected(Reject::unknown_cluster);
    if (ack.worker != options_.worker && ack.worker != OLAF_EVERY_WORKER)
        return std::unexpected(Reject::not_addressed);
    const auto lanes = batch_.lanes(message, ack.lanes);
    if (ack.has_checksum && !checksum_matches(lanes))
        return std::unexpected(Reject::wrong_checksum);
    const Replica::Taken taken = OLAF_TRY(replica_.take(ack, lanes.first(ack.data_lanes())));
    note(ack);
    measure(ack, taken == Replica::Taken::fresh);
    stats_.acks++;
    stats_.stale += taken == Replica::Taken::stale ? 1 : 0;
    return taken == Replica::Taken::fresh;
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

void Worker::Impl::measure(const Ack &ack, bool fresh) {
    const auto now = OwnUpdates::Clock::now();
    last_ack_ = now;
    // An ACK that echoes an update of the future was sent to other workers, too.
    answers_to_all_ |= ack.worker == OLAF_EVERY_WORKER ||
                       static_cast<std::int32_t>(ack.sequence - own_.last()) > 0;
    if (answers_to_all_)
        missed_.saw(ack.model_version, fresh);

    const auto answered = own_.answered(ack.sequence, ack.generated_ns, now);
    if (!answered)
        return;
    const std::int64_t round_trip = answered->round_trip.count();
    const auto lag = static_cast<std::int32_t>(ack.model_version - answered->model_version);
    report_.version_lag = static_cast<std::uint32_t>(std::max(lag, 0));
    report_.update_age_ns = std::max<std::int64_t>(tai_now_ns() - ack.generated_ns, 0);
    report_.round_trip_ns = round_trip;
    if (report_.answered == 0) {
        report_.smoothed_round_trip_ns = report_.least_round_trip_ns = round_trip;
    } else {
        report_.smoothed_round_trip_ns += (round_trip - report_.smoothed_round_trip_ns) / 8;
        report_.least_round_trip_ns = std::min(report_.least_round_trip_ns, round_trip);
    }
    report_.answered++;
}

WorkerReport Worker::Impl::report() const {
    WorkerReport report = report_;
    report.unanswered = own_.unanswered();
    report.acks_lost = missed_.count();
    report.way_mtu = narrow_way();
    return report;
}

// ---- what is public ----

Worker::Worker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Worker::Worker(Worker &&) noexcept = default;
Worker &Worker::operator=(Worker &&) noexcept = default;
Worker::~Worker() = default;

Result<Worker> Worker::make(const WorkerOptions &options) {
    OLAF_TRY(validate(options.packing));
    if (options.worker == OLAF_EVERY_WORKER)
        return fail("make worker", std::to_string(options.worker), 0, {},
                    "that id means every worker");
    const std::size_t room = lanes_in_mtu(options.mtu, options.server.is_ipv6());
    const std::size_t reserved = options.checksum && room > 0 ? 1 : 0;
    const Segments segments =
        OLAF_TRY(Segments::fitting(options.elements, options.packing.format, room - reserved));
    Encoder encoder = OLAF_TRY(Encoder::make(options.packing, options.rounding, options.elements));
    UdpSocket socket = OLAF_TRY(UdpSocket::connected_to(
        options.server, {.receive = options.receive_buffer, .send = options.send_buffer}));
    return Worker(std::make_unique<Impl>(options, std::move(socket), segments, std::move(encoder)));
}

Result<void> Worker::join() {
    return impl_->join();
}
bool Worker::should_send() {
    return impl_->should_send();
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
WorkerReport Worker::report() const {
    return impl_->report();
}
int Worker::fd() const {
    return impl_->socket().fd();
}

} // namespace olaf
