// SPDX-License-Identifier: BSD-2-Clause
// Buffers for one recvmmsg(), aligned so that lanes can be read in place.
#pragma once

#include <cstddef>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>

#include <olaf/message.hpp>

#include "endpoints/wire/asked.hpp"
#include "endpoints/wire/udp_socket.hpp"

namespace olaf {

/// Bounds a poll() under a flood: further messages wait for the next call.
constexpr std::size_t kMostBatches = 64;

/// Not thread-safe. Moving it keeps the buffers where they are.
class ReceiveBatch {
  public:
    explicit ReceiveBatch(std::size_t size)
        : frames_(size), sources_(size), parts_(size), headers_(size) {}

    /// What has arrived, at most the batch's size; doesn't wait.
    [[nodiscard]] Result<std::size_t> receive(const UdpSocket &socket) {
        if (socket.tells_asked())
            controls_.resize(headers_.size());
        for (std::size_t i = 0; i < headers_.size(); i++) {
            parts_[i] = {.iov_base = &frames_[i], .iov_len = message_size(OLAF_MAX_LANES)};
            headers_[i] = {};
            headers_[i].msg_hdr.msg_name = &sources_[i];
            headers_[i].msg_hdr.msg_namelen = sizeof(sources_[i]);
            headers_[i].msg_hdr.msg_iov = &parts_[i];
            headers_[i].msg_hdr.msg_iovlen = 1;
            if (controls_.empty())
                continue;
            headers_[i].msg_hdr.msg_control = controls_[i].bytes.data();
            headers_[i].msg_hdr.msg_controllen = controls_[i].bytes.size();
        }
        return socket.receive(headers_.data(), headers_.size());
    }

    /// Longer than any message: the kernel cut it off.
    [[nodiscard]] bool cut_off(std::size_t i) const {
        return (headers_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0;
    }
    [[nodiscard]] std::span<const std::byte> bytes(std::size_t i) const {
        return frames_[i].bytes(headers_[i].msg_len);
    }
    /// Precondition: the message was decoded, so that it has that many.
    [[nodiscard]] std::span<const std::uint64_t> lanes(std::size_t i, std::size_t count) const {
        return std::span(frames_[i].lanes).first(count);
    }
    [[nodiscard]] Address source(std::size_t i) const { return Address::from(sources_[i]); }
    /// The address of this host that it was sent to; unspecified where the socket has but one.
    [[nodiscard]] Address asked(std::size_t i) {
        return controls_.empty() ? Address() : asked_of(headers_[i].msg_hdr);
    }
    [[nodiscard]] std::size_t size() const { return frames_.size(); }

  private:
    std::vector<Frame> frames_;
    std::vector<sockaddr_storage> sources_;
    std::vector<iovec> parts_;
    std::vector<mmsghdr> headers_;
    std::vector<AskedControl> controls_; // empty: the socket tells nothing
};

} // namespace olaf
