// SPDX-License-Identifier: BSD-2-Clause
// Age-of-Model of an interval that ends now, from the seconds and marks that the kernel keeps.
#pragma once

#include "aom.hpp"

namespace olaf {

/// The members of one clock.
struct AgeClockMembers {
    olaf_sawtooth olaf_aom::*sawtooth;
    __u64 olaf_age_peaks::*peak;
    __s64 olaf_age_mark::*newest;
    olaf_u128 olaf_age_mark::*twice_area;
    olaf_u128 olaf_aom::*age_sum;
};
inline constexpr AgeClockMembers arrival_members{&olaf_aom::arrival, &olaf_age_peaks::arrival_ns,
                                                 &olaf_age_mark::newest_arrival_ns,
                                                 &olaf_age_mark::twice_arrival,
                                                 &olaf_aom::arrival_age_sum};
inline constexpr AgeClockMembers generated_members{
    &olaf_aom::generated, &olaf_age_peaks::generated_ns, &olaf_age_mark::newest_generated_ns,
    &olaf_age_mark::twice_generated, &olaf_aom::generated_age_sum};

/// One segment's, of which something has departed, from about `from_ns` to `now_ns`. It reaches as
/// far back as 60 s.
RecentAge recent_age(const olaf_aom &segment, const AgeClockMembers &clock, std::uint64_t from_ns,
                     std::uint64_t now_ns);

/// Takes the highest peaks of the seconds that end with now's into Age::seconds.
void add_seconds(std::array<std::uint64_t, OLAF_AGE_SECONDS> &seconds, const olaf_aom &segment,
                 const AgeClockMembers &clock, std::uint64_t now_ns);

} // namespace olaf
