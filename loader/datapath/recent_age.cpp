// SPDX-License-Identifier: BSD-2-Clause
#include "recent_age.hpp"

#include <algorithm>

namespace olaf {
namespace {

std::uint64_t second_of(std::uint64_t ns) {
    return ns >> OLAF_AGE_SECOND_SHIFT;
}

Wide wide(const olaf_u128 &value) {
    return Wide{value.high} << 64 | value.low;
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
