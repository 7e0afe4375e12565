// SPDX-License-Identifier: BSD-2-Clause
#include "round_server_impl.hpp"

#include <random>

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

constexpr auto kLookUpEvery = std::chrono::milliseconds(100);

} // namespace

RoundServer::RoundServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RoundServer::RoundServer(RoundServer &&) noexcept = default;
RoundServer &RoundServer::operator=(RoundServer &&) noexcept = default;
RoundServer::~RoundServer() = default;

Result<RoundServer> RoundServer::make(const RoundServerOptions &options, std::vector<float> weights,
                                      RoundRule rule) {
    if (auto valid = check(options, weights.size(), static_cast<bool>(rule)); !valid)
        return std::unexpected(valid.error());
    auto socket = UdpSocket::bound_to(
        options.bind, {.receive = options.receive_buffer, .send = options.send_buffer});
    if (!socket)
        return std::unexpected(socket.error());
    return RoundServer(std::make_unique<Impl>(options, random_generation(), std::move(*socket),
                                              std::move(weights), std::move(rule)));
}

Result<std::size_t> RoundServer::receive(std::chrono::nanoseconds timeout) {
    return impl_->receive(timeout);
}

Result<void> RoundServer::serve(const std::stop_token &stop) {
    while (!stop.stop_requested())
        if (const auto received = impl_->receive(kLookUpEvery); !received)
            return std::unexpected(received.error());
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
