// SPDX-License-Identifier: BSD-2-Clause
// Messages for one sendmmsg(). Neighbours of one length may be handed to the kernel in one piece
// (UDP_SEGMENT): it passes the host's stack once, and the kernel or the NIC cuts it into datagrams.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>

#include <olaf/protocol.h>

#include "endpoints/wire/udp_socket.hpp"

namespace olaf {

/// Not thread-safe.
class SendBatch {
  public:
    explicit SendBatch(std::size_t size)
        : headers_(size), parts_(2 * size), pieces_(size), messages_(size), controls_(size) {}

    [[nodiscard]] bool is_full() const { return added_ == headers_.size(); }

    /// The lanes must stay where they are until send(). `joins`: the message may be in one piece
    /// with its neighbours, if they may, too. Precondition: !is_full().
    void add(const olaf_header &header, std::span<const std::uint64_t> lanes, bool joins);

    struct Sent {
        std::size_t joined = 0;  ///< messages that the kernel took in one piece with others
        std::size_t unsent = 0;  ///< messages lost here, as in UdpSocket::Sent
        int last_errno = 0;      ///< of the last of these
        bool cannot_cut = false; ///< a piece was refused: its messages were sent singly
    };
    /// Sends all messages as UdpSocket::send() does, and forgets them. Where a piece is refused,
    /// waits once more for `patience` at most.
    Sent send(const UdpSocket &socket, std::chrono::nanoseconds patience);

  private:
    struct Piece {
        std::size_t first = 0, count = 0; // messages
        std::size_t each = 0;             // bytes of each of them; 0: the piece takes no other one
    };
    struct Control {
        alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
    };
    mmsghdr message_of(const Piece &piece, Control &control);

    std::vector<olaf_header> headers_;
    std::vector<iovec> parts_; // two of each message: its header, its lanes
    std::vector<Piece> pieces_;
    std::vector<mmsghdr> messages_; // one of each piece
    std::vector<Control> controls_; // one of each piece
    std::size_t added_ = 0;         // messages
    std::size_t in_use_ = 0;        // pieces
};

} // namespace olaf
