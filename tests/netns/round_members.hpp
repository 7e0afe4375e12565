// SPDX-License-Identifier: BSD-2-Clause
// Workers that sum without end, while others come and go: each sum tells who is in it, and when the
// first worker wants to stop all see it in the same sum.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rounds.hpp"

namespace olaf::test {

inline constexpr unsigned member_lanes = 64;

/// Those of the worker with that rank, of a job for so many.
CollectiveOptions member_options(const Testbed &bed, unsigned rank, unsigned workers);

/// A sum that came.
struct MembersSum {
    SumReport report;
    unsigned ranks = 0; ///< who is in it, a bit each; 0: not the same ones in each element
    bool last = false;  ///< the first worker stops
};

/// One vector of this rank; throws what went wrong. Records a failure if the sum isn't of anybody's parts, or
/// is of others than its report says.
MembersSum sum_as_member(Collective &collective, unsigned rank, bool last = false);

/// The first workers of a job, in threads of their own.
class Summing {
  public:
    Summing(const Testbed &bed, unsigned count, unsigned workers,
            std::function<void(CollectiveOptions &)> more = {});
    ~Summing() { stop(); }
    Summing(const Summing &) = delete;
    Summing &operator=(const Summing &) = delete;

    /// Until a sum holds just those ranks, a bit each; throws when all have ended before.
    void await_sum_of(unsigned ranks);
    /// Ends all after the same sum, unless they have failed.
    void stop();
    /// Waits for the end of all, and returns what each failed with, or nothing of those that didn't.
    std::map<unsigned, std::string> errors();

  private:
    void run(unsigned rank);
    void end();
    const Testbed &bed_;
    const unsigned workers_;
    const std::function<void(CollectiveOptions &)> more_;
    std::atomic<bool> stopping_ = false;
    std::atomic<unsigned> news_ = 0; ///< sums and ends so far
    std::atomic<unsigned> running_;
    std::mutex lock_;
    unsigned newest_ = 0; ///< whose parts are in the newest sum
    std::map<unsigned, std::string> errors_;
    std::vector<std::jthread> threads_; ///< last: they use the others
};

} // namespace olaf::test
