// SPDX-License-Identifier: BSD-2-Clause
// Which schedule comes next: depth first through all that have at most so many preemptions.
//
// A preemption is a switch away from a CPU that could have gone on. Switches where one can't, because it
// waits or is done, are free, and all of them are tried. A prefix of a schedule that differs from an
// earlier one only in the order of accesses that don't concern each other leads to the same state: it
// isn't followed again, unless it has more preemptions left.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace olaf::interleave {

inline constexpr unsigned most_cpus = 4;
inline constexpr int nobody = -1;

class Search {
  public:
    explicit Search(unsigned preemptions) : most_(preemptions) {}

    /// Begins the next schedule. False: there is none.
    bool next();
    /// Who goes on, of the bit set `able`? `current` is nobody if it can't. `state` tells equal
    /// prefixes. nobody: what follows has been run before.
    int choose(unsigned able, int current, std::uint64_t state);
    /// Begins anew: what a choice is has changed.
    void forget();
    /// How the running schedule went so far, for people.
    [[nodiscard]] const std::vector<int> &switches() const { return switches_; }

  private:
    struct Choice {
        unsigned able;
        int current;
        int taken;
    };
    [[nodiscard]] static int first(const Choice &choice);
    [[nodiscard]] static int after(const Choice &choice);
    [[nodiscard]] bool known(std::uint64_t state);
    int take(int current, int taken);

    unsigned most_;
    unsigned preemptions_ = 0; // of the running schedule, so far
    std::size_t depth_ = 0;
    bool begun_ = false;
    std::vector<Choice> path_;
    std::vector<int> switches_;
    std::unordered_map<std::uint64_t, unsigned> seen_; // state -> preemptions left
};

} // namespace olaf::interleave
