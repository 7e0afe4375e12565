// SPDX-License-Identifier: BSD-2-Clause
// Age-of-Model of one cluster (paper, section 6): a sawtooth that grows with time and
// falls, when an update is delivered, to the time since that update was generated.
#pragma once

#include <cstdint>

namespace olaf {

/// Not thread-safe. All times are nanoseconds of one clock, CLOCK_TAI in practice.
///
/// Measuring starts with the first delivery; there is no age before it. The integral
/// is exact: 128-bit integers, no rounding, however long it runs.
class AomMeter {
  public:
    /// An update generated at `generated_ns` is delivered at `delivered_ns`.
    ///
    /// One no newer than the newest delivered before leaves the sawtooth as it is and
    /// counts as stale. One from the future (a worker's clock is ahead) counts as
    /// generated when delivered. A delivery earlier than the last one is taken to be
    /// at the same time as that. Returns the age after the delivery.
    std::int64_t deliver(std::int64_t delivered_ns, std::int64_t generated_ns);

    [[nodiscard]] bool started() const { return deliveries_ > 0; }
    /// Age at `now_ns`; 0 before the first delivery.
    [[nodiscard]] std::int64_t age_ns(std::int64_t now_ns) const;
    /// Area under the sawtooth from the first delivery to `now_ns`, over that time; 0
    /// where no time has passed.
    [[nodiscard]] double average_ns(std::int64_t now_ns) const;
    /// The age just before a delivery made it fall: largest, latest and mean of those.
    [[nodiscard]] std::int64_t highest_peak_ns() const { return highest_peak_; }
    [[nodiscard]] std::int64_t last_peak_ns() const { return last_peak_; }
    [[nodiscard]] double mean_peak_ns() const;

    [[nodiscard]] std::uint64_t deliveries() const { return deliveries_; }
    [[nodiscard]] std::uint64_t peaks() const { return peaks_; }
    [[nodiscard]] std::uint64_t stale() const { return stale_; }
    [[nodiscard]] std::uint64_t from_future() const { return from_future_; }

  private:
    __extension__ typedef unsigned __int128 Area; // ns², twice the area: stays integral

    [[nodiscard]] Area twice_area_until(std::int64_t now_ns) const;

    std::int64_t first_delivered_ = 0;
    std::int64_t last_delivered_ = 0;
    std::int64_t newest_generated_ = 0;
    Area twice_area_ = 0; // up to last_delivered_
    Area peak_sum_ = 0;
    std::int64_t highest_peak_ = 0;
    std::int64_t last_peak_ = 0;
    std::uint64_t deliveries_ = 0;
    std::uint64_t peaks_ = 0;
    std::uint64_t stale_ = 0;
    std::uint64_t from_future_ = 0;
};

} // namespace olaf
