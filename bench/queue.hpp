// SPDX-License-Identifier: BSD-2-Clause
// Olaf's ingress program as the benchmarks load it: configured and sized as the loader does, but
// attached to nothing and without a drain, so that a run measures the program and nothing
// else.
#pragma once

#include <cstdint>
#include <vector>

#include <olaf/queue.h>

#include "loader/datapath/object.hpp"
#include "support.hpp"

namespace olaf::bench {

class Queue {
  public:
    struct Options {
        std::uint32_t clusters = 9;
        std::uint32_t capacity = 8;
        std::uint32_t max_lanes = 128;
        std::uint64_t rate_bps = 0;       ///< 0: unlimited
        std::uint32_t egress_ifindex = 0; ///< 0: departures are sent back out
        bool link_busy = false;           ///< nothing ever departs: the fold path alone
        bool meter = true;                ///< Age-of-Model; false: compiled out
        bool verify = true;               ///< as --verify
        bool fifo = false;                ///< clusters have policy fifo
    };

    struct Totals {
        std::uint64_t in = 0, departed = 0, dropped = 0, superseded = 0; ///< sums of `count`
        std::uint64_t aggregated = 0;                                    ///< events
    };

    /// What waits for a cluster and may be folded into; count 0: nothing.
    struct Waiting {
        std::uint32_t count = 0;
        std::vector<std::uint64_t> lanes;
    };

    static Result<Queue> make(const Options &options);

    /// The same queue, its state kept, with another rate: as `olaf attach --replace` does it.
    [[nodiscard]] Result<Queue> with_rate(std::uint64_t rate_bps) const;

    [[nodiscard]] int program() const { return object_.program_fd("olaf_ingress"); }
    [[nodiscard]] int map_fd(const char *name) const { return object_.map_fd(name); }
    [[nodiscard]] const olaf_config &config() const { return config_; }
    [[nodiscard]] Totals totals() const;
    [[nodiscard]] Waiting waiting(std::uint32_t cluster) const;
    /// Sum of `count` over what waits in the ring.
    [[nodiscard]] std::uint64_t updates_waiting() const;
    [[nodiscard]] const Options &options() const { return options_; }

  private:
    Queue(Object object, const olaf_config &config, const Options &options)
        : object_(std::move(object)), config_(config), options_(options) {}
    static Result<Queue> load_with(const Options &options, const Queue *state);
    [[nodiscard]] Result<void> seed() const;
    [[nodiscard]] const olaf_entry *read_entry(std::uint32_t index,
                                               std::vector<std::uint64_t> &storage) const;

    Object object_;
    olaf_config config_;
    Options options_;
};

} // namespace olaf::bench
