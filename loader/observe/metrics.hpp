// SPDX-License-Identifier: BSD-2-Clause
// Metrics for Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reading.hpp"

namespace olaf {

// Which clusters have series of their own in `/metrics`: each, or the few that were asked for.

/// The first look at a queue chooses those that have received the most messages, and places left
/// go to those that are heard later. None is ever put out again: what is told of all others
/// together then never counts down.
class ShownClusters {
  public:
    /// So many of a queue at most; nothing: each.
    explicit ShownClusters(std::optional<std::uint32_t> most) : most_(most) {}

    /// To be called with every queue at each look; those that have gone are forgotten.
    void choose(const std::vector<Reading> &queues);
    [[nodiscard]] bool has(const Reading &queue, std::uint32_t cluster) const;

  private:
    std::optional<std::uint32_t> most_;
    std::map<std::string, std::set<std::uint32_t>> chosen_; ///< by the queue's identity
};

using Labels = std::vector<std::pair<std::string, std::string>>;

/// The labels and one more.
inline Labels with(Labels labels, const char *name, std::string value) {
    labels.emplace_back(name, std::move(value));
    return labels;
}

/// Metrics in the making: families in the order in which they are first named, each in one piece.
class Exposition {
  public:
    void counter(const std::string &name, const std::string &help, const Labels &labels,
                 double value);
    void gauge(const std::string &name, const std::string &help, const Labels &labels,
               double value);
    /// `buckets`: the number of observations up to and with each bound, which ascend. `sum` is
    /// left out where it isn't known.
    void histogram(const std::string &name, const std::string &help, const Labels &labels,
                   const std::vector<std::pair<double, std::uint64_t>> &buckets,
                   std::uint64_t count, double sum);
    /// Only a sum and a count.
    void summary(const std::string &name, const std::string &help, const Labels &labels, double sum,
                 std::uint64_t count);

    [[nodiscard]] std::string text() const;

  private:
    struct Family {
        std::string name, type, help, samples;
    };
    Family &family(const std::string &name, const char *type, const std::string &help);
    std::vector<Family> families_;
};

/// Every counter and level of a queue's jobs.
void add_jobs(Exposition &out, const Labels &device, const Reading &queue);

/// Everything that `olaf status` knows of these queues, by Prometheus's conventions.
std::string metrics(const std::vector<Reading> &queues, const ShownClusters &shown);

} // namespace olaf
