// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/transmission_control.hpp>

#include <algorithm>
#include <cmath>
#include <random>

namespace olaf {

Result<TransmissionControl> TransmissionControl::with_slope(double threshold_s, double slope) {
    const auto refuse = [](std::string reason, std::string hint) {
        return fail("set transmission control", {}, 0, std::move(hint), std::move(reason));
    };
    if (!std::isfinite(threshold_s) || threshold_s <= 0)
        return refuse("the threshold must be positive and finite", "give seconds, such as 0.4");
    if (!std::isfinite(slope) || slope < 0)
        return refuse("the slope must be finite and not negative",
                      "give the probability gained in a second");
    return TransmissionControl(threshold_s, slope);
}

Result<TransmissionControl> TransmissionControl::urgent(double threshold_s) {
    // An invalid threshold is refused whatever the slope.
    return with_slope(threshold_s, threshold_s > 0 ? 1 / threshold_s : 0);
}

Result<TransmissionControl> TransmissionControl::fair(double threshold_s) {
    return with_slope(threshold_s, std::max(threshold_s, 0.0));
}

double TransmissionControl::operator()(const QueueState &state) const {
    if (state.active_clusters <= state.capacity)
        return 1;
    const double share = static_cast<double>(state.capacity) / state.active_clusters;
    const double overdue_s = std::max(state.since_ack_s - threshold_s_, 0.0);
    return std::min(share + slope_ * overdue_s, 1.0);
}

Result<PauseAfterAck> PauseAfterAck::make(double pause_s) {
    if (!std::isfinite(pause_s) || pause_s <= 0)
        return fail("set transmission control", {}, 0, "give seconds, such as 0.3",
                    "the pause must be positive and finite");
    return PauseAfterAck(pause_s);
}

double PauseAfterAck::operator()(const QueueState &state) const {
    return state.active_clusters <= state.capacity || state.since_ack_s >= pause_s_ ? 1 : 0;
}

UniformRandom uniform_random(std::optional<std::uint64_t> seed) {
    if (!seed) {
        std::random_device device;
        seed = static_cast<std::uint64_t>(device()) << 32 | device();
    }
    // The 53 bits of a double, not std::uniform_real_distribution, which differs between
    // libraries: a seed means the same everywhere.
    return [engine = std::mt19937_64(*seed)]() mutable {
        return static_cast<double>(engine() >> 11) * 0x1p-53;
    };
}

} // namespace olaf
