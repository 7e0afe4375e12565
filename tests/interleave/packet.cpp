// SPDX-License-Identifier: BSD-2-Clause
#include "packet.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>

namespace olaf::interleave {
namespace {

/// Memory whose addresses fit into 32 bits, for as long as the test runs.
std::uint8_t *low_memory() {
    constexpr std::uintptr_t from = 0x10000000, to = 0x70000000, step = 0x10000;
    static std::uintptr_t next = from;
    for (; next < to; next += step) {
        auto *wanted = reinterpret_cast<void *>(next);
        void *got = mmap(wanted, Packet::room, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == wanted) {
            next += step;
            return static_cast<std::uint8_t *>(got);
        }
        if (got != MAP_FAILED)
            munmap(got, Packet::room);
    }
    throw std::runtime_error("no memory below 4 GiB");
}

} // namespace

World *World::current = nullptr;

void Packet::hold(std::span<const std::uint8_t> frame) {
    if (data_ == nullptr)
        data_ = low_memory();
    if (frame.size() > room)
        throw std::logic_error("a frame is too long for this test");
    std::ranges::fill(std::ranges::copy(frame, data_).out, data_ + room, std::uint8_t{0});
    skb_ = {};
    resize(static_cast<std::uint32_t>(frame.size()));
}

void Packet::resize(std::uint32_t bytes) {
    bytes_ = bytes;
    const auto from = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data_));
    xdp_.data = skb_.data = from;
    xdp_.data_end = skb_.data_end = from + std::min(bytes, room);
    skb_.len = bytes;
}

std::span<std::uint8_t> Packet::frame() { return {data_, std::min(bytes_, room)}; }

std::uint8_t *Packet::at(std::uint32_t offset, std::uint32_t bytes) {
    return offset + bytes <= std::min(bytes_, room) ? data_ + offset : nullptr;
}

Packet &Packet::of(const xdp_md *context) {
    auto *at = reinterpret_cast<const char *>(context) - offsetof(Packet, xdp_);
    return *reinterpret_cast<Packet *>(const_cast<char *>(at));
}

Packet &Packet::of(const __sk_buff *context) {
    auto *at = reinterpret_cast<const char *>(context) - offsetof(Packet, skb_);
    return *reinterpret_cast<Packet *>(const_cast<char *>(at));
}

} // namespace olaf::interleave
