// SPDX-License-Identifier: BSD-2-Clause
#include "recording.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "events.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// Points of the occupancy's curve: as many as a picture has columns.
constexpr std::uint64_t looks = 1000;

double seconds(Clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

class Recorder {
  public:
    Recorder(const Signals &signals, std::uint64_t for_ns)
        : signals_(signals), start_(Clock::now()), end_(start_ + nanoseconds(for_ns)),
          pause_(std::clamp<std::uint64_t>(for_ns / looks, 2'000'000, 1'000'000'000)) {
        recording.started_ns = static_cast<std::uint64_t>(start_.time_since_epoch().count());
        recording.started_s = std::time(nullptr);
    }

    bool take(const Event &event) {
        const auto &record = event.record;
        recording.events++;
        recording.folds[record.count]++;
        if (recording.departures.size() < Recording::most_departures)
            recording.departures.push_back(
                {.time_s = static_cast<double>(static_cast<std::int64_t>(record.time_ns) -
                                               start_.time_since_epoch().count()) /
                           1e9, // both CLOCK_MONOTONIC
                 .cluster = record.cluster,
                 .segment = record.segment,
                 .count = record.count,
                 .generated_age_ns = event.age_ns().value_or(0),
                 .arrival_age_ns = static_cast<std::int64_t>(event.engine_age_ns().value_or(0)),
                 .wait_ns = event.wait_ns().value_or(0)});
        return true;
    }

    Result<void> run(Listener &listener, int ring_fd) {
        for (auto next = start_;;) {
            const auto now = Clock::now();
            const bool over = now >= end_ || signals_.take() != 0;
            if (over)
                listener.stop();
            else
                OLAF_TRY(listener.renew());
            OLAF_TRY(listener.consume());
            if (now >= next || over) {
                const auto ring = OLAF_TRY(read_ring(ring_fd));
                recording.occupancy.push_back({seconds(now - start_), ring.tail - ring.head});
                next = now + pause_;
            }
            if (over) {
                recording.seconds = seconds(now - start_);
                return {};
            }
            wait(listener, std::min(next, end_) - now);
        }
    }

    Recording recording;

  private:
    void wait(const Listener &listener, Clock::duration time) const {
        pollfd ready[] = {{.fd = listener.fd(), .events = POLLIN, .revents = 0},
                          {.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(std::max(time, Clock::duration{}));
        ::poll(ready, std::size(ready), static_cast<int>(left.count()));
    }

    const Signals &signals_;
    const Clock::time_point start_, end_;
    const nanoseconds pause_;
};

} // namespace

Result<Recording> record_queue(const Attachment &attachment, std::uint64_t for_ns,
                               const Signals &signals) {
    QueueReader reader(attachment);
    const auto ring = OLAF_TRY(open_map_to_read(attachment, "olaf_ring"));
    Recorder recorder(signals, for_ns);
    const auto listener =
        OLAF_TRY(Listener::start(attachment, {.kinds = 1U << OLAF_EVENT_DEPARTURE},
                                 [&](const Event &event) { return recorder.take(event); }));
    auto first = OLAF_TRY(reader.read());
    OLAF_TRY(recorder.run(*listener, ring.get()));
    auto last = OLAF_TRY(reader.read());
    const auto missed = OLAF_TRY(listener->missed());
    auto &recording = recorder.recording;
    recording.missed = missed;
    recording.rows = rows_between(first, last);
    recording.first = std::move(first);
    recording.last = std::move(last);
    return std::move(recording);
}

std::vector<Lost> losses_by_reason(const Recording &recording) {
    std::vector<Lost> reasons;
    for (std::size_t group = 0; group < counter_groups().size(); group++) {
        if (!counter_groups()[group].loses)
            continue;
        for (const auto *figure : whole_figures(static_cast<olaf_group>(group))) {
            const auto before = figure->in(recording.first.numbers()),
                       after = figure->in(recording.last.numbers());
            if (before && after)
                reasons.push_back(
                    {figure->path(), *after - std::min(*before, *after), figure->unit});
        }
    }
    return reasons;
}

double recorded_fairness(const Recording &recording, AgeClock clock) {
    std::vector<double> averages;
    for (const auto &row : recording.rows.clusters)
        if (row.aom.segments > 0 && !row.idle)
            averages.push_back(clock == AgeClock::arrival ? row.arrival.average_ns()
                                                          : row.generated.average_ns());
    return jain_index(averages);
}

namespace {

const Age &age_of(const ClusterAom &aom, AgeClock clock) {
    return clock == AgeClock::arrival ? aom.arrival : aom.generated;
}

/// A departure's newest update: when it was made, seconds since the recording began.
double made_s(const Departure &departure, AgeClock clock) {
    const auto age_ns =
        clock == AgeClock::arrival ? departure.arrival_age_ns : departure.generated_age_ns;
    // One of the future is taken to be made as it departs.
    return departure.time_s - static_cast<double>(std::max<std::int64_t>(age_ns, 0)) / 1e9;
}

} // namespace

std::optional<std::uint64_t> recorded_peak_ns(const Recording &recording, std::uint32_t cluster,
                                              AgeClock clock) {
    const auto *before = aom_of(recording.first.aom, cluster);
    const auto *after = aom_of(recording.last.aom, cluster);
    std::uint64_t highest = 0;
    // A new record is one of this time: exact, also where departures are missing.
    if (after != nullptr) {
        const auto record = age_of(*after, clock).highest_peak_ns;
        if (before == nullptr || record > age_of(*before, clock).highest_peak_ns)
            highest = record;
    }
    std::map<std::uint32_t, double> newest; // by segment
    if (before != nullptr && before->segments == 1 && after != nullptr && after->segments == 1)
        newest[0] = (static_cast<double>(recording.first.aom.now_ns) -
                     static_cast<double>(recording.started_ns) -
                     static_cast<double>(age_of(*before, clock).age_ns)) /
                    1e9;
    for (const auto &departure : recording.departures) {
        if (departure.cluster != cluster)
            continue;
        const double made = made_s(departure, clock);
        const auto [known, fresh] = newest.try_emplace(departure.segment, made);
        if (fresh || made <= known->second)
            continue; // the first that is known, or stale: no fall
        highest = std::max(highest, static_cast<std::uint64_t>(
                                        std::max(0.0, departure.time_s - known->second) * 1e9));
        known->second = made;
    }
    return highest > 0 ? std::optional{highest} : std::nullopt;
}

} // namespace olaf
