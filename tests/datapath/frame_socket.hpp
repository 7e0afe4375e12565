// SPDX-License-Identifier: BSD-2-Clause
// Messages of sockets with what the kernel tells beside them, and whole frames of a device.
#pragma once

#include <linux/filter.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <optional>

#include "wire.hpp"

namespace olaf::test {

/// The next message of a socket, or nothing within the time. `beside` gets each of its control
/// messages.
std::optional<Bytes> receive_message(int socket, std::chrono::milliseconds time,
                                     sockaddr_storage &source,
                                     const std::function<void(const cmsghdr &)> &beside);

/// What a NIC would put on the wire, and what it takes off.
class FrameSocket {
  public:
    /// On a device of this thread's network namespace. Throws std::system_error.
    explicit FrameSocket(std::uint32_t ifindex, const sock_fprog *filter = nullptr);
    ~FrameSocket();
    FrameSocket(const FrameSocket &) = delete;
    FrameSocket &operator=(const FrameSocket &) = delete;

    /// The next frame that another host sent, its VLAN tag put back where it was; nothing
    /// within the time.
    [[nodiscard]] std::optional<Bytes> poll(std::chrono::milliseconds time) const;

  protected:
    int fd_;
};

} // namespace olaf::test
