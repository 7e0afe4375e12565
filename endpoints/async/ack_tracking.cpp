// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/async/ack_tracking.hpp"

namespace olaf {

void OwnUpdates::sent(std::uint32_t sequence, std::int64_t generated_ns,
                      std::uint32_t model_version, Clock::time_point now) {
    kept_[sequence % kKept] = {.waiting = true,
                               .sequence = sequence,
                               .generated_ns = generated_ns,
                               .model_version = model_version,
                               .at = now};
    last_ = sequence;
}

std::optional<OwnUpdates::Answered>
OwnUpdates::answered(std::uint32_t sequence, std::int64_t generated_ns, Clock::time_point now) {
    Sent &update = kept_[sequence % kKept];
    if (!update.waiting || update.sequence != sequence || update.generated_ns != generated_ns)
        return {};
    update.waiting = false;
    const auto ahead = static_cast<std::int32_t>(sequence - newest_answered_);
    if (ahead > 0) {
        unanswered_ += static_cast<std::uint64_t>(ahead) - 1;
        newest_answered_ = sequence;
    } else {
        unanswered_--; // late: it had been counted as passed over
    }
    return Answered{.round_trip = now - update.at, .model_version = update.model_version};
}

} // namespace olaf
