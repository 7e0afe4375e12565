// SPDX-License-Identifier: BSD-2-Clause
// What every aggregator outside the kernel does with an update: adds it to its cluster's sum.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include <arpa/inet.h>

#include "frame.h"

namespace olaf::bench {

struct Message {
    olaf_header header;
    std::uint64_t lanes[BENCH_MAX_LANES]; ///< those in use come first
};

/// One thread adds; counts are read by others.
class Accumulators {
  public:
    Accumulators(std::uint32_t clusters, std::uint32_t fold, std::uint32_t lanes)
        : fold_(fold), lanes_(lanes), sums_(clusters), counts_(clusters) {}
    Accumulators(Accumulators &&other) noexcept
        : fold_(other.fold_), lanes_(other.lanes_), received_(other.received()),
          sums_(std::move(other.sums_)), counts_(std::move(other.counts_)) {}

    /// Of every message.
    [[nodiscard]] std::size_t bytes() const { return sizeof(olaf_header) + lanes_ * 8ul; }

    /// Adds a message of bytes() at any address. The sum, once it is complete; it is valid until
    /// the next call. A message of a cluster that isn't there is left out.
    const Message *add(const std::uint8_t *message) {
        olaf_header header;
        std::memcpy(&header, message, sizeof header);
        const std::uint32_t cluster = ntohl(header.cluster_be);
        if (header.magic_be != htons(OLAF_MAGIC) || cluster >= sums_.size())
            return nullptr;
        received_.store(received() + 1, std::memory_order_relaxed);
        Message &sum = sums_[cluster];
        if (counts_[cluster]++ == 0)
            std::memcpy(&sum, message, bytes());
        else
            add_lanes(sum.lanes, message + sizeof header);
        if (counts_[cluster] < fold_)
            return nullptr;
        sum.header = header; // of the newest
        sum.header.count_be = htonl(counts_[cluster]);
        sum.header.flags_be |= htons(OLAF_FLAG_AGGREGATED);
        counts_[cluster] = 0;
        return &sum;
    }

    [[nodiscard]] std::uint64_t received() const {
        return received_.load(std::memory_order_relaxed);
    }
    /// Updates in sums that aren't complete.
    [[nodiscard]] std::uint64_t waiting() const {
        std::uint64_t updates = 0;
        for (const auto count : counts_)
            updates += count;
        return updates;
    }

  private:
    void add_lanes(std::uint64_t *sum, const std::uint8_t *lanes) const {
        for (std::uint32_t i = 0; i < lanes_; ++i) {
            std::uint64_t lane;
            std::memcpy(&lane, lanes + i * 8ul, 8);
            sum[i] += lane;
        }
    }

    std::uint32_t fold_, lanes_;
    std::atomic<std::uint64_t> received_ = 0;
    std::vector<Message> sums_;
    std::vector<std::uint32_t> counts_;
};

} // namespace olaf::bench
