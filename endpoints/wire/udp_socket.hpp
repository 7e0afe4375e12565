// SPDX-License-Identifier: BSD-2-Clause
// A UDP socket that never blocks except where a timeout is given. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include <olaf/address.hpp>
#include <olaf/result.hpp>

#include "endpoints/wire/refusal.hpp"

struct mmsghdr;

namespace olaf {

/// Waits until the file can be read, or the time is over (false). A signal doesn't cut it short.
[[nodiscard]] Result<bool> is_readable_within(int fd, std::chrono::nanoseconds timeout);

class UdpSocket {
  public:
    /// Kernel buffers in bytes; without CAP_NET_ADMIN net.core.{r,w}mem_max cap them.
    struct Buffers {
        int receive = 4 << 20;
        int send = 4 << 20;
    };

    [[nodiscard]] static Result<UdpSocket> connected_to(const Address &peer, Buffers buffers);
    [[nodiscard]] static Result<UdpSocket> bound_to(const Address &local, Buffers buffers);

    /// Hears what `peer` sends to the group by the device of that index; others may hear it too.
    [[nodiscard]] static Result<UdpSocket> member_of(const Address &group, unsigned device,
                                                     const Address &peer, Buffers buffers);

    UdpSocket(UdpSocket &&other) noexcept
        : fd_(std::exchange(other.fd_, -1)), tells_asked_(other.tells_asked_),
          told_too_long_(other.told_too_long_) {}
    UdpSocket &operator=(UdpSocket &&other) noexcept {
        std::swap(fd_, other.fd_);
        std::swap(tells_asked_, other.tells_asked_);
        std::swap(told_too_long_, other.told_too_long_);
        return *this;
    }
    UdpSocket(const UdpSocket &) = delete;
    UdpSocket &operator=(const UdpSocket &) = delete;
    ~UdpSocket();

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] Result<Address> local() const;
    /// Whether what arrives says which address of the host it was sent to: it is bound to any.
    [[nodiscard]] bool tells_asked() const { return tells_asked_; }
    /// Of the way to the peer, as far as this host knows: its device's, usually. Of IP packets, in
    /// bytes.
    [[nodiscard]] Result<std::size_t> mtu() const;
    /// What the way to the peer carries at most, if an ICMP called a message too long for it: IP
    /// packets, in bytes. Anybody can forge one: tell it to people, and change nothing by it.
    [[nodiscard]] std::optional<std::size_t> told_mtu() const;

    /// Waits until something can be received, or the time is over (false).
    [[nodiscard]] Result<bool> readable_within(std::chrono::nanoseconds timeout) const;

    /// recvmmsg() of what has arrived, without waiting; 0 if nothing has. An ICMP error
    /// that an earlier sending brought back counts as nothing.
    [[nodiscard]] Result<std::size_t> receive(mmsghdr *messages, std::size_t count) const;

    /// Whether the kernel keeps all ICMP errors, with who sent them, for refusal(). The socket
    /// counts as readable until that has been asked. Sending fails meanwhile where a device of this
    /// host drops a message, too.
    void hear_refusals(bool hears) const;
    /// The newest one, if any has come; forgets the older ones. Doesn't wait.
    [[nodiscard]] std::optional<Refusal> refusal() const;

    struct Sent {
        std::size_t sent = 0;   ///< messages the kernel took
        std::size_t unsent = 0; ///< lost here: no buffer in time, no route, refused, ...
        int last_errno = 0;     ///< of the last message lost
    };
    /// sendmmsg() of all messages. Waits at most `patience` in all for buffer space; a
    /// message that can't be sent is counted and the rest goes on: UDP may lose it anyway.
    [[nodiscard]] Sent send(mmsghdr *messages, std::size_t count,
                            std::chrono::nanoseconds patience) const;

    /// Whether this host's kernel still has some of what was sent: in a queueing discipline, the
    /// ring of a device, or at the far end of a veth that hasn't looked at it yet.
    [[nodiscard]] bool holds_unsent() const;

  private:
    explicit UdpSocket(int fd) : fd_(fd) {}
    [[nodiscard]] static Result<UdpSocket> open(const Address &address, Buffers buffers);

    int fd_;
    bool tells_asked_ = false;
    mutable bool told_too_long_ = false;
};

} // namespace olaf
