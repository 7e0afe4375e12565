// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/wire/send_batch.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/udp.h>

namespace olaf {
namespace {

// UDP_MAX_SEGMENTS of older kernels, and what fits an IP packet behind any header.
constexpr std::size_t kMostJoined = 64;
constexpr std::size_t kMostBytes = 65'000;

// The kernel knows no UDP_SEGMENT, the device can't sum what the kernel would cut, or IPsec is on
// the way: each kernel has its own word. EMSGSIZE: the single message tells whether it is too long.
bool says_cannot_cut(int code) {
    return code == EINVAL || code == EIO || code == EMSGSIZE || code == EOPNOTSUPP;
}

} // namespace

void SendBatch::add(const olaf_header &header, std::span<const std::uint64_t> lanes, bool joins) {
    const std::size_t bytes = sizeof(header) + lanes.size_bytes();
    headers_[added_] = header;
    parts_[2 * added_] = {.iov_base = &headers_[added_], .iov_len = sizeof(header)};
    parts_[2 * added_ + 1] = {.iov_base = const_cast<std::uint64_t *>(lanes.data()),
                              .iov_len = lanes.size_bytes()};
    Piece *const last = in_use_ == 0 ? nullptr : &pieces_[in_use_ - 1];
    if (joins && last != nullptr && last->each == bytes && last->count < kMostJoined &&
        (last->count + 1) * bytes <= kMostBytes)
        last->count++;
    else
        pieces_[in_use_++] = {.first = added_, .count = 1, .each = joins ? bytes : 0};
    added_++;
}

mmsghdr SendBatch::message_of(const Piece &piece, Control &control) {
    mmsghdr message{};
    message.msg_hdr.msg_iov = &parts_[2 * piece.first];
    message.msg_hdr.msg_iovlen = 2 * piece.count;
    if (piece.count == 1)
        return message;
    message.msg_hdr.msg_control = control.bytes.data();
    message.msg_hdr.msg_controllen = control.bytes.size();
    cmsghdr *const part = CMSG_FIRSTHDR(&message.msg_hdr);
    const auto each = static_cast<std::uint16_t>(piece.each);
    *part = {.cmsg_len = CMSG_LEN(sizeof(each)), .cmsg_level = SOL_UDP, .cmsg_type = UDP_SEGMENT};
    std::memcpy(CMSG_DATA(part), &each, sizeof(each));
    return message;
}

void SendBatch::send_one_by_one(const Piece &piece, const UdpSocket &socket,
                                std::chrono::nanoseconds patience, Sent &sent) {
    for (std::size_t i = piece.first; i < piece.first + piece.count; i++) {
        Control none;
        mmsghdr message = message_of({.first = i, .count = 1}, none);
        const auto one = socket.send(&message, 1, patience);
        sent.unsent += one.unsent;
        if (one.unsent > 0)
            sent.last_errno = one.last_errno;
    }
}

SendBatch::Sent SendBatch::send(const UdpSocket &socket, std::chrono::nanoseconds patience) {
    Sent sent;
    for (std::size_t i = 0; i < in_use_; i++)
        messages_[i] = message_of(pieces_[i], controls_[i]);
    const auto told = socket.send(messages_.data(), in_use_, patience);
    sent.last_errno = told.last_errno;
    for (std::size_t i = 0; i < in_use_; i++) {
        const Piece &piece = pieces_[i];
        const bool taken = messages_[i].msg_len > 0;
        if (taken && piece.count > 1) {
            sent.joined += piece.count;
        } else if (!taken && piece.count > 1 && says_cannot_cut(told.last_errno)) {
            if (!std::exchange(sent.cannot_cut, true))
                sent.last_errno = 0; // of single messages from here on
            send_one_by_one(piece, socket, patience, sent);
        } else if (!taken) {
            sent.unsent += piece.count;
        }
    }
    added_ = in_use_ = 0;
    return sent;
}

} // namespace olaf
