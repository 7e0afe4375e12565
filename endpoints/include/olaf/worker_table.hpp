// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <olaf/address.hpp>

namespace olaf {

/// A worker as its cluster's server knows it.
struct KnownWorker {
    Address address = {}; ///< its newest
    Address asked = {};   ///< of this host, as it last was asked; unspecified: there is but one
    std::uint32_t last_sequence = 0;
    std::uint64_t seen = 0; ///< updates that arrived under its name, since its last join
    /// Sequence numbers passed over: updates lost, or folded into another worker's.
    std::uint64_t missed = 0;
    std::uint64_t last_seen = 0; ///< the table's own count of sightings: larger is later
};

/// The workers that one cluster's server heard of, at most `limit`: a new one takes the
/// place of the one not heard of for longest. Not thread-safe.
class WorkerTable {
  public:
    explicit WorkerTable(std::size_t limit) : limit_(limit) {}

    /// A message of `worker` came from `address` to `asked`, which answers are to come from.
    KnownWorker &remember(std::uint32_t worker, const Address &address, const Address &asked = {});
    /// The same for an update, once for all of its segments.
    void count(std::uint32_t worker, const Address &address, std::uint32_t sequence,
               const Address &asked = {});

    [[nodiscard]] const std::map<std::uint32_t, KnownWorker> &all() const { return workers_; }

  private:
    std::size_t limit_;
    std::uint64_t sightings_ = 0;
    std::map<std::uint32_t, KnownWorker> workers_; // by worker id
};

} // namespace olaf
