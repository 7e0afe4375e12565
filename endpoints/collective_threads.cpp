// SPDX-License-Identifier: BSD-2-Clause
#include "collective_threads.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace olaf {
namespace {

constexpr unsigned kMostThreads = 64;

std::size_t size_of(Collective::Impl::Element element) {
    return element == Collective::Impl::Element::i64 ? sizeof(std::int64_t) : sizeof(std::int32_t);
}

// Of the range that begins with that element.
void add_to(SumReport &sum, const SumReport &range, std::size_t first) {
    sum.chunks += range.chunks;
    sum.spared += range.spared;
    sum.least_count = std::min(sum.least_count, range.least_count);
    sum.partial += range.partial;
    sum.late += range.late;
    sum.not_finite += range.not_finite;
    sum.clipped += range.clipped;
    sum.left_out += range.left_out;
    for (const ElementRange &at : range.left_out_at)
        sum.left_out_at.push_back({first + at.first, at.count});
}

} // namespace

Result<std::unique_ptr<CollectiveThreads>>
CollectiveThreads::open(const CollectiveOptions &options) {
    const auto job = "job " + std::to_string(options.job);
    if (options.threads == 0 || options.threads > kMostThreads)
        return fail("take part in", job, 0, {},
                    "it takes 1 to " + std::to_string(kMostThreads) + " threads");
    if (options.job > UINT32_MAX - options.threads)
        return fail("take part in", job, 0, "lower the job's id",
                    "each thread takes part in a job of its own, from this one on");
    const int ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ended_fd < 0)
        return fail("take part in", job, errno);
    std::unique_ptr<CollectiveThreads> made(new CollectiveThreads(options, ended_fd));
    if (auto begun = made->begin(); !begun)
        return std::unexpected(begun.error());
    return made;
}

Result<void> CollectiveThreads::begin() {
    for (std::uint32_t i = 0; i < options_.threads; i++) {
        auto place = std::make_unique<Place>();
        CollectiveOptions own = options_;
        own.job += i;
        own.interrupted = [this, at = place.get()] { return is_interrupted(*at); };
        auto member = CollectiveMember::open(own);
        if (!member)
            return std::unexpected(member.error());
        place->member = std::move(*member);
        places_.push_back(std::move(place));
    }
    try {
        for (auto &place : places_)
            place->thread = std::thread(&CollectiveThreads::work, this, std::ref(*place));
    } catch (const std::system_error &error) {
        return fail("begin a thread for", "job " + std::to_string(options_.job),
                    error.code().value(), "ask for fewer threads");
    }
    return {};
}

CollectiveThreads::~CollectiveThreads() {
    gives_up_ = true;
    for (auto &place : places_) {
        const std::scoped_lock lock(place->mutex);
        place->ends = true;
        place->news.notify_one();
    }
    for (auto &place : places_)
        if (place->thread.joinable())
            place->thread.join();
    ::close(ended_fd_);
}

// Called with the place's mutex held. Threads of ours don't call what isn't ours.
bool CollectiveThreads::is_interrupted(const Place &place) const {
    if (gives_up_)
        return true;
    return std::this_thread::get_id() != place.thread_id && options_.interrupted &&
           options_.interrupted();
}

void CollectiveThreads::work(Place &place) {
    std::unique_lock lock(place.mutex);
    place.thread_id = std::this_thread::get_id();
    const Sleep unlocked = {.before = [&] { lock.unlock(); }, .after = [&] { lock.lock(); }};
    for (;;) {
        place.news.wait(lock, [&] { return place.ends || !place.under_way.empty(); });
        if (place.under_way.empty())
            return;
        const Range range = place.under_way.front();
        const auto report = place.member->wait(range.number, unlocked);
        place.under_way.pop_front();
        lock.unlock();
        end_range(range, report);
        lock.lock();
    }
}

void CollectiveThreads::end_range(const Range &range, const Result<SumReport> &report) {
    const std::scoped_lock lock(mutex_);
    const auto vector = std::ranges::find(vectors_, range.vector, &Vector::number);
    if (report) {
        add_to(vector->report, *report, range.first);
    } else {
        gives_up_ = true; // the other ranges have no meaning without this one
        if (!vector->error)
            vector->error = report.error();
        if (!broken_)
            broken_ = report.error();
    }
    if (--vector->left > 0)
        return;
    ended_.notify_all();
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(ended_fd_, &one, sizeof one);
}

Result<std::uint64_t> CollectiveThreads::add(Element element, void *data, std::size_t elements,
                                             Combine combine, Part part) {
    std::uint64_t number = 0;
    {
        const std::scoped_lock lock(mutex_);
        if (broken_)
            return std::unexpected(*broken_);
        number = next_number_++;
        vectors_.push_back(
            {.number = number, .left = places_.size(), .report = {.least_count = UINT32_MAX}});
    }
    FloatPieces whole;
    for (std::size_t i = 0; i < places_.size(); i++) {
        Place &place = *places_[i];
        std::unique_lock lock(place.mutex);
        if (i == 0)
            whole = place.member->cut(element, elements);
        const auto end_of = [&](std::size_t range) {
            return std::min(elements, whole.pieces * range / places_.size() * whole.each);
        };
        const std::size_t from = end_of(i), to = end_of(i + 1);
        const auto added = place.member->add_range(
            element, static_cast<std::byte *>(data) + from * size_of(element), to - from, combine,
            part, whole);
        if (!added && i == 0) {
            const std::scoped_lock last(mutex_);
            vectors_.pop_back();
            return added;
        }
        if (added) {
            place.under_way.push_back({.vector = number, .number = *added, .first = from});
            place.news.notify_one();
        }
        lock.unlock();
        if (!added)
            end_range({.vector = number}, std::unexpected(added.error()));
    }
    return number;
}

} // namespace olaf
