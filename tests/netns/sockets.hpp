// SPDX-License-Identifier: BSD-2-Clause
// Sockets: workers and servers as applications see them, whole frames on a device, and TCP.
#pragma once

#include <netinet/in.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "frame_socket.hpp"
#include "loader/host/fd.hpp"
#include "netns.hpp"
#include "packet.hpp"
#include "process.hpp"

namespace olaf::test {

/// A numeric address, IPv4 or IPv6, with a port.
struct Peer {
    std::string address;
    std::uint16_t port = OLAF_DEFAULT_PORT;
    bool operator==(const Peer &) const = default;
};

struct Datagram {
    Bytes payload;
    Peer source{};
    int ttl = 0;                   ///< as it arrived
    std::int64_t timestamp_ns = 0; ///< the kernel's, CLOCK_REALTIME
    /// What it holds; throws unless it is an UPDATE, right in every field and checksum.
    [[nodiscard]] Update update() const;
    /// The same for an ACK.
    [[nodiscard]] Ack ack() const;
};

class UdpSocket {
  public:
    /// Bound in the namespace; port 0 takes a free one.
    UdpSocket(const Netns &netns, const Peer &local);

    void send(const Bytes &payload, const Peer &to) const;
    /// Sends it, again where the peer's ring has no room for it: none is lost before the queue.
    void send(const Update &update, const Peer &to) const;
    void send(const Ack &ack, const Peer &to) const { send(message(ack), to); }
    /// `times` messages of the same update as one, for the device to cut (UDP segmentation).
    void send_uncut(const Update &update, unsigned times, const Peer &to) const;
    /// Room for what isn't read yet; the kernel takes its least if asked for less.
    void limit_room(int bytes) const;
    /// The next one, or nothing within the time.
    [[nodiscard]] std::optional<Datagram> poll(std::chrono::milliseconds time) const;
    /// The next one. Throws WaitRanOut.
    [[nodiscard]] Datagram receive() const;

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] int family() const { return family_; } ///< 4 or 6

  private:
    Fd fd_;
    int family_;
};

/// Whole frames: what a NIC would put on the wire, and what it takes off.
class PacketSocket : public FrameSocket {
  public:
    PacketSocket(const Netns &netns, const std::string &device);

    void send(const Frame &frame) const { send(frame.bytes); }
    void send(const Bytes &bytes) const;
    /// All of them, in as few system calls as can be. A frame for which the peer's ring has no
    /// room is sent again, so none is lost before the queue; the device has no qdisc, whose
    /// backlog a veth may forget to send (Linux 6.16 and later).
    void send(std::span<const Frame> frames) const;
    /// The next frame that is a right UPDATE, checksums included. Throws on a wrong one, and
    /// WaitRanOut.
    [[nodiscard]] Received receive_update() const;

  private:
    PacketSocket(const Inside &, int ifindex) : FrameSocket(static_cast<std::uint32_t>(ifindex)) {}
};

Bytes random_bytes(std::size_t count, unsigned seed);

struct Exchanged {
    Bytes there, back; ///< as received
};

/// One TCP connection, on which both ends send at once and read to the end; throws on failure.
Exchanged exchange_by_tcp(const Netns &client, const Netns &server, const Peer &address,
                          const Bytes &there, const Bytes &back);

} // namespace olaf::test
