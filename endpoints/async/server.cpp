// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/parameter_server.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>

#include <olaf/clock.hpp>
#include <olaf/message.hpp>
#include <olaf/try.hpp>

#include "endpoints/wire/asked.hpp"
#include "endpoints/wire/receive_batch.hpp"

namespace olaf {
namespace {

constexpr std::size_t kPayloads = 32;
constexpr std::size_t kMessages = 64;
// ACKs are worth little later: rather lose them than keep updates waiting.
constexpr auto kPatience = std::chrono::milliseconds(5);

// ACKs on their way out: many go to the kernel in one sendmmsg(), and those to several workers
// share one copy of the weights.
class AckOutbox {
  public:
    AckOutbox();

    /// Room for the payload of the ACKs added next. Valid until the next call of payload()
    /// or flush(). Precondition: lanes <= OLAF_MAX_LANES.
    std::span<std::uint64_t> payload(const UdpSocket &socket, std::size_t lanes);
    /// One ACK with the latest payload, which `header` must agree with, from the address that was
    /// asked.
    void add(const UdpSocket &socket, const olaf_header &header, const Address &to,
             const Address &asked);
    void flush(const UdpSocket &socket);

    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] std::uint64_t unsent() const { return unsent_; }

  private:
    struct Message {
        olaf_header header;
        Address to;
        iovec parts[2];
        AskedControl control;
    };
    struct Payload {
        std::uint64_t lanes[OLAF_MAX_LANES];
    };

    void send(const UdpSocket &socket);

    std::vector<Payload> payloads_;
    std::size_t payloads_used_ = 0;
    std::span<std::uint64_t> latest_;
    std::vector<Message> messages_; // of a fixed size, so that headers_ may point into it
    std::vector<mmsghdr> headers_;
    std::size_t queued_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t unsent_ = 0;
};

AckOutbox::AckOutbox() : payloads_(kPayloads), messages_(kMessages), headers_(kMessages) {}

std::span<std::uint64_t> AckOutbox::payload(const UdpSocket &socket, std::size_t lanes) {
    if (payloads_used_ == payloads_.size())
        flush(socket);
    latest_ = std::span(payloads_[payloads_used_++].lanes).first(lanes);
    return latest_;
}

void AckOutbox::add(const UdpSocket &socket, const olaf_header &header, const Address &to,
                    const Address &asked) {
    if (queued_ == messages_.size())
        send(socket);
    Message &message = messages_[queued_];
    message.header = header;
    message.to = to;
    message.parts[0] = {.iov_base = &message.header, .iov_len = sizeof(message.header)};
    message.parts[1] = {.iov_base = latest_.data(), .iov_len = latest_.size_bytes()};

    msghdr &entry = headers_[queued_].msg_hdr;
    entry = {};
    entry.msg_name = const_cast<sockaddr *>(message.to.data()); // the kernel only reads it
    entry.msg_namelen = message.to.size();
    entry.msg_iov = message.parts;
    entry.msg_iovlen = 2;
    answer_from(asked, entry, message.control);
    queued_++;
}

void AckOutbox::flush(const UdpSocket &socket) {
    send(socket);
    payloads_used_ = 0;
    latest_ = {};
}

void AckOutbox::send(const UdpSocket &socket) {
    if (queued_ == 0)
        return;
    const UdpSocket::Sent result = socket.send(headers_.data(), queued_, kPatience);
    sent_ += result.sent;
    unsent_ += result.unsent;
    queued_ = 0;
}

} // namespace

class ParameterServer::Impl {
  public:
    Impl(const ServerOptions &options, UdpSocket socket)
        : options_(options), socket_(std::move(socket)), batch_(kBatch) {}

    Result<void> add_cluster(ClusterSettings settings);
    Result<std::size_t> receive(std::chrono::nanoseconds timeout);
    Result<std::optional<PendingUpdate>> next(std::chrono::nanoseconds timeout);
    void finish(bool changed);
    ServerStats stats() const;

