// SPDX-License-Identifier: BSD-2-Clause
// The program that gives a repeated frame another cluster each time.
#pragma once

#include "frames.hpp" // first: the skeleton uses its structs
#include "support.hpp"

#include <bench_vary.skel.h>

namespace olaf::bench {

class Vary {
  public:
    struct Options {
        bench_config config;
        bool frags = false; ///< as the program behind it
        int agg_array = -1; ///< XAgg's map, when XAgg is behind it
    };

    static Result<Vary> make(int target, const Options &options);

    [[nodiscard]] int program() const { return bpf_program__fd(skeleton_->progs.vary); }

  private:
    explicit Vary(Skeleton<bench_vary> skeleton) : skeleton_(std::move(skeleton)) {}

    Skeleton<bench_vary> skeleton_;
};

} // namespace olaf::bench
