// SPDX-License-Identifier: BSD-2-Clause
// ACKs on their way out: many go to the kernel in one sendmmsg(), and those to several
// workers share one copy of the weights. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>

#include <olaf/message.hpp>

#include "udp_socket.hpp"

namespace olaf {

class AckOutbox {
  public:
    AckOutbox();

    /// Room for the payload of the ACKs added next. Valid until the next call of payload()
    /// or flush(). Precondition: lanes <= OLAF_MAX_LANES.
    std::span<std::uint64_t> payload(const UdpSocket &socket, std::size_t lanes);
    /// One ACK with the latest payload, which `header` must agree with.
    void add(const UdpSocket &socket, const olaf_header &header, const Address &to);
    void flush(const UdpSocket &socket);

    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] std::uint64_t unsent() const { return unsent_; }

  private:
    struct Message {
        olaf_header header;
        Address to;
        iovec parts[2];
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

} // namespace olaf
