// SPDX-License-Identifier: BSD-2-Clause
#include "aom.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <numeric>

#include "loader/host/clock.hpp"
#include "loader/host/retry.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint32_t ages_at_once = 64; // 150 kB, which stay in the cache

Wide wide(const olaf_u128 &value) {
    return Wide{value.high} << 64 | value.low;
}

/// later − earlier; 0 where `later` is a little behind after all.
std::uint64_t since(std::uint64_t later, std::uint64_t earlier) {
    return later > earlier ? later - earlier : 0;
}

std::uint64_t age_at(const olaf_sawtooth &sawtooth, std::uint64_t now_ns) {
    return now_ns - static_cast<std::uint64_t>(sawtooth.newest_ns);
}

void add_recent(RecentAge &sum, const RecentAge &more) {
    sum.twice_area += more.twice_area;
    sum.time_ns += more.time_ns;
    sum.highest_ns = std::max(sum.highest_ns, more.highest_ns);
}

void add_sawtooth(Age &age, const AgeClockMembers &clock, const __u64 *histogram,
                  const olaf_aom &segment, std::uint64_t now_ns) {
    const auto &sawtooth = segment.*clock.sawtooth;
    const Wide a = age_at(sawtooth, segment.last_ns), b = age_at(sawtooth, now_ns);
    age.twice_area += wide(sawtooth.twice_area) + (b * b - a * a);
    age.time_ns += since(now_ns, segment.first_ns);
    age.settled_twice_area += wide(sawtooth.twice_area);
    age.settled_time_ns += since(segment.last_ns, segment.first_ns);
    age.age_ns += static_cast<std::uint64_t>(b);
    age.peaks += sawtooth.peaks;
    age.peak_sum += wide(sawtooth.peak_sum);
    age.highest_peak_ns = std::max<std::uint64_t>(age.highest_peak_ns, sawtooth.highest_peak_ns);
    for (std::size_t i = 0; i < age.histogram.size(); i++)
        age.histogram[i] += histogram[i];
    age.age_sum += wide(segment.*clock.age_sum);
    add_recent(age.minute, recent_age(segment, clock, since(now_ns, minute_ns), now_ns));
    add_seconds(age.seconds, segment, clock, now_ns);
}

/// The segment as it was at one moment.
Result<void> copy_again(int fd, std::uint32_t key, olaf_aom &segment) {
    for (Retry retry; retry.again();) {
        if (bpf_map_lookup_elem(fd, &key, &segment) != 0)
            return fail("read map", "olaf_aom", errno);
        if (segment.ended == segment.begun)
            return {};
    }
    return fail("read map", "olaf_aom", EBUSY, "try again", "a departure doesn't end");
}

/// Of all clusters, or of those that aren't idle: each one's average and highest age as told.
ClockSummary summary_by(const AomReading &reading, Age ClusterAom::*clock, bool with_idle,
                        double (*average_of)(const Age &), std::uint64_t (*highest_of)(const Age &)) {
    ClockSummary summary;
    std::vector<double> averages;
    for (const auto &cluster : reading.clusters) {
        if (cluster.idle && !with_idle)
            continue;
        const Age &age = cluster.*clock;
        averages.push_back(average_of(age));
        summary.oldest_ns = std::max(summary.oldest_ns, age.age_ns);
        summary.peak_highest_ns = std::max(summary.peak_highest_ns, highest_of(age));
    }
    const auto sum = std::accumulate(averages.begin(), averages.end(), 0.0);
    summary.average_ns = static_cast<std::uint64_t>(
        std::llround(sum / static_cast<double>(std::max<std::size_t>(averages.size(), 1))));
    summary.fairness = jain_index(averages);
    return summary;
}

double ratio(Wide sum, std::uint64_t count) {
    return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count);
}

} // namespace

double RecentAge::average_ns() const {
    return ratio(twice_area, time_ns) / 2;
}

double Age::average_ns() const {
    return ratio(twice_area, time_ns) / 2;
}

double Age::settled_average_ns() const {
    return ratio(settled_twice_area, settled_time_ns) / 2;
}

double Age::mean_peak_ns() const {
    return ratio(peak_sum, peaks);
}

std::uint64_t Age::highest_ns(std::uint64_t from_ns, std::uint64_t now_ns) const {
    auto highest = age_ns;
    const auto last = now_ns >> OLAF_AGE_SECOND_SHIFT;
    for (auto s = std::max(from_ns >> OLAF_AGE_SECOND_SHIFT, since(last, OLAF_AGE_SECONDS - 1));
         s <= last; s++)
        highest = std::max(highest, seconds[s % OLAF_AGE_SECONDS]);
    return highest;
}

