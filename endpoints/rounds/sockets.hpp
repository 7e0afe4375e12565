// SPDX-License-Identifier: BSD-2-Clause
// What a worker of a job hears its node by: its own socket, and the group that results come to, if
// they do.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include <olaf/address.hpp>
#include <olaf/result.hpp>

#include "endpoints/wire/udp_socket.hpp"

namespace olaf {

/// Not thread-safe.
class RoundSockets {
  public:
    /// Joins the group, unless it is unspecified, on the device by which the node is reached. From
    /// there only what the node sends is heard. Fails if the group isn't a multicast address of the
    /// node's IP version.
    [[nodiscard]] static Result<RoundSockets> open(const Address &node, const Address &group,
                                                   UdpSocket::Buffers buffers);

    RoundSockets(RoundSockets &&other) noexcept
        : node_(std::move(other.node_)), group_(std::move(other.group_)),
          either_(std::exchange(other.either_, -1)) {}
    RoundSockets &operator=(RoundSockets &&) = delete;
    ~RoundSockets();

    [[nodiscard]] const UdpSocket &node() const { return node_; }
    /// Null: results come to this worker alone.
    [[nodiscard]] const UdpSocket *group() const { return group_ ? &*group_ : nullptr; }

    /// Readable when either has a message: for event loops.
    [[nodiscard]] int fd() const { return group_ ? either_ : node_.fd(); }
    /// Waits until either has one, or the time is over (false).
    [[nodiscard]] Result<bool> readable_within(std::chrono::nanoseconds timeout) const {
        return is_readable_within(fd(), timeout);
    }

  private:
    RoundSockets(UdpSocket node, std::optional<UdpSocket> group, int either)
        : node_(std::move(node)), group_(std::move(group)), either_(either) {}

    UdpSocket node_;
    std::optional<UdpSocket> group_;
    int either_; // epoll of both; -1: there is one
};

} // namespace olaf
