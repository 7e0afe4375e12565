// SPDX-License-Identifier: BSD-2-Clause
#include "xsk_port.hpp"

#include <cerrno>

#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>

namespace olaf::bench {

Result<std::unique_ptr<XskPort>> XskPort::make(const char *device, Direction direction) {
    std::unique_ptr<XskPort> port(new XskPort);
    if (auto opened = port->open(device, direction); !opened)
        return std::unexpected(opened.error());
    return port;
}

Result<void> XskPort::open(const char *device, Direction direction) {
    constexpr std::size_t size = frames * frame_bytes;
    memory_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED)
        return memory_ = nullptr, fail("map memory for", "AF_XDP", errno);
    const xsk_umem_config umem{.fill_size = frames,
                               .comp_size = frames,
                               .frame_size = frame_bytes,
                               .frame_headroom = 0,
                               .flags = 0};
    if (const int error = xsk_umem__create(&umem_, memory_, size, &fill_, &completed_, &umem);
        error)
        return fail("register memory of", "AF_XDP", -error, "run as root");
    xsk_socket_config config{};
    config.rx_size = config.tx_size = frames;
    config.libbpf_flags = XSK_LIBBPF_FLAGS__INHIBIT_PROG_LOAD;
    int error = 0;
    for (const bool zero_copy : {true, false}) {
        config.bind_flags =
            static_cast<std::uint16_t>(XDP_USE_NEED_WAKEUP | (zero_copy ? XDP_ZEROCOPY : XDP_COPY));
        error = xsk_socket__create(&socket_, device, 0, umem_,
                                   direction == Direction::receive ? &rx_ : nullptr,
                                   direction == Direction::send ? &tx_ : nullptr, &config);
        zero_copy_ = zero_copy;
        if (error == 0)
            break;
    }
    if (error != 0)
        return fail("open AF_XDP socket on", device, -error, "run as root");
    if (direction == Direction::receive) {
        std::uint32_t at = 0;
        xsk_ring_prod__reserve(&fill_, frames, &at);
        for (std::uint32_t i = 0; i < frames; ++i)
            *xsk_ring_prod__fill_addr(&fill_, at + i) = i * frame_bytes;
        xsk_ring_prod__submit(&fill_, frames);
    }
    return {};
}

XskPort::~XskPort() {
    if (socket_)
        xsk_socket__delete(socket_);
    if (umem_)
        xsk_umem__delete(umem_);
    if (memory_)
        munmap(memory_, frames * frame_bytes);
}

std::uint8_t *XskPort::next_frame(std::uint32_t bytes) {
    std::uint32_t at = 0;
    if (xsk_ring_prod__reserve(&tx_, 1, &at) != 1)
        return nullptr;
    const std::uint64_t address = (next_++ % frames) * frame_bytes;
    auto *frame = xsk_ring_prod__tx_desc(&tx_, at);
    *frame = {.addr = address, .len = bytes, .options = 0};
    ++pending_;
    return static_cast<std::uint8_t *>(xsk_umem__get_data(memory_, address));
}

void XskPort::flush() {
    xsk_ring_prod__submit(&tx_, pending_);
    while (pending_ > 0) {
        // A call sends 32 frames at most; EAGAIN and EBUSY ask for another.
        sendto(fd(), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
        std::uint32_t at = 0;
        const auto done = xsk_ring_cons__peek(&completed_, pending_, &at);
        xsk_ring_cons__release(&completed_, done);
        pending_ -= done;
    }
}

} // namespace olaf::bench