double ClusterAom::mean_wait_ns() const {
    return ratio(wait_sum, departures);
}

double ClusterAom::mean_version_lag() const {
    return ratio(version_lag_sum, departures);
}

void add_segment(ClusterAom &cluster, const olaf_aom &segment, std::uint64_t now_ns) {
    if (segment.ended == segment.forgotten)
        return;
    now_ns = std::max<std::uint64_t>(now_ns, segment.last_ns);
    const bool first = cluster.segments++ == 0;
    const bool latest = first || segment.last_ns >= cluster.last_ns;
    add_sawtooth(cluster.arrival, arrival_members, segment.age_by_arrival, segment, now_ns);
    add_sawtooth(cluster.generated, generated_members, segment.age_by_generated, segment, now_ns);
    if (latest) {
        cluster.last_ns = segment.last_ns;
        cluster.version_lag = segment.version_lag;
        cluster.arrival.last_age_ns = segment.arrival.last_age_ns;
        cluster.generated.last_age_ns = segment.generated.last_age_ns;
    }
    // Versions wrap: "newer" is within half the circle.
    if (first || static_cast<std::int32_t>(segment.version_newest - cluster.version_newest) > 0)
        cluster.version_newest = segment.version_newest;
    cluster.first_ns =
        first ? segment.first_ns : std::min<std::uint64_t>(cluster.first_ns, segment.first_ns);
    cluster.departures += segment.ended - segment.forgotten;
    cluster.idle = (first || cluster.idle) && since(now_ns, segment.last_ns) > minute_ns;
    cluster.updates += segment.updates;
    cluster.wait_sum += wide(segment.wait_sum);
    cluster.wait_max_ns = std::max<std::uint64_t>(cluster.wait_max_ns, segment.wait_max_ns);
    cluster.from_future += segment.from_future;
    cluster.version_lag_max =
        std::max({cluster.version_lag_max, segment.version_lag_max, segment.version_row_max});
    cluster.version_lag_sum += wide(segment.version_lag_sum) + segment.version_row_sum;
    for (std::size_t i = 0; i < cluster.folds.size(); i++)
        cluster.folds[i] += segment.folds[i];
}

Result<AomReading> read_aom(const olaf_config &config, const MapFinder &map_fd) {
    AomReading reading;
    // The clock is read before the maps: a departure after this moment is then part of what is
    // added below, and never missing from it.
    reading.now_ns = monotonic_ns();
    const int fd = map_fd("olaf_aom");
    olaf_control control{};
    const std::uint32_t only = 0;
    if (bpf_map_lookup_elem(map_fd("olaf_control"), &only, &control) != 0)
        return fail("read map", "olaf_control", errno);
    const std::uint32_t slots = config.max_clusters * config.max_segments;
    std::map<std::uint32_t, ClusterAom> departed; // of most clusters nothing has
    std::vector<std::uint32_t> keys(std::min(slots, ages_at_once));
    std::vector<olaf_aom> values(keys.size());
    std::uint32_t in = 0, out = 0;
    for (bool first = true, more = true; more; first = false, in = out) {
        auto count = static_cast<std::uint32_t>(keys.size());
        more = bpf_map_lookup_batch(fd, first ? nullptr : &in, &out, keys.data(), values.data(),
                                    &count, nullptr) == 0;
        if (!more && errno != ENOENT)
            return fail("read map", "olaf_aom", errno);
        for (std::uint32_t i = 0; i < count; i++) {
            auto &segment = values[i];
            if (segment.ended != segment.begun)
                OLAF_TRY(copy_again(fd, keys[i], segment));
            // What is older than the figures forgets at its next departure.
            if (segment.ended != segment.forgotten && segment.first_ns >= control.figures_from_ns)
                add_segment(departed[keys[i] / config.max_segments], segment, reading.now_ns);
        }
    }
    for (const auto &[id, ages] : departed) {
        auto &cluster = reading.clusters.emplace_back(ages);
        cluster.cluster = id;
        cluster.arrival.age_ns /= cluster.segments;
        cluster.generated.age_ns /= cluster.segments;
    }
    return reading;
}

double jain_index(std::span<const double> values) {
    double sum = 0, squares = 0;
    for (const double value : values) {
        sum += value;
        squares += value * value;
    }
    // μ² + σ² is the mean of the squares.
    return squares == 0 ? 1.0 : sum * sum / (static_cast<double>(values.size()) * squares);
}

