// SPDX-License-Identifier: BSD-2-Clause
// How tests wait: for one condition, with one deadline. A wait that ran out says so in words of its own
// (WaitRanOut), and scripts/test runs such a test once more; a wrong value gets no second try.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace olaf::test {

/// Longest that a test waits for something that takes no time on a machine with nothing else to do.
/// Long, because it costs nothing while things work.
inline constexpr std::chrono::seconds patience{60};

/// GoogleTest prints the text. scripts/lib/results looks for its beginning.
struct WaitRanOut : std::runtime_error {
    explicit WaitRanOut(const std::string &what) : std::runtime_error("a wait ran out: " + what) {}
};

/// Calls `condition` until it returns true. After `patience` it throws WaitRanOut with what `what()` returns,
/// which says what was awaited and what there was instead.
template <class Condition, class What>
void await(Condition &&condition, What &&what,
           std::chrono::milliseconds pause = std::chrono::milliseconds(2)) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            throw WaitRanOut(what());
        std::this_thread::sleep_for(pause);
    }
}

} // namespace olaf::test
