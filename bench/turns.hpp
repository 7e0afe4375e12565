// SPDX-License-Identifier: BSD-2-Clause
// The program that makes a repeated frame the next contribution of whole rounds.
#pragma once

#include "frames.hpp" // first: the skeleton uses its structs
#include "support.hpp"

#include <bench_turns.skel.h>

namespace olaf::bench {

/// What a generator contributes of a job's rounds: the children in [first_child, end_child), to each
/// stride-th chunk from first_chunk on.
struct Share {
    std::uint32_t first_child = 0, end_child = 0;
    std::uint32_t first_chunk = 0, stride = 1;
    std::uint32_t window = 0; ///< chunks that it may be ahead of the other one; 0: of nobody
    std::uint32_t number = 0; ///< 0 or 1
};

class Turns {
  public:
    /// The hook of the program under test.
    enum class Hook { xdp, tc };

    struct Options {
        bool xagg = false;
        std::uint32_t children = 4;
        std::uint32_t chunks = 64;
        Frame first{}; ///< the first contribution of child 0
        bool floats = false; ///< the lanes are; children are a power of two
        bool frags = false; ///< the program under test is loaded with BPF_F_XDP_HAS_FRAGS
        Hook hook = Hook::xdp;
        Share share{};              ///< with no children: all of them
        const Turns *other = nullptr; ///< with a window: the generator that has the other share
    };

    /// `target` is called with each contribution.
    static Result<Turns> make(int target, const Options &options);

    [[nodiscard]] int program() const { return bpf_program__fd(program_); }

    /// Results are compared with the sums from now on, or no longer.
    void check(bool on) const { skeleton_->bss->checking = on; }
    /// How many contributions were made since make(). It may be read while they are made.
    [[nodiscard]] std::uint64_t contributions() const {
        return *static_cast<volatile __u64 *>(&skeleton_->bss->contributions);
    }
    /// Results that weren't the sum, while they were compared.
    [[nodiscard]] std::uint64_t wrong() const { return skeleton_->bss->wrong; }
    /// Results for a child, while they were compared.
    [[nodiscard]] std::uint64_t results(std::uint32_t child) const {
        return skeleton_->bss->results[child];
    }

  private:
    Turns(Skeleton<bench_turns> skeleton, bpf_program *program)
        : skeleton_(std::move(skeleton)), program_(program) {}

    Skeleton<bench_turns> skeleton_;
    bpf_program *program_;
};

} // namespace olaf::bench