double aom_fairness(const AomReading &reading, Age ClusterAom::*clock) {
    std::vector<double> averages;
    averages.reserve(reading.clusters.size());
    for (const auto &cluster : reading.clusters)
        averages.push_back((cluster.*clock).average_ns());
    return jain_index(averages);
}

ClockSummary summary_of(const AomReading &reading, Age ClusterAom::*clock) {
    return summary_by(
        reading, clock, true, [](const Age &age) { return age.average_ns(); },
        [](const Age &age) { return age.highest_peak_ns; });
}

ClockSummary settled_of(const AomReading &reading, Age ClusterAom::*clock) {
    return summary_by(
        reading, clock, true, [](const Age &age) { return age.settled_average_ns(); },
        [](const Age &age) { return age.highest_peak_ns; });
}

ClockSummary minute_of(const AomReading &reading, Age ClusterAom::*clock) {
    return summary_by(
        reading, clock, false, [](const Age &age) { return age.minute.average_ns(); },
        [](const Age &age) { return age.minute.highest_ns; });
}

namespace {

std::uint64_t second_of(std::uint64_t ns) {
    return ns >> OLAF_AGE_SECOND_SHIFT;
}

/// Twice the area while an age grows from one moment to another.
Wide growth(std::int64_t newest_ns, std::uint64_t from_ns, std::uint64_t to_ns) {
    const Wide a = from_ns - static_cast<std::uint64_t>(newest_ns),
               b = to_ns - static_cast<std::uint64_t>(newest_ns);
    return b * b - a * a;
}

/// The first mark that doesn't end before `from_ns`; nullptr: nothing departed from then on that
/// there is a mark of.
const olaf_age_mark *mark_at(const olaf_aom &segment, std::uint64_t from_ns) {
    const olaf_age_mark *found = nullptr;
    for (const auto &mark : segment.marks)
        if (mark.to_ns >= from_ns && mark.to_ns != 0 &&
            (found == nullptr || mark.to_ns < found->to_ns))
            found = &mark;
    return found;
}

/// The last second of which the kernel has a peak, and the first.
std::uint64_t last_second(const olaf_aom &segment) {
    return second_of(segment.last_ns);
}
std::uint64_t first_second(const olaf_aom &segment) {
    const auto last = last_second(segment);
    return last - std::min<std::uint64_t>(last, OLAF_AGE_SECONDS - 1);
}

} // namespace

RecentAge recent_age(const olaf_aom &segment, const AgeClockMembers &clock, std::uint64_t from_ns,
                     std::uint64_t now_ns) {
    const auto &sawtooth = segment.*clock.sawtooth;
    now_ns = std::max<std::uint64_t>(now_ns, segment.last_ns);
    std::uint64_t start = segment.first_ns;
    Wide before = 0; // twice the area up to start
    if (from_ns > segment.first_ns) {
        if (const auto *mark = mark_at(segment, from_ns)) {
            start = std::max<std::uint64_t>(from_ns, mark->from_ns);
            before = wide(mark->*clock.twice_area) +
                     growth(mark->*clock.newest, mark->from_ns, start);
        } else {
            start = std::max<std::uint64_t>(from_ns, segment.last_ns);
            before = wide(sawtooth.twice_area) +
                     growth(sawtooth.newest_ns, segment.last_ns, start);
        }
    }
    RecentAge age{.twice_area = wide(sawtooth.twice_area) +
                                growth(sawtooth.newest_ns, segment.last_ns, now_ns) - before,
                  .time_ns = now_ns - start,
                  .highest_ns = now_ns - static_cast<std::uint64_t>(sawtooth.newest_ns)};
    if (segment.last_ns >= start)
        for (auto s = std::max(second_of(start), first_second(segment)); s <= last_second(segment);
             s++)
            age.highest_ns = std::max<std::uint64_t>(
                age.highest_ns, segment.seconds[s % OLAF_AGE_SECONDS].*clock.peak);
    return age;
}

void add_seconds(std::array<std::uint64_t, OLAF_AGE_SECONDS> &seconds, const olaf_aom &segment,
                 const AgeClockMembers &clock, std::uint64_t now_ns) {
    const auto oldest = second_of(now_ns) - std::min<std::uint64_t>(second_of(now_ns),
                                                                    OLAF_AGE_SECONDS - 1);
    for (auto s = std::max(oldest, first_second(segment)); s <= last_second(segment); s++) {
        auto &second = seconds[s % OLAF_AGE_SECONDS];
        second = std::max<std::uint64_t>(second,
                                         segment.seconds[s % OLAF_AGE_SECONDS].*clock.peak);
    }
}

} // namespace olaf
