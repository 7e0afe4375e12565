// SPDX-License-Identifier: BSD-2-Clause
// A device that loses some of what it sends, or of what it gets: a TC filter, for as long as an
// object lives.
#pragma once

#include <cstdint>

#include "tc_filter.hpp"

namespace olaf::test {

class Losing {
  public:
    using Direction = TcFilter::Direction;
    static constexpr Direction sent = TcFilter::sent, received = TcFilter::received;

    /// Loses that many in a hundred, at random; throws if it can't.
    Losing(const Netns &netns, std::string device, Direction direction, unsigned percent);

  private:
    TcFilter filter_;
};

/// Loses what is longer, Ethernet header included, and says nothing: as a switch on the way does.
class LosingLong {
  public:
    LosingLong(const Netns &netns, std::string device, Losing::Direction direction, unsigned bytes);

  private:
    TcFilter filter_;
};

/// Messages of a type, over IPv4 and without VLAN tags.
struct Messages {
    std::uint8_t type;
    std::uint32_t action = 0; ///< of a CONTROL; 0: all
};

/// Loses the first of those, and counts all of them.
class LosingFirst {
  public:
    static constexpr std::uint32_t all = UINT32_MAX;

    LosingFirst(const Netns &netns, std::string device, Losing::Direction direction,
                Messages messages, std::uint32_t first);
    ~LosingFirst();
    LosingFirst(const LosingFirst &) = delete;
    LosingFirst &operator=(const LosingFirst &) = delete;

    [[nodiscard]] std::uint64_t seen() const;
    /// Waits until that many were seen; throws WaitRanOut.
    void await_seen(std::uint64_t count) const;

  private:
    int counter_;
    TcFilter filter_;
};

} // namespace olaf::test
