// SPDX-License-Identifier: BSD-2-Clause
// One cluster at the parameter server: its model, rule and measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <olaf/message.hpp>
#include <olaf/model_age.hpp>
#include <olaf/rules.hpp>
#include <olaf/worker_table.hpp>

namespace olaf {

struct ClusterSettings {
    std::uint32_t cluster = 0;
    std::vector<float> weights = {}; ///< the initial ones; their number is the model's size
    double scale = Packing{}.scale;
    std::uint32_t max_count = OLAF_DEFAULT_MAX_COUNT;
    /// An UPDATE without a checksum lane is rejected as wrong_checksum.
    bool require_checksum = true;
    Rule rule = paper_rule();
    /// Version of the initial weights. A server that goes on from a checkpoint should go
    /// on from its version too, or workers take its ACKs for old ones for a while.
    std::uint32_t first_version = 1;
    std::size_t max_known_workers = 1024;
    /// Deliveries to keep for plots, at most; 0 keeps none.
    std::size_t max_series = 0;
};

/// One delivery.
struct Delivery {
    std::int64_t time_ns = 0;      ///< CLOCK_TAI
    std::int64_t aom_after_ns = 0; ///< Age-of-Model after it
    double mean_reward = 0;
    std::uint32_t count = 0;
    std::uint32_t model_version = 0; ///< of the weights after it
};

struct ClusterStats {
    std::uint64_t messages = 0;   ///< UPDATEs accepted
    std::uint64_t folded = 0;     ///< updates in those: the sum of their counts
    std::uint64_t applied = 0;    ///< messages that changed the weights
    std::uint64_t joins = 0;      ///< workers asking for weights
    std::uint64_t worst_lag = 0;  ///< largest model_version distance of an update
    std::uint64_t total_lag = 0;  ///< of all updates together: divided by `folded`, the mean
    std::uint64_t unrecorded = 0; ///< deliveries beyond max_series
    RejectCounts rejected = {};   ///< of messages for this cluster
};

/// Not thread-safe.
class Cluster {
  public:
    /// Fails if there are no weights, no rule, or the packing is invalid.
    [[nodiscard]] static Result<Cluster> make(ClusterSettings settings);

    /// accept(), the rule, commit(). Returns the slice that the update was for.
    Decoded<Slice> apply(const Update &update, std::span<const std::uint64_t> lanes,
                         std::int64_t now_ns);
    /// Checks an update against the settings and verifies its checksum lane; `lanes` are all
    /// of the message's. The contribution's gradient lies in a buffer of the cluster's, which
    /// stays where it is and holds it until the next accept(). A rejected update changes
    /// nothing but its count.
    Decoded<Contribution> accept(const Update &update, std::span<const std::uint64_t> lanes);
    /// After the weights were changed by a contribution, or left alone: counts and measures.
    void commit(const Contribution &contribution, bool changed, std::int64_t now_ns);
    void joined(std::uint32_t worker, const Address &address, const Address &asked = {});

    [[nodiscard]] std::uint32_t id() const { return settings_.cluster; }
    [[nodiscard]] std::span<const float> weights() const { return settings_.weights; }
    /// To be changed between accept() and commit(). Where they are never changes.
    [[nodiscard]] std::span<float> weights() { return settings_.weights; }
    /// +1 for each message that changed the weights, so a model of several segments goes
    /// up by that many for one whole update. Wraps.
    [[nodiscard]] std::uint32_t version() const { return version_; }
    [[nodiscard]] const ClusterStats &stats() const { return stats_; }
    [[nodiscard]] const AomMeter &aom() const { return age_.meter(); }
    [[nodiscard]] const std::vector<Delivery> &series() const { return series_; }
    [[nodiscard]] const WorkerTable &workers() const { return workers_; }
    [[nodiscard]] WorkerTable &workers() { return workers_; }

  private:
    explicit Cluster(ClusterSettings settings);
    [[nodiscard]] Decoded<Slice> check(const Update &update,
                                       std::span<const std::uint64_t> lanes) const;

    ClusterSettings settings_; // its weights are the current ones
    std::uint32_t version_;
    std::vector<float> gradient_; // scratch: one slice's mean
    ModelAge age_;
    WorkerTable workers_;
    std::vector<Delivery> series_;
    ClusterStats stats_;
};

} // namespace olaf
