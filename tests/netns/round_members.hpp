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

inline constexpr unsigned member_lanes = 64, member_chunks = 20; ///< 63 lanes of data
inline constexpr std::size_t member_elements = std::size_t{63} * member_chunks;

/// Those of the worker with that rank, of a job for so many.
CollectiveOptions member_options(const Testbed &bed, unsigned rank, unsigned workers);

/// A worker's vector of a round. Those of all ranks lie side by side in a sum.
std::vector<std::int64_t> member_part(unsigned rank, std::uint32_t round);
/// Whose parts an element of such a sum holds, a bit each; ~0: it is no sum of such parts.
unsigned ranks_in(const std::vector<std::int64_t> &sum, std::size_t element, std::uint32_t round);

/// A sum that came.
struct MembersSum {
    SumReport report;
    unsigned ranks = 0; ///< who is in it, a bit each; 0: not the same ones in each element
    bool last = false;  ///< the first worker stops
};

/// One vector of this worker; throws what went wrong. Records a failure if the sum isn't of anybody's parts, or
/// is of others than its report says.
MembersSum sum_as_member(Collective &collective, unsigned rank, bool last = false);

/// Joins, is in ten whole sums of just those, and leaves. Throws what went wrong.
void come_and_go(const CollectiveOptions &options, unsigned worker, unsigned workers_in_sums);

/// Who sums: the numbers of workers, what each is told, and where they run.
struct Summers {
    const Netns &netns;
    std::vector<unsigned> workers; ///< the first one says when all stop
    std::function<CollectiveOptions(unsigned worker)> options;
    std::function<void()> check_books; ///< when all have ended
};

/// Workers of a job, in threads of their own.
class Summing {
  public:
    explicit Summing(Summers summers);
    /// The first ones of a testbed's job for so many.
    Summing(const Testbed &bed, unsigned count, unsigned workers,
            const std::function<void(CollectiveOptions &)> &more = {});
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
    void run(unsigned worker);
    void end();
    const Summers summers_;
    std::atomic<bool> stopping_ = false;
    std::atomic<unsigned> news_ = 0; ///< sums and ends so far
    std::atomic<unsigned> running_;
    std::mutex lock_;
    unsigned newest_ = 0; ///< whose parts are in the newest sum
    std::map<unsigned, std::string> errors_;
    std::vector<std::jthread> threads_; ///< last: they use the others
};

} // namespace olaf::test
