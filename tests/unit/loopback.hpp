// SPDX-License-Identifier: BSD-2-Clause
// A parameter server on a loopback address and its workers, in one thread: nothing
// happens unless a test calls it, and no call waits longer than kSoon.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <olaf/parameter_server.hpp>
#include <olaf/worker.hpp>

#include "tests/patience.hpp"

namespace olaf::test {

// For what must happen: long, because a loaded machine may take it.
constexpr auto kSoon = patience;
// For what must not happen; loopback delivers before send() returns.
constexpr auto kNever = std::chrono::milliseconds(1);

inline ParameterServer make_server(const std::string &host, ServerOptions options = {}) {
    options.bind = Address::resolve(host, 0).value();
    auto server = ParameterServer::make(options);
    EXPECT_TRUE(server) << server.error().message();
    return std::move(server.value());
}

inline Worker make_worker(const ParameterServer &server, WorkerOptions options) {
    options.server = server.local_address().value();
    auto worker = Worker::make(options);
    EXPECT_TRUE(worker) << worker.error().message();
    return std::move(worker.value());
}

/// Lets the server handle `datagrams`.
inline void handle(ParameterServer &server, std::size_t datagrams) {
    for (std::size_t handled = 0; handled < datagrams;) {
        const auto now = server.receive(kSoon);
        ASSERT_TRUE(now) << now.error().message();
        ASSERT_GT(*now, 0U) << "only " << handled << " of " << datagrams << " arrived";
        handled += *now;
    }
}

/// It failed, and says why in words that have these in them.
template <class T> void expect_fails(const Result<T> &result, const std::string &words) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message().find(words), std::string::npos) << result.error().message();
}

inline std::vector<float> copy(std::span<const float> values) {
    return {values.begin(), values.end()};
}

/// A socket that sends what no worker or server would.
class RawSocket {
  public:
    explicit RawSocket(const Address &local) : fd_(::socket(local.family(), SOCK_DGRAM, 0)) {
        EXPECT_EQ(::bind(fd_, local.data(), local.size()), 0);
        const timeval timeout = {.tv_sec = 10, .tv_usec = 0};
        EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
        // The usual room is a dozen of loopback's long frames. Only root gets more than the
        // system's limit.
        const int room = 8 << 20;
        EXPECT_TRUE(setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) == 0 ||
                    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) == 0);
    }
    RawSocket(const RawSocket &) = delete;
    RawSocket &operator=(const RawSocket &) = delete;
    ~RawSocket() { ::close(fd_); }

    void send(std::span<const std::byte> bytes, const Address &to) const {
        ASSERT_EQ(::sendto(fd_, bytes.data(), bytes.size(), 0, to.data(), to.size()),
                  static_cast<ssize_t>(bytes.size()));
    }
    /// The next datagram and its sender, cut to `frame`'s size. Fails after 10 s.
    std::pair<std::size_t, Address> receive(Frame &frame) const {
        sockaddr_storage from{};
        socklen_t size = sizeof(from);
        const ssize_t got =
            ::recvfrom(fd_, &frame, sizeof(frame), 0, reinterpret_cast<sockaddr *>(&from), &size);
        EXPECT_GE(got, 0);
        return {got < 0 ? 0 : static_cast<std::size_t>(got), Address::from(from)};
    }
    [[nodiscard]] Address address() const {
        sockaddr_storage local{};
        socklen_t size = sizeof(local);
        EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr *>(&local), &size), 0);
        return Address::from(local);
    }

  private:
    int fd_;
};

} // namespace olaf::test
