// SPDX-License-Identifier: BSD-2-Clause
// What a training server saw, cluster by cluster, on one clock that starts with
// the first update to arrive.
#pragma once

#include "learning_curve.hpp"

#include <olaf/parameter_server.hpp>

#include <optional>
#include <vector>

namespace olaf::training {

struct ClusterProgress {
    const Cluster *cluster;
    LearningCurve curve;
    std::size_t seen = 0; ///< deliveries of its series that are in the curve
};

class Progress {
  public:
    Progress(const ParameterServer &server, std::uint32_t clusters, float target);

    /// Take in what was delivered since the last call.
    void update();

    [[nodiscard]] const std::vector<ClusterProgress> &clusters() const { return clusters_; }
    /// Seconds from the first update to this time.
    [[nodiscard]] double seconds(std::int64_t time_ns) const;
    /// When the last update of any cluster arrived; CLOCK_TAI, 0 if none did.
    [[nodiscard]] std::int64_t last_ns() const { return last_ns_; }
    /// Mean over the clusters of their mean rewards.
    [[nodiscard]] double mean() const;
    [[nodiscard]] float target() const { return target_; }
    /// How many clusters have reached the target.
    [[nodiscard]] unsigned reached() const;
    /// When the last cluster reached it; nothing while one has not.
    [[nodiscard]] std::optional<double> all_reached() const;

  private:
    std::vector<ClusterProgress> clusters_;
    float target_;
    std::int64_t first_ns_ = 0;
    std::int64_t last_ns_ = 0;
};

} // namespace olaf::training
