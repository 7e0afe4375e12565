// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/round_server.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <olaf/try.hpp>

#include "endpoints/rounds/exponent_guess.hpp"
#include "endpoints/rounds/root.hpp"
#include "endpoints/rounds/run.hpp"
#include "endpoints/wire/asked.hpp"
#include "endpoints/wire/block_exponent.hpp"
#include "endpoints/wire/receive_batch.hpp"
#include "endpoints/wire/udp_socket.hpp"

namespace olaf {
namespace {

Result<void> check(const RoundServerOptions &options, std::size_t weights, bool has_rule) {
    const auto refuse = [&](std::string reason) {
        return fail("serve", "job " + std::to_string(options.job), 0, {}, std::move(reason));
    };
    if (options.job == OLAF_EVERY_WORKER)
        return refuse("that id is nobody's");
    if (options.children == 0 || options.children > OLAF_RANKS)
        return refuse("it has 1 to " + std::to_string(OLAF_RANKS) + " children");
    if (options.workers < options.children)
        return refuse("each child has at least one of its workers");
    if (options.lanes < (options.checksum ? 2 : 1) || options.lanes > OLAF_MAX_LANES)
        return refuse("say how many lanes a frame has, as at the workers");
    if (options.pool > kMostPool)
        return refuse("at most 2^" + std::to_string(kMostPool) + " chunks can be under way");
    if (options.ahead == 0)
        return refuse("exponents must travel ahead by at least one chunk");
    if (weights == 0 || !has_rule)
        return refuse("it needs weights, and a rule for them");
    return validate({.format = options.format, .max_count = options.workers});
}

std::uint32_t random_generation() {
    std::random_device device;
    return std::uniform_int_distribution<std::uint32_t>(1)(device);
}

constexpr auto kStopIsSeenWithin = std::chrono::milliseconds(100);

// How long a message waits for room in the socket's buffer. Then it is lost, as on the network.
constexpr auto kPatience = std::chrono::milliseconds(10);

} // namespace

class RoundServer::Impl : private RoundRootUser {
  public:
    Impl(const RoundServerOptions &options, const olaf_run &only, UdpSocket socket,
         std::vector<float> weights, RoundRule rule);

    Result<std::size_t> receive(std::chrono::nanoseconds timeout);
    RoundServerStats stats() const;
    const UdpSocket &socket() const { return socket_; }
    std::span<const float> weights() const { return weights_; }

  private:
    using Clock = std::chrono::steady_clock;
    // Where a child sends from, and is answered.
    struct Child {
        Address address = {};
        Address asked = {}; // of this host: what it hears answers from
        Clock::time_point heard = {};
        bool known = false;
    };

    // RoundRootUser
    std::optional<VectorIdentity> wants(const VectorIdentity &vector) const override;
    void answer(RoundTotal &total, std::span<std::uint64_t> lanes) override;
    void send(std::uint32_t rank, const olaf_header &header,
              std::span<const std::uint64_t> lanes) override;
    void reply(std::uint32_t rank, const olaf_header &header,
               std::span<const std::uint64_t> lanes) override;
    bool admit(std::uint32_t rank) override;
    bool knows(std::uint32_t rank) const override;
    void begin_run() override;

    Decoded<void> handle(std::size_t message);
    void refuse(std::size_t message, Reject reason);
    void send_to(const Address &to, const Address &asked, const olaf_header &header,
                 std::span<const std::uint64_t> lanes);
    std::span<float> piece(std::uint32_t number);
    std::int16_t exponent_for(std::uint32_t number, std::int16_t contributed);
    void answer_piece(const RoundTotal &total, std::uint32_t number,
                      std::span<std::uint64_t> lanes);

    RoundServerOptions options_;
    UdpSocket socket_;
    ReceiveBatch batch_{32};
    Address source_ = {};        // of the message that is being taken in
    Address asked_ = {};         // what it was sent to
    Clock::time_point now_ = {}; // when it is
    std::array<Child, OLAF_RANKS> children_ = {};
    RoundServerStats counts_; // what the root doesn't count

