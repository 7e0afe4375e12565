// SPDX-License-Identifier: BSD-2-Clause
// The queues that `olaf serve` shows, found anew each time: they come and go.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cluster_rows.hpp"
#include "shown_clusters.hpp"

namespace olaf {

/// Reads when it is asked, and only then: nobody looking costs nothing. Any thread may ask.
class Queues {
  public:
    /// Only these devices; none: every queue of this network namespace. Metrics of so many clusters
    /// of a queue at most; nothing: of each.
    Queues(std::vector<std::string> devices, std::optional<std::uint32_t> top_clusters)
        : devices_(std::move(devices)), shown_(top_clusters) {}

    /// Each as it is now.
    Result<std::vector<Reading>> read();

    /// Each since the look before, which several readers of the page share: an array of
    /// docs/schema/live.json.
    Result<nlohmann::ordered_json> live();

    /// Each for Prometheus.
    Result<std::string> metrics();

  private:
    using Clock = std::chrono::steady_clock;
    /// Two looks at one attachment, apart enough to tell rates.
    struct Look {
        Reading earlier, latest;
        Clock::time_point taken;
    };
    Result<std::vector<Attachment>> attached() const;
    const Look &look(const std::string &key, Reading reading);

    const std::vector<std::string> devices_;
    std::mutex mutex_;                  ///< guards the rest
    std::map<std::string, Look> looks_; ///< by identity
    ShownClusters shown_;
};

} // namespace olaf
