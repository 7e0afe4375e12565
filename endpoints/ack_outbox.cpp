// SPDX-License-Identifier: BSD-2-Clause
#include "ack_outbox.hpp"

#include <chrono>

namespace olaf {
namespace {

constexpr std::size_t kPayloads = 32;
constexpr std::size_t kMessages = 64;
// ACKs are worth little later: rather lose them than keep updates waiting.
constexpr auto kPatience = std::chrono::milliseconds(5);

} // namespace

AckOutbox::AckOutbox() : payloads_(kPayloads), messages_(kMessages), headers_(kMessages) {}

std::span<std::uint64_t> AckOutbox::payload(const UdpSocket &socket, std::size_t lanes) {
    if (payloads_used_ == payloads_.size())
        flush(socket);
    latest_ = std::span(payloads_[payloads_used_++].lanes).first(lanes);
    return latest_;
}

void AckOutbox::add(const UdpSocket &socket, const olaf_header &header, const Address &to) {
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

} // namespace olaf
