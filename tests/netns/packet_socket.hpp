// SPDX-License-Identifier: BSD-2-Clause
// Whole frames on a device: what a NIC would put on the wire, and what it takes off.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "packet.hpp"
#include "process.hpp"

namespace olaf::test {

class PacketSocket {
  public:
    PacketSocket(const Netns &netns, const std::string &device);
    ~PacketSocket();
    PacketSocket(const PacketSocket &) = delete;
    PacketSocket &operator=(const PacketSocket &) = delete;

    void send(const Frame &frame) const { send(frame.bytes); }
    void send(const Bytes &bytes) const;
    /// All of them, in as few system calls as can be.
    void send(std::span<const Frame> frames) const;

    /// The next frame that another host sent, its VLAN tag put back where it was; nothing
    /// within the time.
    [[nodiscard]] std::optional<Bytes> poll(std::chrono::milliseconds time) const;
    /// The next frame that is a right UPDATE, checksums included. Throws on a wrong one, and
    /// WaitRanOut.
    [[nodiscard]] Received receive_update() const;

  private:
    int fd_ = -1;
};

} // namespace olaf::test
