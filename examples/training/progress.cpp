// SPDX-License-Identifier: BSD-2-Clause
#include "progress.hpp"

#include <algorithm>

namespace olaf::training {

Progress::Progress(const ParameterServer &server, std::uint32_t clusters, float target)
    : target_(target) {
    for (std::uint32_t id = 0; id < clusters; ++id)
        clusters_.push_back({server.cluster(id), LearningCurve(target)});
}

void Progress::update() {
    // All clusters' first deliveries come before any is dated: the clock's zero
    // is the earliest of them.
    for (const ClusterProgress &each : clusters_)
        if (const auto &series = each.cluster->series(); !series.empty()) {
            const std::int64_t first = series.front().time_ns;
            first_ns_ = first_ns_ == 0 ? first : std::min(first_ns_, first);
            last_ns_ = std::max(last_ns_, series.back().time_ns);
        }
    for (ClusterProgress &each : clusters_)
        for (const auto &series = each.cluster->series(); each.seen < series.size(); ++each.seen) {
            const Delivery &delivery = series[each.seen];
            each.curve.add(seconds(delivery.time_ns), static_cast<float>(delivery.mean_reward),
                           delivery.count);
        }
}

double Progress::seconds(std::int64_t time_ns) const {
    return static_cast<double>(time_ns - first_ns_) / 1e9;
}

double Progress::mean() const {
    double sum = 0;
    for (const ClusterProgress &each : clusters_)
        sum += each.curve.mean();
    return sum / static_cast<double>(clusters_.size());
}

unsigned Progress::reached() const {
    return static_cast<unsigned>(std::ranges::count_if(
        clusters_, [](const auto &each) { return each.curve.reached().has_value(); }));
}

std::optional<double> Progress::all_reached() const {
    if (reached() < clusters_.size())
        return {};
    double last = 0;
    for (const ClusterProgress &each : clusters_)
        last = std::max(last, *each.curve.reached());
    return last;
}

} // namespace olaf::training
