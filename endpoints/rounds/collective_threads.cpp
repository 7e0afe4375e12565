// SPDX-License-Identifier: BSD-2-Clause
// Several members, one of each of several jobs, with a thread each.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include <olaf/try.hpp>

#include "endpoints/rounds/member.hpp"

namespace olaf {
namespace {

constexpr unsigned kMostThreads = 64;

std::size_t size_of(Collective::Impl::Element element) {
    return element == Collective::Impl::Element::i64 ? sizeof(std::int64_t) : sizeof(std::int32_t);
}

// Adds the report of the range that begins with element `first`.
void add_to(SumReport &sum, const SumReport &range, std::size_t first) {
    sum.chunks += range.chunks;
    sum.spared += range.spared;
    sum.least_count = std::min(sum.least_count, range.least_count);
    sum.partial += range.partial;
    sum.late += range.late;
    sum.not_finite += range.not_finite;
    sum.left_out += range.left_out;
    for (const ElementRange &at : range.left_out_at)
        sum.left_out_at.push_back({first + at.first, at.count});
}

// Every vector is cut into ranges of whole chunks, one for each member.
// A member is used under its mutex: by its thread, which waits for its ranges, and by the callers.
// `mutex_` is taken last, and nothing is called under it.
class CollectiveThreads final : public Collective::Impl {
  public:
    /// `ended_fd`: an eventfd, which it closes. begin() follows.
    CollectiveThreads(const CollectiveOptions &options, int ended_fd)
        : options_(options), ended_fd_(ended_fd) {}
    CollectiveThreads(const CollectiveThreads &) = delete;
    CollectiveThreads &operator=(const CollectiveThreads &) = delete;
    /// Gives up what is under way, within 100 ms.
    ~CollectiveThreads() override;
    Result<void> begin();

    Result<void> start() override;
    Result<bool> finish(std::optional<std::chrono::nanoseconds> timeout) override;
    // Each member would begin with another vector than the next one.
    Result<std::uint32_t> join() override { return not_with_threads("join()"); }
    Result<bool> leave(std::chrono::nanoseconds) override { return not_with_threads("leave()"); }
    Result<std::shared_ptr<State>> add(Element element, void *data, std::size_t elements,
                                       Combine combine, Part part) override;
    void overhear(std::size_t) override {}
    bool take_overheard(std::span<float>) override { return false; }
    Result<SumReport> wait(State &state, const Sleep &sleep) override;
    [[nodiscard]] bool is_done(const State &state) const override;
    Result<void> poll() override;
    [[nodiscard]] CollectiveStats stats() const override;
    [[nodiscard]] std::uint32_t next_round() const override;
    [[nodiscard]] int fd() const override { return ended_fd_; }

  private:
    using Barrier = std::function<Result<bool>(CollectiveMember &)>;
    // Under mutex_.
    struct Vector : State {
        Element element = Element::f32;
        void *data = nullptr;
        std::size_t elements = 0;
        std::size_t left = 0; // ranges without a sum
        SumReport sum = {.least_count = UINT32_MAX};
        std::optional<Error> error = {}; // the first
    };
    struct Range {
        std::shared_ptr<Vector> vector;
        std::shared_ptr<State> part = {}; // of the member's
        std::size_t first = 0;            // element
    };
    struct Place {
        mutable std::mutex mutex;
        // Under it:
        std::unique_ptr<CollectiveMember> member;
        std::deque<Range> under_way;
        std::thread::id thread_id;
        const Barrier *barrier = nullptr; // its member is to call it
        bool ends = false;
        std::condition_variable news; // a range, a barrier, or the end
        std::thread thread;
    };

    bool is_interrupted(const Place &place) const;
    void work(Place &place);
    Result<bool> call_at_all(const Barrier &barrier);
    [[nodiscard]] bool is_one_session() const;
    void end_barrier(const Result<bool> &ended);
    void end_range(const Range &range, const Result<SumReport> &report);
    void wait_until(const std::function<bool()> &done, const Sleep &sleep);
    [[nodiscard]] std::unexpected<Error> not_with_threads(const char *call) const {
        return fail(call, "job " + std::to_string(options_.job), 0, "ask for one thread",
                    "it isn't there for several threads");
    }

    CollectiveOptions options_;
    int ended_fd_; // counted up for each vector that ends
    std::vector<std::unique_ptr<Place>> places_;
    std::atomic<bool> gives_up_ = false; // all that is under way fails

