// SPDX-License-Identifier: BSD-2-Clause
// XAgg's TCP-Agg: a connection for each worker, whole updates one behind the other in each; the
// aggregator adds them and sends the sums to the parameter server by a connection of its own.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/accumulators.hpp"
#include "olaf/result.hpp"

namespace olaf::bench {

/// A socket that is closed with the object.
class TcpSocket {
  public:
    explicit TcpSocket(int fd = -1) : fd_(fd) {}
    TcpSocket(TcpSocket &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    TcpSocket &operator=(TcpSocket &&other) noexcept;
    ~TcpSocket();
    [[nodiscard]] int fd() const { return fd_; }

    static Result<TcpSocket> listen(const char *address, std::uint16_t port);
    static Result<TcpSocket> connect(const char *address, std::uint16_t port);
    [[nodiscard]] Result<TcpSocket> accept() const;

    /// All of it; false when the connection has ended.
    /// `flags` as send()'s: MSG_EOR, and nothing else comes into its last segment.
    [[nodiscard]] bool send(const std::uint8_t *bytes, std::size_t size, int flags = 0) const;
    /// Segments that were sent again.
    [[nodiscard]] std::uint64_t repeated() const;

  private:
    int fd_;
};

/// Cuts what one connection brings into messages. One thread uses it.
class TcpReader {
  public:
    explicit TcpReader(std::size_t message) : message_(message), buffer_(capacity) {}

    /// Reads once and calls `take` with each whole message. False at the stream's end; true as well
    /// when there was nothing to read yet.
    template <class Take> bool read(int fd, int flags, Take take) {
        if (!fill(fd, flags))
            return false;
        std::size_t at = 0;
        for (; held_ - at >= message_; at += message_)
            take(&buffer_[at]);
        std::memmove(buffer_.data(), &buffer_[at], held_ - at);
        held_ -= at;
        return true;
    }

  private:
    static constexpr std::size_t capacity = 256 << 10;
    bool fill(int fd, int flags);

    std::size_t message_, held_ = 0;
    std::vector<std::uint8_t> buffer_;
};

class TcpAggregator {
  public:
    /// `workers` connect to it; it sends to `parent`.
    TcpAggregator(std::vector<TcpSocket> workers, TcpSocket parent, Accumulators sums);

    /// Waits a moment for updates and handles what one read of each connection brings.
    void poll();
    [[nodiscard]] const Accumulators &sums() const { return sums_; }

  private:
    std::vector<TcpSocket> workers_;
    std::vector<TcpReader> readers_;
    TcpSocket parent_;
    Accumulators sums_;
    std::vector<std::uint8_t> ready_;
};

} // namespace olaf::bench
