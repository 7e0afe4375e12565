// SPDX-License-Identifier: BSD-2-Clause
// Age-of-Model: of one sawtooth (AomMeter), and of a model in segments (ModelAge).
#include <olaf/aom_meter.hpp>
#include <olaf/model_age.hpp>

#include <algorithm>

namespace olaf {

std::int64_t AomMeter::deliver(std::int64_t delivered_ns, std::int64_t generated_ns) {
    if (started())
        delivered_ns = std::max(delivered_ns, last_delivered_);
    // Comes from the network: before 1970 it is nonsense, and would overflow below.
    generated_ns = std::max<std::int64_t>(generated_ns, 0);
    if (generated_ns > delivered_ns) {
        from_future_++;
        generated_ns = delivered_ns;
    }

    if (!started()) {
        first_delivered_ = delivered_ns;
        newest_generated_ = generated_ns;
    } else {
        twice_area_ = twice_area_until(delivered_ns);
        if (generated_ns > newest_generated_) {
            last_peak_ = delivered_ns - newest_generated_;
            highest_peak_ = std::max(highest_peak_, last_peak_);
            peak_sum_ += static_cast<Area>(last_peak_);
            peaks_++;
            newest_generated_ = generated_ns;
        } else {
            stale_++;
        }
    }
    last_delivered_ = delivered_ns;
    deliveries_++;
    return delivered_ns - newest_generated_;
}

// Since the last delivery the age grew from a to b: a trapezium of area (b² − a²) / 2.
AomMeter::Area AomMeter::twice_area_until(std::int64_t now_ns) const {
    const auto a = static_cast<Area>(last_delivered_ - newest_generated_);
    const auto b = static_cast<Area>(std::max(now_ns, last_delivered_) - newest_generated_);
    return twice_area_ + (b * b - a * a);
}

std::int64_t AomMeter::age_ns(std::int64_t now_ns) const {
    return started() ? std::max(now_ns, last_delivered_) - newest_generated_ : 0;
}

double AomMeter::average_ns(std::int64_t now_ns) const {
    const std::int64_t time = std::max(now_ns, last_delivered_) - first_delivered_;
    if (!started() || time == 0)
        return 0.0;
    return static_cast<double>(twice_area_until(now_ns)) / 2.0 / static_cast<double>(time);
}

double AomMeter::mean_peak_ns() const {
    return peaks_ == 0 ? 0.0 : static_cast<double>(peak_sum_) / static_cast<double>(peaks_);
}

std::int64_t ModelAge::deliver(std::int64_t delivered_ns, std::int64_t generated_ns,
                               std::uint16_t segment, std::uint16_t segments) {
    if (segments == 1 && newest_.size() <= 1) { // the usual case: nothing to compare
        newest_.assign(1, 0);
        const std::int64_t age = meter_.deliver(delivered_ns, generated_ns);
        oldest_ = newest_[0] =
            std::max(oldest_, std::clamp<std::int64_t>(generated_ns, 0, delivered_ns));
        return age;
    }
    if (newest_.size() != segments)
        newest_.assign(segments, oldest_);

    std::int64_t &newest = newest_[segment];
    const bool was_oldest = newest == oldest_;
    // As the meter has it: never from before 1970 nor from the future.
    newest = std::max(newest, std::clamp<std::int64_t>(generated_ns, 0, delivered_ns));
    if (was_oldest && newest != oldest_) {
        const std::int64_t oldest = *std::ranges::min_element(newest_);
        if (oldest != oldest_) {
            oldest_ = oldest;
            return meter_.deliver(delivered_ns, oldest);
        }
    }
    return meter_.age_ns(delivered_ns);
}

} // namespace olaf
