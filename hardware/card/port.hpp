// SPDX-License-Identifier: BSD-2-Clause
// A port of the card: a network device, by a packet socket. Frames are whole: VLAN tags that travel
// beside a frame are put back into it, and checksums that were left to a device are completed. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model.hpp"

namespace olaf::card {

class Port {
  public:
    /// On a device of this network namespace, which has to be up before frames come. Makes it
    /// promiscuous while it lives, and switches off what would merge frames (GRO). Throws
    /// std::runtime_error with what can't be done.
    explicit Port(std::string device);
    ~Port();
    Port(const Port &) = delete;
    Port &operator=(const Port &) = delete;

    /// The next frame that came in; nothing if there is none now.
    std::optional<Frame> receive();
    /// False: the device has no room now, try again later. What it can't take at all is dropped,
    /// counted and said.
    bool send(const Frame &frame);

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] const std::string &device() const { return device_; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  private:
    void drop(const std::string &why);

    std::string device_;
    int fd_ = -1;
    std::vector<std::uint8_t> buffer_;
    std::uint64_t dropped_ = 0;
    std::string said_; ///< why it dropped last
};

} // namespace olaf::card
