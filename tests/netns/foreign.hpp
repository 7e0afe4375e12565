// SPDX-License-Identifier: BSD-2-Clause
// Programs at hooks of devices that aren't the queue's, each for as long as an object lives: some do
// nothing, others lose frames, tag them, or let them overtake each other.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>

#include "netns.hpp"
#include "packet.hpp"

namespace olaf::test {

/// A small program at a TC hook of a device.
class TcFilter {
  public:
    enum Direction { sent, received };

    /// Throws if the kernel takes no such program. Filters of a hook run in the order of their
    /// priorities, until one doesn't return TC_ACT_UNSPEC.
    TcFilter(const Netns &netns, std::string device, Direction direction, unsigned priority,
             std::span<const bpf_insn> program);
    ~TcFilter();
    TcFilter(const TcFilter &) = delete;
    TcFilter &operator=(const TcFilter &) = delete;

    /// How often it has run, while somebody counts runs (traces.hpp).
    [[nodiscard]] std::uint64_t runs() const;
    /// Whether it is still on the device.
    [[nodiscard]] bool attached() const;

  private:
    const Netns &netns_;
    int ifindex_, program_ = -1;
    Direction direction_;
    unsigned priority_;
};

/// Lets everything on to the next filter.
class ForeignFilter : public TcFilter {
  public:
    ForeignFilter(const Netns &netns, std::string device, Direction direction, unsigned priority);
};

/// A TCX program with that verdict.
class ForeignTcx {
  public:
    ForeignTcx(const Netns &netns, const std::string &device, TcFilter::Direction direction,
               int verdict);
    ~ForeignTcx();
    ForeignTcx(const ForeignTcx &) = delete;
    ForeignTcx &operator=(const ForeignTcx &) = delete;

    /// Whether this kernel has TCX at all.
    [[nodiscard]] bool attached() const { return link_ >= 0; }

  private:
    int link_;
};

/// An XDP program that lets everything pass.
class ForeignXdp {
  public:
    ForeignXdp(const Netns &netns, const std::string &device);
    ~ForeignXdp();
    ForeignXdp(const ForeignXdp &) = delete;
    ForeignXdp &operator=(const ForeignXdp &) = delete;

  private:
    int link_;
};

/// Loses that many in a hundred of what a device sends, or gets, at random.
class Losing : public TcFilter {
  public:
    Losing(const Netns &netns, std::string device, Direction direction, unsigned percent);
};

/// Loses what is longer, Ethernet header included, and says nothing: as a switch on the way does.
class LosingLong : public TcFilter {
  public:
    LosingLong(const Netns &netns, std::string device, Direction direction, unsigned bytes);
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

    LosingFirst(const Netns &netns, std::string device, TcFilter::Direction direction,
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

/// Frames overtake each other as they leave: some, at random, go through a slow class of the device's
/// qdisc, and what is sent later goes past them.
class Reordering {
  public:
    /// Holds up that many in a hundred; each for about a millisecond, and for those held before it.
    Reordering(const Netns &netns, const std::string &device, unsigned percent);
    ~Reordering();
    Reordering(const Reordering &) = delete;
    Reordering &operator=(const Reordering &) = delete;

    /// How often frames had to wait while others could have gone past them.
    [[nodiscard]] unsigned long held() const;

  private:
    const Netns &netns_;
    const std::string device_;
    TcFilter filter_;
};

/// Frames from here get a tag by TagsBeside.
inline constexpr Mac tagged_mac = {2, 0, 0, 0, 7, 0x0a};

/// Puts VLAN tag 7 beside the bytes of what a worker's device sends from one MAC address, as a VLAN
/// device on hardware with that offload does. The device must have tx-vlan-offload on, or the kernel
/// moves the tag into the frame.
class TagsBeside : public TcFilter {
  public:
    TagsBeside(const Netns &netns, const std::string &device);
};

/// The frame with that tag among its bytes.
Bytes with_tag(const Frame &frame);

} // namespace olaf::test