    const UdpSocket &socket() const { return socket_; }
    const Cluster *cluster(std::uint32_t id) const {
        const auto found = clusters_.find(id);
        return found == clusters_.end() ? nullptr : &found->second.cluster;
    }

  private:
    static constexpr std::size_t kBatch = 32; // datagrams

    // What an ACK says of the message it answers.
    struct Answered {
        std::uint32_t worker;
        std::uint32_t sequence;
        std::int64_t generated_ns;
        Address source;
        Address asked; // of this host
    };
    struct Served {
        Cluster cluster;
        Segments acks; // how the weights are cut
    };

    // Accepted by next(), to be finished.
    struct Pending {
        Served *served;
        Contribution contribution;
        Answered answered;
        std::int64_t delivered_ns;
    };

    Result<bool> fill(std::chrono::nanoseconds timeout);
    Decoded<void> handle(std::size_t message);
    Decoded<void> accept(std::size_t message);
    Decoded<void> handle_update(std::size_t message);
    Decoded<void> handle_join(std::size_t message);
    Decoded<Served *> find(std::uint32_t cluster);
    Decoded<Served *> find_or_admit(const Update &update);
    void answer(const Served &served, Slice slice, const Answered &answered, bool to_all);

    ServerOptions options_;
    UdpSocket socket_;
    ReceiveBatch batch_;
    std::size_t received_ = 0; // messages in the batch
    std::size_t handled_ = 0;  // of those
    std::optional<Pending> pending_;
    AckOutbox outbox_;
    std::map<std::uint32_t, Served> clusters_; // nodes: cluster() hands out addresses
    ServerStats stats_;
};

Result<void> ParameterServer::Impl::add_cluster(ClusterSettings settings) {
    const std::uint32_t id = settings.cluster;
    if (clusters_.contains(id))
        return fail("add cluster", std::to_string(id), 0, {}, "it exists already");
    Cluster cluster = OLAF_TRY(Cluster::make(std::move(settings)));
    const Segments acks =
        OLAF_TRY(Segments::fitting(cluster.weights().size(), Format::f32x2,
                                   lanes_in_mtu(options_.mtu, options_.bind.is_ipv6())));
    clusters_.emplace(id, Served{.cluster = std::move(cluster), .acks = acks});
    return {};
}

ServerStats ParameterServer::Impl::stats() const {
    ServerStats stats = stats_;
    stats.acks_sent = outbox_.sent();
    stats.acks_unsent = outbox_.unsent();
    return stats;
}

// ---- receive(), and the ACKs that it sends ----

// Gets a new batch if the last one is all handled. False if the time was over.
Result<bool> ParameterServer::Impl::fill(std::chrono::nanoseconds timeout) {
    if (handled_ < received_)
        return true;
    if (!OLAF_TRY(socket_.readable_within(timeout)))
        return false;
    received_ = OLAF_TRY(batch_.receive(socket_));
    handled_ = 0;
    stats_.datagrams += received_;
    return true;
}

Result<std::size_t> ParameterServer::Impl::receive(std::chrono::nanoseconds timeout) {
    finish(false);
    OLAF_TRY(fill(timeout));
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
    switch (OLAF_TRY(decode_type(batch_.bytes(message)))) {
    case OLAF_UPDATE:
        return handle_update(message);
    case OLAF_CONTROL:
        return handle_join(message);
    default:
        return std::unexpected(Reject::wrong_type);
    }
}

Decoded<void> ParameterServer::Impl::handle_update(std::size_t message) {
    const Update update = OLAF_TRY(decode_update(batch_.bytes(message)));
    Served &served = *OLAF_TRY(find_or_admit(update));
    const Slice slice =
        OLAF_TRY(served.cluster.apply(update, batch_.lanes(message, update.lanes), tai_now_ns()));
    const Address source = batch_.source(message);
    const Address asked = batch_.asked(message);
    served.cluster.workers().count(update.worker, source, update.sequence, asked);
    answer(served, slice,
           {.worker = update.worker,
            .sequence = update.sequence,
            .generated_ns = update.generated_ns,
            .source = source,
            .asked = asked},
           options_.ack_all_known_workers);
    return {};
}

