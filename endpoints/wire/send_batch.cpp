// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/wire/send_batch.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

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

SendBatch::Sent SendBatch::send(const UdpSocket &socket, std::chrono::nanoseconds patience) {
    Sent sent;
    for (std::size_t i = 0; i < in_use_; i++)
        messages_[i] = message_of(pieces_[i], controls_[i]);
    const auto told = socket.send(messages_.data(), in_use_, patience);
    sent.last_errno = told.last_errno;
    std::vector<mmsghdr> single; // of the pieces that this host can't cut
    for (std::size_t i = 0; i < in_use_; i++) {
        const auto [first, count, each] = pieces_[i];
        if (messages_[i].msg_len > 0)
            sent.joined += count > 1 ? count : 0;
        else if (count == 1 || !says_cannot_cut(told.last_errno))
            sent.unsent += count;
        else
            for (std::size_t message = first; message < first + count; message++)
                single.push_back(message_of({.first = message, .count = 1}, controls_[i]));
    }
    if (!single.empty()) {
        const auto again = socket.send(single.data(), single.size(), patience);
        sent.cannot_cut = true;
        sent.unsent += again.unsent;
        sent.last_errno = again.last_errno;
    }
    added_ = in_use_ = 0;
    return sent;
}

} // namespace olaf
