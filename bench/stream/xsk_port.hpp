// SPDX-License-Identifier: BSD-2-Clause
// One AF_XDP socket with memory of its own, on queue 0 of a device. One thread uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <xdp/xsk.h>

#include "olaf/result.hpp"

namespace olaf::bench {

class XskPort {
  public:
    enum class Direction { receive, send };

    /// Zero-copy where the driver has it, else by copying. Root.
    static Result<std::unique_ptr<XskPort>> make(const char *device, Direction direction);
    XskPort(const XskPort &) = delete;
    XskPort &operator=(const XskPort &) = delete;
    ~XskPort();

    [[nodiscard]] int fd() const { return xsk_socket__fd(socket_); }
    [[nodiscard]] bool zero_copy() const { return zero_copy_; }

    /// Calls `take` with each frame that is there, at most a batch, and gives their memory back.
    template <class Take> void receive(Take take) {
        std::uint32_t at = 0;
        const auto got = xsk_ring_cons__peek(&rx_, batch, &at);
        if (got == 0)
            return;
        std::uint32_t refill = 0;
        // The fill ring has room for all frames there are.
        xsk_ring_prod__reserve(&fill_, got, &refill);
        for (std::uint32_t i = 0; i < got; ++i) {
            const auto *frame = xsk_ring_cons__rx_desc(&rx_, at + i);
            take(std::span(
                static_cast<const std::uint8_t *>(xsk_umem__get_data(memory_, frame->addr)),
                frame->len));
            *xsk_ring_prod__fill_addr(&fill_, refill + i) = frame->addr & ~(frame_bytes - 1);
        }
        xsk_ring_prod__submit(&fill_, got);
        xsk_ring_cons__release(&rx_, got);
    }

    /// Memory of `bytes` for the next frame; flush() sends it. Waits for none: flush before a whole
    /// ring.
    std::uint8_t *next_frame(std::uint32_t bytes);
    /// Hands over what next_frame() gave, and waits until it is sent.
    void flush();

  private:
    static constexpr std::uint32_t frames = 4096, batch = 64;
    static constexpr std::uint64_t frame_bytes = 4096;

    XskPort() = default;
    Result<void> open(const char *device, Direction direction);

    void *memory_ = nullptr;
    xsk_umem *umem_ = nullptr;
    xsk_socket *socket_ = nullptr;
    xsk_ring_prod fill_{}, tx_{};
    xsk_ring_cons completed_{}, rx_{};
    bool zero_copy_ = false;
    std::uint32_t next_ = 0;    ///< frame to send in
    std::uint32_t pending_ = 0; ///< given out, not handed over
};

} // namespace olaf::bench