Decoded<void> ParameterServer::Impl::handle_join(std::size_t message) {
    const Join join = OLAF_TRY(decode_join(batch_.bytes(message)));
    Served &served = *OLAF_TRY(find(join.cluster));
    const Address source = batch_.source(message);
    const Address asked = batch_.asked(message);
    served.cluster.joined(join.worker, source, asked);
    answer(served, {.begin = 0, .end = served.acks.elements()},
           {.worker = join.worker,
            .sequence = join.sequence,
            .generated_ns = join.generated_ns,
            .source = source,
            .asked = asked},
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
        const auto send_to = [&](std::uint32_t worker, const Address &address,
                                 const Address &asked) {
            ack.worker = options_.address_every_worker ? OLAF_EVERY_WORKER : worker;
            outbox_.add(socket_, encode(ack), address, asked);
        };
        if (!to_all) {
            send_to(answered.worker, answered.source, answered.asked);
            continue;
        }
        for (const auto &[worker, known] : served.cluster.workers().all())
            send_to(worker, known.address, known.asked);
    }
}

// ---- next() and finish() ----

Result<std::optional<PendingUpdate>> ParameterServer::Impl::next(std::chrono::nanoseconds timeout) {
    finish(false);
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
        const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - start;
        const bool filled = OLAF_TRY(fill(std::max(std::chrono::nanoseconds(0), timeout - passed)));
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
        if (!filled || passed >= timeout) // a flood of joins doesn't keep the caller
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
    Served *const served = OLAF_TRY(find_or_admit(*update));
    const Contribution contribution =
        OLAF_TRY(served->cluster.accept(*update, batch_.lanes(message, update->lanes)));
    pending_ = Pending{.served = served,
                       .contribution = contribution,
                       .answered = {.worker = update->worker,
                                    .sequence = update->sequence,
                                    .generated_ns = update->generated_ns,
                                    .source = batch_.source(message),
                                    .asked = batch_.asked(message)},
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
                            update.answered.sequence, update.answered.asked);
    answer(*update.served, update.contribution.slice, update.answered,
           options_.ack_all_known_workers);
    outbox_.flush(socket_);
}

// ---- what is public ----

ParameterServer::ParameterServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ParameterServer::ParameterServer(ParameterServer &&) noexcept = default;
ParameterServer &ParameterServer::operator=(ParameterServer &&) noexcept = default;
ParameterServer::~ParameterServer() = default;

Result<ParameterServer> ParameterServer::make(const ServerOptions &options) {
    UdpSocket socket = OLAF_TRY(UdpSocket::bound_to(
        options.bind, {.receive = options.receive_buffer, .send = options.send_buffer}));
    return ParameterServer(std::make_unique<Impl>(options, std::move(socket)));
}

Result<void> ParameterServer::add_cluster(ClusterSettings settings) {
    return impl_->add_cluster(std::move(settings));
}

Result<std::size_t> ParameterServer::receive(std::chrono::nanoseconds timeout) {
    return impl_->receive(timeout);
}

Result<std::optional<PendingUpdate>> ParameterServer::next(std::chrono::nanoseconds timeout) {
    return impl_->next(timeout);
}

void ParameterServer::finish(bool changed) {
    impl_->finish(changed);
}

Result<void> ParameterServer::serve(std::stop_token stop) {
    while (!stop.stop_requested())
        OLAF_TRY(receive(std::chrono::milliseconds(100)));
    return {};
}

Result<Address> ParameterServer::local_address() const {
    return impl_->socket().local();
}
int ParameterServer::fd() const {
    return impl_->socket().fd();
}
const Cluster *ParameterServer::cluster(std::uint32_t id) const {
    return impl_->cluster(id);
}
ServerStats ParameterServer::stats() const {
    return impl_->stats();
}

} // namespace olaf
