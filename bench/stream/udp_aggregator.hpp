// SPDX-License-Identifier: BSD-2-Clause
// What one would write without the kernel: a UDP socket, recvmmsg, vectorised
// additions into one accumulator a cluster, one update of every three sent on.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "bench/accumulators.hpp"

#include <olaf/result.hpp>

namespace olaf::bench {

class UdpAggregator {
  public:
    /// Receives on `listen`, sends aggregates of `fold` updates to `upstream`.
    static Result<UdpAggregator> make(const sockaddr_in &listen, const sockaddr_in &upstream,
                                      std::uint32_t clusters, std::uint32_t fold,
                                      std::uint32_t lanes = BENCH_LANES);

    UdpAggregator(UdpAggregator &&other) noexcept;
    UdpAggregator &operator=(UdpAggregator &&) = delete;
    ~UdpAggregator();

    /// Waits a moment for updates and handles at most one batch of them.
    void poll();

    [[nodiscard]] std::uint64_t received() const { return sums_.received(); }
    /// Updates folded into accumulators that have not left yet.
    [[nodiscard]] std::uint64_t waiting() const;

  private:
    static constexpr unsigned batch = 64;

    struct Batch {
        std::array<Message, batch> messages;
        std::array<iovec, batch> parts;
        std::array<mmsghdr, batch> headers;
        sockaddr_in peer;
    };

    UdpAggregator(int socket, std::uint32_t clusters, std::uint32_t fold, std::uint32_t lanes);
    void fold_in(const Message &message);
    void send_on();

    int socket_;
    std::uint32_t fold_;
    unsigned ready_ = 0; ///< filled messages of out_
    Accumulators sums_;
    std::vector<Batch> batches_; ///< [0] in, [1] out; on the heap, so that a move keeps addresses
};

} // namespace olaf::bench
