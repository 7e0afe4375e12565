// SPDX-License-Identifier: BSD-2-Clause
// The in-kernel generator and the receiving program at the far end.
#pragma once

#include "bench/frames.hpp" // first: the skeletons use its structs
#include "bench/network.hpp"
#include "bench/repeating.hpp"

#include <bench_generator.skel.h>
#include <bench_sink.skel.h>

namespace olaf::bench {

struct Arrived {
    std::uint64_t frames = 0;
    std::uint64_t updates = 0; ///< sum of their counts
    std::uint64_t wrong = 0;   ///< frames with an inexact lane
};

class Generator {
  public:
    static Result<Generator> make(const Network &network, const bench_config &config);

    /// Sends on `cpu`, as fast as the CPU can, until stop().
    void start(int cpu);
    void stop() { sending_.stop(); }

    [[nodiscard]] std::uint64_t sent() const { return skeleton_->bss->generated; }

  private:
    Generator(Skeleton<bench_generator> skeleton, Frame frame, std::uint32_t batch)
        : skeleton_(std::move(skeleton)), frame_(std::move(frame)), batch_(batch) {}

    Skeleton<bench_generator> skeleton_;
    Frame frame_;
    std::uint32_t batch_;
    Repeating sending_; ///< last: it stops before what it sends goes
};

class Sink {
  public:
    static Result<Sink> make(const Network &network, const bench_config &config);

    [[nodiscard]] Arrived arrived() const;
    /// Of stamped frames: how many in each bucket, see bench_bucket().
    [[nodiscard]] std::vector<std::uint64_t> latency() const;
    /// Of stamped frames: how many with so many updates, see BENCH_FOLDS.
    [[nodiscard]] std::vector<std::uint64_t> folds() const;
    /// Of stamped frames, by cluster.
    [[nodiscard]] bench_age age(std::uint32_t cluster) const;

  private:
    Sink(Skeleton<bench_sink> skeleton, Attached attached)
        : skeleton_(std::move(skeleton)), attached_(std::move(attached)) {}

    Skeleton<bench_sink> skeleton_;
    Attached attached_;
};

} // namespace olaf::bench