    std::vector<float> weights_;
    RoundRule rule_;
    FloatPieces pieces_; // of the weights
    // Told to the workers, of pieces whose data hasn't come: by round and piece.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int16_t> exponents_;
    std::vector<float> sum_;
    RoundRoot root_;
};

// ---- messages ----

Result<std::size_t> RoundServer::Impl::receive(std::chrono::nanoseconds timeout) {
    if (!OLAF_TRY(socket_.readable_within(timeout)))
        return 0;
    const std::size_t received = OLAF_TRY(batch_.receive(socket_));
    for (std::size_t message = 0; message < received; message++)
        if (const auto handled = handle(message); !handled)
            refuse(message, handled.error());
    return received;
}

void RoundServer::Impl::refuse(std::size_t message, Reject reason) {
    counts_.rejected.add(reason);
    if (reason != Reject::wrong_version)
        return;
    if (const auto answer = version_answer(batch_.bytes(message)))
        send_to(batch_.source(message), batch_.asked(message), *answer, {});
}

Decoded<void> RoundServer::Impl::handle(std::size_t message) {
    if (batch_.cut_off(message))
        return std::unexpected(Reject::wrong_length);
    const auto bytes = batch_.bytes(message);
    source_ = batch_.source(message);
    asked_ = batch_.asked(message);
    now_ = Clock::now();
    const RoundRoot::Time now = now_.time_since_epoch();
    if (OLAF_TRY(decode_type(bytes)) == OLAF_CONTROL)
        return root_.sync(OLAF_TRY(decode_sync(bytes)), now);
    const RoundContribution contribution = OLAF_TRY(decode_contribution(bytes));
    return root_.contribution(contribution, batch_.lanes(message, contribution.lanes), now);
}

// A rank is bound to its source until that source was silent for options.member_timeout.
bool RoundServer::Impl::admit(std::uint32_t rank) {
    Child &child = children_[rank];
    if (child.known && !(child.address == source_) && now_ - child.heard < options_.member_timeout)
        return false;
    child = {.address = source_, .asked = asked_, .heard = now_, .known = true};
    return true;
}

bool RoundServer::Impl::knows(std::uint32_t rank) const {
    return children_[rank].known && children_[rank].address == source_;
}

void RoundServer::Impl::begin_run() {
    children_ = {};
    exponents_.clear();
}

void RoundServer::Impl::send(std::uint32_t rank, const olaf_header &header,
                             std::span<const std::uint64_t> lanes) {
    if (children_[rank].known) // else the child asks once it is there
        send_to(children_[rank].address, children_[rank].asked, header, lanes);
}

void RoundServer::Impl::reply(std::uint32_t, const olaf_header &header,
                              std::span<const std::uint64_t> lanes) {
    send_to(source_, asked_, header, lanes);
}

void RoundServer::Impl::send_to(const Address &to, const Address &asked, const olaf_header &header,
                                std::span<const std::uint64_t> lanes) {
    olaf_header copy = header;
    auto *const data = const_cast<std::uint64_t *>(lanes.data());
    std::array<iovec, 2> parts = {iovec{.iov_base = &copy, .iov_len = sizeof(copy)},
                                  iovec{.iov_base = data, .iov_len = lanes.size_bytes()}};
    mmsghdr message = {};
    message.msg_hdr.msg_name = const_cast<sockaddr *>(to.data());
    message.msg_hdr.msg_namelen = to.size();
    message.msg_hdr.msg_iov = parts.data();
    message.msg_hdr.msg_iovlen = lanes.empty() ? 1 : 2;
    AskedControl control;
    answer_from(asked, message.msg_hdr, control);
    counts_.unsent += socket_.send(&message, 1, kPatience).unsent;
}

RoundServerStats RoundServer::Impl::stats() const {
    RoundServerStats all = root_.stats();
    all.unsent = counts_.unsent;
    all.not_finite = counts_.not_finite;
    all.clipped = counts_.clipped;
    all.rejected += counts_.rejected;
    return all;
}

// ---- weights ----
//
// As at the workers (vectors.cpp), chunk c brings the exponent of piece c, and the data of piece
// c - lag. The exponent that all agree on covers the weights, too, since they go back with it.

RoundServer::Impl::Impl(const RoundServerOptions &options, const olaf_run &only, UdpSocket socket,
                        std::vector<float> weights, RoundRule rule)
    : options_(options), socket_(std::move(socket)), weights_(std::move(weights)),
      rule_(std::move(rule)),
      pieces_(cut_floats(options.format, options.lanes - (options.checksum ? 1U : 0U),
                         weights_.size(), options.ahead)),
      sum_(pieces_.each), root_(options_, random_generation(), *this, only) {}

std::span<float> RoundServer::Impl::piece(std::uint32_t number) {
    const std::size_t begin = number * pieces_.each;
    return std::span(weights_).subspan(begin, std::min(pieces_.each, weights_.size() - begin));
}

// Workers have vectors of the weights' length. Whether they divide the sum is their matter: weights
// come back, whose kind is what they say.
std::optional<VectorIdentity> RoundServer::Impl::wants(const VectorIdentity &vector) const {
    const auto mine = [&](olaf_content plain, olaf_content guessed) {
        const std::size_t last = weights_.size() - (pieces_.pieces - 1) * pieces_.each;
        return VectorIdentity{.chunks = pieces_.pieces + pieces_.lag,
                              .kind = {.workers = static_cast<std::uint16_t>(options_.workers),
                                       .content = pieces_.guesses ? guessed : plain,
                                       .last = static_cast<std::uint16_t>(last)}};
    };
    const VectorIdentity sum = mine(OLAF_CONTENT_FLOAT_SUM, OLAF_CONTENT_GUESSED_SUM);
    const bool is_untold = vector.kind == VectorKind{} && vector.chunks == sum.chunks;
    if (is_untold || (vector.chunks == sum.chunks && adds_up(vector.kind, sum.kind)))
        return {};
    return sum;
}

// Has room for twice the sum of all contributions, and for weights twice as large as now.
std::int16_t RoundServer::Impl::exponent_for(std::uint32_t number, std::int16_t contributed) {
    const std::int16_t own = exponent_of(piece(number));
    if (contributed == kNotFinite || own == kNotFinite)
        return kNotFinite;
    if (contributed == kAllZero && own == kAllZero)
        return kAllZero;
    const int sum =
        contributed == kAllZero ? own : contributed + std::bit_width(options_.workers - 1);
    return static_cast<std::int16_t>(std::max<int>(sum, own) + 1);
}

void RoundServer::Impl::answer(RoundTotal &total, std::span<std::uint64_t> lanes) {
    if (total.chunks == kFarewellChunks)
        return; // nothing but zeros
    const std::uint32_t chunk = total.chunk;
    if (chunk >= pieces_.lag)
        answer_piece(total, chunk - pieces_.lag, lanes);
    else
        std::ranges::fill(lanes, 0); // the sum of data packed by guesses isn't the answer
    if (chunk < pieces_.pieces) {
        total.exponent = exponent_for(chunk, total.exponent);
        exponents_[{total.round, chunk}] = total.exponent;
    }
}

void RoundServer::Impl::answer_piece(const RoundTotal &total, std::uint32_t number,
                                     std::span<std::uint64_t> lanes) {
    const auto told = exponents_.find({total.round, number});
    // Missing only if a child sent data before it had the exponent, against the rules.
    const std::int16_t exponent = told == exponents_.end() ? kNotFinite : told->second;
    const auto weights = piece(number);
    const auto used = lanes.first(lanes_for(options_.format, weights.size()));
    const auto sum = std::span(sum_).first(weights.size());
    if (exponent == kNotFinite) {
        std::ranges::fill(lanes, 0); // at the workers NaN, whatever it is
        counts_.not_finite += weights.size();
    } else {
        unpack_block(options_.format, options_.workers, exponent, used, sum);
        rule_({.round = total.round,
               .begin = number * pieces_.each,
               .sum = sum,
               .count = total.count,
               .partial = total.partial,
               .generated_ns = total.generated_ns},
              weights);
        counts_.clipped += pack_block(options_.format, options_.workers, exponent, weights, used);
    }
    if (told != exponents_.end())
        exponents_.erase(told); // not before the rule, which may throw
}

// ---- what is public ----

RoundServer::RoundServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RoundServer::RoundServer(RoundServer &&) noexcept = default;
RoundServer &RoundServer::operator=(RoundServer &&) noexcept = default;
RoundServer::~RoundServer() = default;

Result<RoundServer> RoundServer::make(const RoundServerOptions &options, std::vector<float> weights,
                                      RoundRule rule) {
    OLAF_TRY(check(options, weights.size(), static_cast<bool>(rule)));
    olaf_run only = {};
    if (!options.run.empty())
        only = {.training =
                    OLAF_TRY(alias_of(options.run, "serve", "job " + std::to_string(options.job))),
                .number = options.run_number};
    UdpSocket socket = OLAF_TRY(UdpSocket::bound_to(
        options.bind, {.receive = options.receive_buffer, .send = options.send_buffer}));
    return RoundServer(std::make_unique<Impl>(options, only, std::move(socket), std::move(weights),
                                              std::move(rule)));
}

Result<std::size_t> RoundServer::receive(std::chrono::nanoseconds timeout) {
    return impl_->receive(timeout);
}

Result<void> RoundServer::serve(const std::stop_token &stop) {
    while (!stop.stop_requested())
        OLAF_TRY(impl_->receive(kStopIsSeenWithin));
    return {};
}

Result<Address> RoundServer::local_address() const {
    return impl_->socket().local();
}
int RoundServer::fd() const {
    return impl_->socket().fd();
}
std::span<const float> RoundServer::weights() const {
    return impl_->weights();
}
RoundServerStats RoundServer::stats() const {
    return impl_->stats();
}

} // namespace olaf
