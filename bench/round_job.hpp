// SPDX-License-Identifier: BSD-2-Clause
// A job of rounds as the benchmarks load it: one that runs, in a queue that is attached to nothing.
#pragma once

#include <cstdint>

#include <olaf/rounds.h>

#include "frames.hpp"
#include "loader/datapath/datapath.hpp"

namespace olaf::bench {

class RoundJob {
  public:
    struct Options {
        std::uint32_t children = 4;
        std::uint32_t slots = 64;  ///< a power of two
        bool by_multicast = false; ///< results leave in one frame for all
        bool floats = false;       ///< which the node adds
    };

    static Result<RoundJob> make(const Options &options);

    [[nodiscard]] int program() const { return queue_.program_fd("olaf_ingress"); }
    /// The first contribution of child 0 to the first round, whose vector has a chunk for each slot.
    [[nodiscard]] Frame first_contribution() const;
    /// Of all CPUs: those that the benchmarks look at.
    [[nodiscard]] olaf_job_counters counters() const;

  private:
    RoundJob(Datapath queue, const Options &options)
        : queue_(std::move(queue)), options_(options) {}
    [[nodiscard]] Result<void> begin() const;
    [[nodiscard]] Result<void> own() const;
    [[nodiscard]] std::uint16_t shape() const;

    Datapath queue_;
    Options options_;
};

} // namespace olaf::bench
