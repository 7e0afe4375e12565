// SPDX-License-Identifier: BSD-2-Clause
// A frame as programs see it: XDP's, and then the skb that it becomes.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>

namespace olaf::interleave {

class Packet {
  public:
    /// Bytes that are kept; a token's tail, which nobody reads, may be longer.
    static constexpr std::uint32_t room = 512;

    void hold(std::span<const std::uint8_t> frame);
    [[nodiscard]] std::span<std::uint8_t> frame();
    [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
    void resize(std::uint32_t bytes);
    [[nodiscard]] xdp_md *xdp() { return &xdp_; }
    [[nodiscard]] __sk_buff *skb() { return &skb_; }
    /// Bytes at an offset, or NULL if they aren't there.
    [[nodiscard]] std::uint8_t *at(std::uint32_t offset, std::uint32_t bytes);

    static Packet &of(const xdp_md *context);
    static Packet &of(const __sk_buff *context);

  private:
    xdp_md xdp_{};
    __sk_buff skb_{};
    std::uint32_t bytes_ = 0;
    std::uint8_t *data_ = nullptr; // below 4 GiB: a context holds it in 32 bits
};

/// Where redirects lead.
enum Device : std::uint32_t { workers = 1, servers = 2, drain_near = 3, drain_far = 4 };

/// What programs do to the world, and what they ask of it.
class World {
  public:
    virtual ~World() = default;
    [[nodiscard]] virtual std::uint64_t now_ns() = 0;
    /// A departure's bytes are being copied into a frame.
    virtual void copying(const void *from) = 0;
    /// A clone of it leaves by a device; `inwards`: it comes in by it.
    virtual void clone(Packet &packet, std::uint32_t ifindex, bool inwards) = 0;
    /// The running program's frame is to go there once it has returned.
    virtual void redirect(std::uint32_t ifindex) = 0;
    /// Does the next hop towards this IPv4 address answer?
    [[nodiscard]] virtual bool answers(std::uint32_t daddr_be) = 0;

    /// A program hands its frame to the program of that room.
    virtual int enter(xdp_md *xdp, std::uint32_t room) = 0;

    static World *current;
};

} // namespace olaf::interleave
