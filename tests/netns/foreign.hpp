// SPDX-License-Identifier: BSD-2-Clause
// Programs at hooks of devices that aren't the queue's, each for as long as an object lives: some
// do nothing, others lose frames, tag them, or let them overtake each other.
#pragma once

#include <foreign.skel.h>
#include <linux/pkt_cls.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "loader/host/fd.hpp"
#include "netns.hpp"
#include "packet.hpp"

namespace olaf::test {

/// Sets constants of foreign.bpf.c before a program is loaded; those left alone are zero.
using Configure = std::function<void(foreign::foreign__rodata &)>;

/// A program of foreign.bpf.c in the kernel. No copies: it is unloaded once.
struct ForeignProgram {
    /// Throws if there is no such program, or the kernel takes none.
    ForeignProgram(const char *name, const Configure &configure);

    const std::unique_ptr<foreign, void (*)(foreign *)> skeleton;
    int fd;
};

/// A program of foreign.bpf.c at a TC hook of a device.
class TcFilter {
  public:
    enum Direction { sent, received };

    /// Throws if the kernel takes no such program. Filters of a hook run in the order of their
    /// priorities, until one doesn't return TC_ACT_UNSPEC.
    TcFilter(const Netns &netns, std::string device, Direction direction, unsigned priority,
             const char *program, const Configure &configure);
    ~TcFilter();

    /// How often it has run, while somebody counts runs (traces.hpp).
    [[nodiscard]] std::uint64_t runs() const;
    /// Whether it is still on the device.
    [[nodiscard]] bool attached() const;

  protected:
    const ForeignProgram program_;

  private:
    const Netns &netns_;
    int ifindex_;
    Direction direction_;
    unsigned priority_;
};

/// Lets everything on to the next filter.
struct ForeignFilter : TcFilter {
    ForeignFilter(const Netns &netns, std::string device, Direction direction, unsigned priority)
        : TcFilter(netns, std::move(device), direction, priority, "foreign_verdict",
                   [](auto &config) { config.verdict = TC_ACT_UNSPEC; }) {}
};

/// A program of foreign.bpf.c behind a BPF link.
class ForeignLink {
  public:
    ForeignLink(const Netns &netns, const std::string &device, const char *program,
                const Configure &configure, int attach_type);

    /// Whether this kernel has links of that type.
    [[nodiscard]] bool attached() const { return bool(link_); }

  private:
    Fd link_;
};

/// A TCX program with that verdict. Linux has TCX since 6.6.
struct ForeignTcx : ForeignLink {
    ForeignTcx(const Netns &netns, const std::string &device, TcFilter::Direction direction,
               int verdict);
};

/// An XDP program that lets everything pass. Throws if the device takes none.
struct ForeignXdp : ForeignLink {
    ForeignXdp(const Netns &netns, const std::string &device);
};

/// Loses that many in a hundred of what a device sends, or gets, at random.
struct Losing : TcFilter {
    Losing(const Netns &netns, std::string device, Direction direction, unsigned percent)
        : TcFilter(netns, std::move(device), direction, 1, "lose_at_random",
                   [=](auto &config) { config.percent = percent; }) {}
};

/// Flips one bit behind Ethernet, at random, in that many of a hundred UDP frames that a device sends, and
/// that it gets: as a switch's memory may.
struct Flipping {
    Flipping(const Netns &netns, const std::string &device, unsigned percent)
        : sent(netns, device, TcFilter::sent, 1, "flip_sent",
               [=](auto &config) { config.percent = percent; }),
          received(netns, device, "flip_received", [=](auto &config) { config.percent = percent; },
                   BPF_XDP) {}
    TcFilter sent;
    ForeignLink received;
};

/// Loses what is longer, Ethernet header included, and says nothing: as a switch on the way does.
struct LosingLong : TcFilter {
    LosingLong(const Netns &netns, std::string device, Direction direction, unsigned bytes)
        : TcFilter(netns, std::move(device), direction, 1, "lose_long",
                   [=](auto &config) { config.longest = bytes; }) {}
};

/// Messages of a type, over IPv4 and without VLAN tags.
struct Messages {
    std::uint8_t type;
    std::uint32_t action = 0; ///< of a CONTROL; 0: all
};

/// Loses the first of those, and counts all of them.
class LosingFirst : public TcFilter {
  public:
    static constexpr std::uint32_t all = UINT32_MAX;

    LosingFirst(const Netns &netns, std::string device, Direction direction, Messages messages,
                std::uint32_t first);

    [[nodiscard]] std::uint64_t seen() const;
    /// Waits until that many were seen; throws WaitRanOut.
    void await_seen(std::uint64_t count) const;
};

/// Frames overtake each other as they leave: some, at random, go through a slow class of the
/// device's qdisc, and what is sent later goes past them.
class Reordering {
  public:
    /// Holds up that many in a hundred; each for about a millisecond, and for those held before it.
    Reordering(const Netns &netns, const std::string &device, unsigned percent);
    ~Reordering();

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
/// device on hardware with that offload does. The device must have tx-vlan-offload on, or the
/// kernel moves the tag into the frame.
struct TagsBeside : TcFilter {
    TagsBeside(const Netns &netns, const std::string &device);
};

/// Messages of ours over IPv4 leave a worker's device with VLAN tag 7 among their bytes, and what it gets loses
/// its tag: as if the socket were one of a VLAN device. The device must have tx-vlan-offload off.
struct InAVlan {
    InAVlan(const Netns &netns, const std::string &device);
    /// How many frames came with a tag.
    [[nodiscard]] std::uint64_t received() const;

  private:
    struct Untag : TcFilter {
        Untag(const Netns &netns, const std::string &device)
            : TcFilter(netns, device, TcFilter::received, 2, "untag", [](auto &) {}) {}
        [[nodiscard]] std::uint64_t seen() const { return program_.skeleton->bss->seen; }
    };
    TcFilter tag_;
    Untag untag_;
};

/// The frame with that tag among its bytes.
Bytes with_tag(const Frame &frame);

} // namespace olaf::test