    mutable std::mutex mutex_;
    // Under it:
    std::size_t under_way_ = 0;         // vectors
    std::size_t at_barrier_ = 0;        // members
    Result<bool> barrier_ended_ = true; // the first error; else whether it is true of all members
    std::optional<Error> broken_;
    std::condition_variable ended_;
};

Result<void> CollectiveThreads::begin() {
    for (std::uint32_t i = 0; i < options_.threads; i++) {
        auto place = std::make_unique<Place>();
        CollectiveOptions own = options_;
        own.job += i;
        own.interrupted = [this, at = place.get()] { return is_interrupted(*at); };
        place->member = OLAF_TRY(CollectiveMember::open(own));
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

// Called with the place's mutex held. Only callers' threads call the caller's function.
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
        place.news.wait(lock,
                        [&] { return place.ends || place.barrier || !place.under_way.empty(); });
        if (const Barrier *barrier = std::exchange(place.barrier, nullptr)) {
            end_barrier((*barrier)(*place.member));
            continue;
        }
        if (place.under_way.empty())
            return;
        const Range range = place.under_way.front();
        const auto report = place.member->wait(*range.part, unlocked);
        place.under_way.pop_front();
        lock.unlock();
        end_range(range, report);
        lock.lock();
    }
}

void CollectiveThreads::end_barrier(const Result<bool> &ended) {
    const std::scoped_lock lock(mutex_);
    if (!ended)
        gives_up_ = true; // no member alone is of any use
    if (barrier_ended_)
        barrier_ended_ = ended ? *ended && *barrier_ended_ : ended;
    at_barrier_--;
    ended_.notify_all();
}

void CollectiveThreads::end_range(const Range &range, const Result<SumReport> &report) {
    const std::scoped_lock lock(mutex_);
    Vector &vector = *range.vector;
    if (report) {
        add_to(vector.sum, *report, range.first);
    } else {
        gives_up_ = true; // the other ranges have no meaning without this one
        if (!vector.error)
            vector.error = report.error();
        if (!broken_)
            broken_ = report.error();
    }
    if (--vector.left > 0)
        return;
    if (vector.error) {
        spoil(vector.element, vector.data, vector.elements);
        vector.report = std::unexpected(*vector.error);
    } else {
        vector.report = std::move(vector.sum);
    }
    vector.done = true;
    under_way_--;
    ended_.notify_all();
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(ended_fd_, &one, sizeof one);
}

Result<std::shared_ptr<Collective::Impl::State>> CollectiveThreads::add(Element element, void *data,
                                                                        std::size_t elements,
                                                                        Combine combine,
                                                                        Part part) {
    const auto vector = std::make_shared<Vector>();
    vector->element = element;
    vector->data = data;
    vector->elements = elements;
    vector->left = places_.size();
    {
        const std::scoped_lock lock(mutex_);
        if (broken_)
            return std::unexpected(*broken_);
        under_way_++;
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
            under_way_--;
            return added;
        }
        if (added) {
            place.under_way.push_back({.vector = vector, .part = *added, .first = from});
            place.news.notify_one();
        }
        lock.unlock();
        if (!added)
            end_range({.vector = vector}, std::unexpected(added.error()));
    }
    return vector;
}

// ---- what a caller waits for: its vectors, and that all members have started or finished ----

// Calls `done` under the mutex, and returns once it is true. When the caller is interrupted, all
// vectors under way fail.
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

Result<SumReport> CollectiveThreads::wait(State &state, const Sleep &sleep) {
    wait_until([&] { return state.done; }, sleep);
    const std::scoped_lock lock(mutex_);
    return take_report(state);
}

bool CollectiveThreads::is_done(const State &state) const {
    const std::scoped_lock lock(mutex_);
    return state.done;
}

// All members ask before the first is answered. Else another worker could wait for its sum in the
// second job until this one asks there, and this one for that worker's question in the first.
Result<bool> CollectiveThreads::call_at_all(const Barrier &barrier) {
    {
        const std::scoped_lock lock(mutex_);
        at_barrier_ = places_.size();
        barrier_ended_ = true;
    }
    gives_up_ = false;
    for (auto &place : places_) {
        const std::scoped_lock lock(place->mutex);
        place->barrier = &barrier;
        place->news.notify_one();
    }
    wait_until([this] { return at_barrier_ == 0; }, {});
    gives_up_ = false;
    const std::scoped_lock lock(mutex_);
    return barrier_ended_;
}

// Whether all members have agreed with the same start() of each other worker. Another worker's last
// start() may be over and still count in one of the jobs, and its new one in another job. Then the
// two workers could tell each other for ever to start again, in turn: each start() would end what
// the other has agreed to in one job. Whoever asks once more in all jobs hasn't agreed to anything
// in them before.
bool CollectiveThreads::is_one_session() const {
    std::vector<std::uint64_t> sessions;
    for (const auto &place : places_) {
        const std::scoped_lock lock(place->mutex);
        sessions.push_back(place->member->session());
    }
    return std::ranges::adjacent_find(sessions, std::ranges::not_equal_to{}) == sessions.end();
}

Result<void> CollectiveThreads::start() {
    gives_up_ = true;
    wait_until([this] { return under_way_ == 0; }, {});
    {
        const std::scoped_lock lock(mutex_);
        broken_.reset();
    }
    const auto incarnation = random_incarnation();
    auto started = call_at_all([&](CollectiveMember &member) -> Result<bool> {
        OLAF_TRY(member.start_as(incarnation));
        return true;
    });
    if (started && !is_one_session())
        started = call_at_all([](CollectiveMember &member) -> Result<bool> {
            OLAF_TRY(member.ask_anew());
            return true;
        });
    if (started)
        return {};
    const std::scoped_lock lock(mutex_);
    broken_ = started.error();
    return std::unexpected(*broken_);
}

Result<bool> CollectiveThreads::finish(std::optional<std::chrono::nanoseconds> timeout) {
    wait_until([this] { return under_way_ == 0; }, {});
    {
        const std::scoped_lock lock(mutex_);
        if (broken_)
            return std::unexpected(*broken_);
    }
    return call_at_all([&](CollectiveMember &member) { return member.finish(timeout); });
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
        sum += place->member->stats();
    }
    return sum;
}

std::uint32_t CollectiveThreads::next_round() const {
    const std::scoped_lock lock(places_.front()->mutex);
    return places_.front()->member->next_round();
}

} // namespace

Result<std::unique_ptr<Collective::Impl>> open_threads(const CollectiveOptions &options) {
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
    auto made = std::make_unique<CollectiveThreads>(options, ended_fd);
    OLAF_TRY(made->begin());
    return made;
}

} // namespace olaf
