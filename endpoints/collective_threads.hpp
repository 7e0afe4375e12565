// SPDX-License-Identifier: BSD-2-Clause
// Several members, one of each of several jobs, with a thread each. Every vector is cut into ranges of
// whole chunks, one for each member. collective_threads.cpp begins and sums, collective_threads_waiting.cpp waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "collective_member.hpp"

namespace olaf {

/// A member is used under its mutex: by its thread, which waits for its ranges, and by whoever calls.
/// `mutex_` is taken last, and nothing is called under it.
class CollectiveThreads final : public Collective::Impl {
  public:
    static Result<std::unique_ptr<CollectiveThreads>> open(const CollectiveOptions &options);
    CollectiveThreads(const CollectiveThreads &) = delete;
    CollectiveThreads &operator=(const CollectiveThreads &) = delete;
    /// Gives up what is under way, within 100 ms.
    ~CollectiveThreads() override;

    Result<void> start() override;
    Result<bool> finish(std::optional<std::chrono::nanoseconds> timeout) override;
    Result<std::uint32_t> join() override;
    Result<bool> leave(std::chrono::nanoseconds timeout) override;
    Result<std::uint64_t> add(Element element, void *data, std::size_t elements, Combine combine,
                              Part part) override;
    void overhear(std::size_t) override {}
    bool take_overheard(std::span<float>) override { return false; }
    Result<SumReport> wait(std::uint64_t number, const Sleep &sleep) override;
    [[nodiscard]] bool is_done(std::uint64_t number) const override;
    Result<void> poll() override;
    [[nodiscard]] CollectiveStats stats() const override;
    [[nodiscard]] std::uint32_t next_round() const override;
    [[nodiscard]] int fd() const override { return ended_fd_; }

  private:
    struct Range {
        std::uint64_t vector = 0; // here
        std::uint64_t number = 0; // of the member's
        std::size_t first = 0;    // element
    };
    struct Place {
        mutable std::mutex mutex;
        // Under it:
        std::unique_ptr<CollectiveMember> member;
        std::deque<Range> under_way;
        std::thread::id thread_id;
        bool ends = false;
        std::condition_variable news; // a range, or the end
        std::thread thread;
    };
    struct Vector {
        std::uint64_t number = 0;
        std::size_t left = 0; // ranges without a sum
        SumReport report = {};
        std::optional<Error> error = {}; // the first
    };

    CollectiveThreads(const CollectiveOptions &options, int ended_fd)
        : options_(options), ended_fd_(ended_fd) {}
    Result<void> begin();
    bool is_interrupted(const Place &place) const;
    void work(Place &place);
    void end_range(const Range &range, const Result<SumReport> &report);
    void wait_until(const std::function<bool()> &done, const Sleep &sleep);
    bool all_ended() const;
    [[nodiscard]] std::unexpected<Error> not_with_threads(const char *call) const;

    CollectiveOptions options_;
    int ended_fd_; // an eventfd, counted up for each vector that ends
    std::vector<std::unique_ptr<Place>> places_;
    std::atomic<bool> gives_up_ = false; // all that is under way fails

    mutable std::mutex mutex_;
    // Under it:
    std::deque<Vector> vectors_; // not waited for yet
    std::uint64_t next_number_ = 0;
    std::optional<Error> broken_;
    std::condition_variable ended_;
};

} // namespace olaf
