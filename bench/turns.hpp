// SPDX-License-Identifier: BSD-2-Clause
// The program that makes a repeated frame the next contribution of whole rounds.
#pragma once

#include "frames.hpp" // first: the skeleton uses its structs
#include "support.hpp"

#include <bench_turns.skel.h>

namespace olaf::bench {

class Turns {
  public:
    struct Options {
        bool xagg = false;
        std::uint32_t children = 4;
        std::uint32_t chunks = 64;
        Frame first{}; ///< the first contribution of child 0
    };

    /// `target` is called with each contribution. `frags`: it is loaded with BPF_F_XDP_HAS_FRAGS.
    static Result<Turns> make(int target, const Options &options, bool frags);

    [[nodiscard]] int program() const { return bpf_program__fd(skeleton_->progs.turns); }

    /// Results are compared with the sums from now on, or no longer.
    void check(bool on) const { skeleton_->bss->checking = on; }
    /// How many contributions were made since make().
    [[nodiscard]] std::uint64_t contributions() const { return skeleton_->bss->contributions; }
    /// Results that weren't the sum, while they were compared.
    [[nodiscard]] std::uint64_t wrong() const { return skeleton_->bss->wrong; }
    /// Results for a child, while they were compared.
    [[nodiscard]] std::uint64_t results(std::uint32_t child) const {
        return skeleton_->bss->results[child];
    }

  private:
    explicit Turns(Skeleton<bench_turns> skeleton) : skeleton_(std::move(skeleton)) {}

    Skeleton<bench_turns> skeleton_;
};

} // namespace olaf::bench
