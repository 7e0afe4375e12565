// SPDX-License-Identifier: BSD-2-Clause
#include "tap.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace olaf::test {

Tap::Tap(const Netns &netns, const std::string &device, unsigned frames) {
    const Inside inside(netns);
    fd_ = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    if (fd_ < 0 || ioctl(fd_, TUNSETIFF, &request) != 0)
        throw std::runtime_error("cannot make tap " + device);
    netns.ip("link set " + device + " txqueuelen " + std::to_string(frames) + " up\n");
}

Tap::~Tap() {
    close(fd_);
}

std::optional<Bytes> Tap::poll(std::chrono::milliseconds time) const {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(time.count())) <= 0)
        return std::nullopt;
    Bytes frame(65536);
    const auto bytes = read(fd_, frame.data(), frame.size());
    if (bytes <= 0)
        return std::nullopt;
    frame.resize(static_cast<std::size_t>(bytes));
    return frame;
}

} // namespace olaf::test
