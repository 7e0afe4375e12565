// SPDX-License-Identifier: BSD-2-Clause
// What one run of the stream benchmark is: a contender, its traffic, and where everything runs.
#pragma once

#include <cstdint>
#include <string>

#include "bench/frame.h"

namespace olaf::bench {

struct Setting {
    std::string contender = "olaf";
    std::uint32_t lanes = BENCH_LANES; ///< of an update, two values each
    std::uint32_t clusters = 9;
    std::uint32_t workers = 3; ///< a cluster
    double fold = 3; ///< updates that come for each frame that leaves; whole but for Olaf's queue
    double within = 0.06;       ///< of what is wanted: how exactly a queue's rate is set to that
    bool narrow = false;        ///< lanes hold four elements of 16 bits; Olaf's queue alone
    bool shuffled = false;      ///< clusters and workers come at random; Olaf's queue alone
    bool meter = true;          ///< the queue meters ages; Olaf's queue alone
    std::uint32_t capacity = 8; ///< Qmax
    std::uint32_t cpus = 1;     ///< that generate, each into a queue of its own; 2 not with `apart`
    bool common = false;        ///< generators of both CPUs send to the same clusters
    bool apart = false; ///< the contender has CPU 0 for itself, generator and far end are on CPU 1
    bool stamped = false;     ///< latency and ages are measured; the contender pays nothing for it
    std::uint32_t batch = 32; ///< updates that a TCP worker writes at once, 1: each a segment
    std::uint64_t load = 0;   ///< updates/s, 0: as many as there can be
    double seconds = 0.5;     ///< measured, after warming up

    static constexpr int contender_cpu = 0, traffic_cpu = 1;

    [[nodiscard]] std::uint64_t interval_ns() const {
        return load ? 1'000'000'000 * cpus / load : 0;
    }
    /// For those that count.
    [[nodiscard]] std::uint32_t whole_fold() const { return static_cast<std::uint32_t>(fold); }
    [[nodiscard]] unsigned mtu() const { return lanes * 8 + 200 > 1500 ? lanes * 8 + 200 : 1500; }
};

} // namespace olaf::bench
