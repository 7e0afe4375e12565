// SPDX-License-Identifier: BSD-2-Clause
#include "search.hpp"

#include <bit>
#include <stdexcept>

namespace olaf::interleave {

/// The CPU that runs goes on, if it can.
int Search::first(const Choice &choice) {
    return choice.current != nobody ? choice.current : std::countr_zero(choice.able);
}

/// Then the others, by number. nobody: all have had their turn.
int Search::after(const Choice &choice) {
    const bool goes_on = choice.current != nobody && choice.taken == choice.current;
    for (int cpu = goes_on ? 0 : choice.taken + 1; cpu < static_cast<int>(most_cpus); cpu++)
        if (cpu != choice.current && (choice.able >> cpu & 1) != 0)
            return cpu;
    return nobody;
}

bool Search::next() {
    preemptions_ = 0;
    depth_ = 0;
    switches_.clear();
    if (!begun_)
        return begun_ = true;
    while (!path_.empty()) {
        path_.back().taken = after(path_.back());
        if (path_.back().taken != nobody)
            return true;
        path_.pop_back();
    }
    return false;
}

void Search::forget() {
    path_.clear();
    seen_.clear();
    begun_ = false;
}

bool Search::known(std::uint64_t state) {
    const unsigned left = most_ - preemptions_ + 1;
    unsigned &seen = seen_[state];
    if (seen >= left)
        return true;
    seen = left;
    return false;
}

int Search::take(int current, int taken) {
    if (taken != current) {
        preemptions_ += current != nobody;
        switches_.push_back(taken);
    }
    return taken;
}

int Search::choose(unsigned able, int current, std::uint64_t state) {
    if (std::has_single_bit(able))
        return take(current, std::countr_zero(able));
    if (current != nobody && preemptions_ == most_)
        return current;
    if (depth_ < path_.size()) {
        const Choice &choice = path_[depth_++];
        if (choice.able != able || choice.current != current)
            throw std::logic_error("a schedule that was run before went another way this time");
        return take(current, choice.taken);
    }
    if (known(state))
        return nobody;
    path_.push_back({able, current, 0});
    path_.back().taken = first(path_.back());
    depth_++;
    return take(current, path_.back().taken);
}

} // namespace olaf::interleave
