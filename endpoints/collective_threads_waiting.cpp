// SPDX-License-Identifier: BSD-2-Clause
// What a caller waits for: its vectors, and that all members have started or finished.
#include <algorithm>
#include <string>

#include <unistd.h>

#include "collective_threads.hpp"

namespace olaf {
namespace {

constexpr auto kLookUpEvery = std::chrono::milliseconds(100);

void add_to(CollectiveStats &sum, const CollectiveStats &member) {
    sum.sent += member.sent;
    sum.repeated += member.repeated;
    sum.unsent += member.unsent;
    sum.results += member.results;
    sum.spared += member.spared;
    sum.partial += member.partial;
    sum.late += member.late;
    sum.missed += member.missed;
    sum.agreed += member.agreed;
    sum.unasked += member.unasked;
    sum.rejected += member.rejected;
}

} // namespace

// Calls `done` under the mutex, and goes on once it is true. Interrupted, all that is under way
// fails.
void CollectiveThreads::wait_until(const std::function<bool()> &done, const Sleep &sleep) {
    for (;;) {
        if (sleep.before)
            sleep.before();
        bool is_done = false;
        {
            std::unique_lock lock(mutex_);
            if (options_.interrupted)
                is_done = ended_.wait_for(lock, kLookUpEvery, done);
            else
                ended_.wait(lock, done), is_done = true;
        }
        if (sleep.after)
            sleep.after();
        if (is_done)
            return;
        if (options_.interrupted())
            gives_up_ = true;
    }
}

Result<SumReport> CollectiveThreads::wait(std::uint64_t number, const Sleep &sleep) {
    const auto find = [&] { return std::ranges::find(vectors_, number, &Vector::number); };
    wait_until(
        [&] {
            const auto vector = find();
            return vector == vectors_.end() || vector->left == 0;
        },
        sleep);
    const std::scoped_lock lock(mutex_);
    const auto vector = find();
    if (vector == vectors_.end())
        return fail("wait for a sum", {}, 0, {}, "it was waited for already");
    const Vector ended = std::move(*vector);
    vectors_.erase(vector);
    if (ended.error)
        return std::unexpected(*ended.error);
    return ended.report;
}

bool CollectiveThreads::is_done(std::uint64_t number) const {
    const std::scoped_lock lock(mutex_);
    const auto vector = std::ranges::find(vectors_, number, &Vector::number);
    return vector == vectors_.end() || vector->left == 0;
}

// Under the mutex.
bool CollectiveThreads::all_ended() const {
    return std::ranges::all_of(vectors_, [](const Vector &each) { return each.left == 0; });
}

Result<void> CollectiveThreads::start() {
    gives_up_ = true;
    wait_until([this] { return all_ended(); }, {});
    {
        const std::scoped_lock lock(mutex_);
        broken_.reset();
    }
    gives_up_ = false;
    for (auto &place : places_) {
        const std::scoped_lock lock(place->mutex);
        if (auto started = place->member->start(); !started) {
            const std::scoped_lock last(mutex_);
            broken_ = started.error();
            return started;
        }
    }
    return {};
}

// Each member would begin with another vector than the next one.
Result<std::uint32_t> CollectiveThreads::join() {
    return not_with_threads("join()");
}
Result<bool> CollectiveThreads::leave(std::chrono::nanoseconds) {
    return not_with_threads("leave()");
}

std::unexpected<Error> CollectiveThreads::not_with_threads(const char *call) const {
    return fail(call, "job " + std::to_string(options_.job), 0, "ask for one thread",
                "it isn't there for several threads");
}

Result<bool> CollectiveThreads::finish(std::optional<std::chrono::nanoseconds> timeout) {
    wait_until([this] { return all_ended(); }, {});
    {
        const std::scoped_lock lock(mutex_);
        if (broken_)
            return std::unexpected(*broken_);
    }
    bool known = true;
    for (auto &place : places_) {
        const std::scoped_lock lock(place->mutex);
        const auto finished = place->member->finish(timeout);
        if (!finished)
            return finished;
        known = known && *finished;
    }
    return known;
}

Result<void> CollectiveThreads::poll() {
    std::uint64_t ended = 0;
    [[maybe_unused]] const auto read = ::read(ended_fd_, &ended, sizeof ended);
    const std::scoped_lock lock(mutex_);
    if (broken_)
        return std::unexpected(*broken_);
    return {};
}

CollectiveStats CollectiveThreads::stats() const {
    CollectiveStats sum;
    for (const auto &place : places_) {
        const std::scoped_lock lock(place->mutex);
        add_to(sum, place->member->stats());
    }
    return sum;
}

std::uint32_t CollectiveThreads::next_round() const {
    const std::scoped_lock lock(places_.front()->mutex);
    return places_.front()->member->next_round();
}

} // namespace olaf
