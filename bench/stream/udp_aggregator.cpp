// SPDX-License-Identifier: BSD-2-Clause
#include "udp_aggregator.hpp"

#include <utility>

#include <arpa/inet.h>
#include <unistd.h>

namespace olaf::bench {

namespace {
// Room for bursts: nothing should be lost in the socket.
constexpr int receive_buffer = 64 << 20;
// How soon poll() returns when nothing comes.
constexpr timeval patience{.tv_sec = 0, .tv_usec = 20'000};
} // namespace

Result<UdpAggregator> UdpAggregator::make(const sockaddr_in &listen, const sockaddr_in &upstream,
                                          std::uint32_t clusters, std::uint32_t fold,
                                          std::uint32_t lanes) {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail("open UDP socket", "", errno);
    UdpAggregator aggregator(fd, clusters, fold, lanes); // owns fd from here on
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer, sizeof(receive_buffer)) != 0)
        return fail("enlarge the buffer of", "UDP socket", errno, "run as root");
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
        return fail("set the timeout of", "UDP socket", errno);
    if (bind(fd, reinterpret_cast<const sockaddr *>(&listen), sizeof(listen)) != 0)
        return fail("bind", "UDP socket", errno);
    // No checksum: the checksum lane protects the payload, and the queue sends none either.
    const int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)) != 0)
        return fail("switch off the checksum of", "UDP socket", errno);
    auto &out = aggregator.batches_[1];
    out.peer = upstream;
    for (auto &header : out.headers) {
        header.msg_hdr.msg_name = &out.peer;
        header.msg_hdr.msg_namelen = sizeof(out.peer);
    }
    return aggregator;
}

UdpAggregator::UdpAggregator(int socket, std::uint32_t clusters, std::uint32_t fold,
                             std::uint32_t lanes)
    : socket_(socket), fold_(fold), sums_(clusters, fold, lanes), batches_(2) {
    for (auto &b : batches_) {
        for (unsigned i = 0; i < batch; ++i) {
            b.parts[i] = {.iov_base = &b.messages[i], .iov_len = sums_.bytes()};
            b.headers[i] = {};
            b.headers[i].msg_hdr.msg_iov = &b.parts[i];
            b.headers[i].msg_hdr.msg_iovlen = 1;
        }
    }
}

UdpAggregator::UdpAggregator(UdpAggregator &&other) noexcept
    : socket_(std::exchange(other.socket_, -1)), fold_(other.fold_), ready_(other.ready_),
      sums_(std::move(other.sums_)), batches_(std::move(other.batches_)) {}

UdpAggregator::~UdpAggregator() {
    if (socket_ >= 0)
        close(socket_);
}

void UdpAggregator::poll() {
    auto &in = batches_[0];
    const int got = recvmmsg(socket_, in.headers.data(), batch, MSG_WAITFORONE, nullptr);
    for (int i = 0; i < got; ++i) {
        if (in.headers[i].msg_len == sums_.bytes())
            fold_in(in.messages[i]);
    }
    if (ready_ > 0)
        send_on();
}

void UdpAggregator::fold_in(const Message &message) {
    const Message *sum = sums_.add(reinterpret_cast<const std::uint8_t *>(&message));
    if (!sum)
        return;
    std::memcpy(&batches_[1].messages[ready_], sum, sums_.bytes());
    if (++ready_ == batch)
        send_on();
}

void UdpAggregator::send_on() {
    unsigned sent = 0;
    while (sent < ready_) {
        const int n = sendmmsg(socket_, &batches_[1].headers[sent], ready_ - sent, 0);
        if (n <= 0)
            break;
        sent += static_cast<unsigned>(n);
    }
    ready_ = 0;
}

std::uint64_t UdpAggregator::waiting() const {
    return sums_.waiting() + std::uint64_t{ready_} * fold_;
}

} // namespace olaf::bench
