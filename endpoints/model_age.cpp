// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/model_age.hpp>

#include <algorithm>

namespace olaf {

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
