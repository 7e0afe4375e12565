// SPDX-License-Identifier: BSD-2-Clause
// The Prometheus text format, version 0.0.4.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "queue_reader.hpp"
#include "shown_clusters.hpp"

namespace olaf {

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

/// Ages, waits and folds of a queue's clusters. Counters of those that aren't shown stand together
/// under cluster="other".
void add_aom(Exposition &out, const Labels &device, const Reading &queue,
             const ShownClusters &shown);

/// Every counter and level of the list (olaf/counters.h), and "other" as above.
void add_listed(Exposition &out, const Labels &device, const Reading &queue,
                const ShownClusters &shown);

/// Every counter and level of a queue's jobs.
void add_jobs(Exposition &out, const Labels &device, const Reading &queue);

/// Everything that `olaf status` knows of these queues, by Prometheus's conventions.
std::string metrics(const std::vector<Reading> &queues, const ShownClusters &shown);

} // namespace olaf
