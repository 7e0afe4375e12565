// SPDX-License-Identifier: BSD-2-Clause
#include "round_server_impl.hpp"

namespace olaf {
namespace {

// How long a message waits for room in the socket's buffer. Then it's lost, as any may be.
constexpr auto kPatience = std::chrono::milliseconds(10);

} // namespace

Result<std::size_t> RoundServer::Impl::receive(std::chrono::nanoseconds timeout) {
    const auto ready = socket_.readable_within(timeout);
    if (!ready)
        return std::unexpected(ready.error());
    const auto received = *ready ? batch_.receive(socket_) : std::size_t{0};
    if (!received)
        return received;
    for (std::size_t message = 0; message < *received; message++)
        if (const auto handled = handle(message); !handled)
            counts_.rejected.add(handled.error());
    return received;
}

Decoded<void> RoundServer::Impl::handle(std::size_t message) {
    if (batch_.cut_off(message))
        return std::unexpected(Reject::wrong_length);
    const auto bytes = batch_.bytes(message);
    const auto type = decode_type(bytes);
    if (!type)
        return std::unexpected(type.error());
    if (*type == OLAF_CONTROL) {
        const auto sync = decode_sync(bytes);
        if (!sync)
            return std::unexpected(sync.error());
        if (auto admitted = admit(sync->rank, batch_.source(message)); !admitted)
            return admitted;
        return root_.sync(*sync);
    }
    const auto contribution = decode_contribution(bytes);
    if (!contribution)
        return std::unexpected(contribution.error());
    if (auto admitted = admit(contribution->rank, batch_.source(message)); !admitted)
        return admitted;
    return root_.contribution(*contribution, batch_.lanes(message, contribution->lanes));
}

// A rank is bound to its source until that has been silent for long.
Decoded<void> RoundServer::Impl::admit(std::uint32_t rank, const Address &source) {
    if (rank >= options_.children)
        return std::unexpected(Reject::not_addressed);
    Child &child = children_[rank];
    const auto now = Clock::now();
    if (child.known && !(child.address == source) && now - child.heard < options_.member_timeout)
        return std::unexpected(Reject::not_addressed);
    child = {.address = source, .heard = now, .known = true};
    return {};
}

void RoundServer::Impl::send(std::uint32_t rank, const olaf_header &header,
                             std::span<const std::uint64_t> lanes) {
    Child &child = children_[rank];
    if (!child.known)
        return; // it asks once it is there
    olaf_header copy = header;
    auto *const data = const_cast<std::uint64_t *>(lanes.data());
    std::array<iovec, 2> parts = {iovec{.iov_base = &copy, .iov_len = sizeof(copy)},
                                  iovec{.iov_base = data, .iov_len = lanes.size_bytes()}};
    mmsghdr message = {};
    message.msg_hdr.msg_name = const_cast<sockaddr *>(child.address.data());
    message.msg_hdr.msg_namelen = child.address.size();
    message.msg_hdr.msg_iov = parts.data();
    message.msg_hdr.msg_iovlen = lanes.empty() ? 1 : 2;
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

} // namespace olaf
