// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/cluster.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <olaf/try.hpp>

namespace olaf {

Cluster::Cluster(ClusterSettings settings)
    : settings_(std::move(settings)), version_(settings_.first_version),
      workers_(settings_.max_known_workers) {
    gradient_.reserve(settings_.weights.size()); // so that it never moves
}

Result<Cluster> Cluster::make(ClusterSettings settings) {
    const std::string object = std::to_string(settings.cluster);
    if (settings.weights.empty())
        return fail("add cluster", object, 0, "give it initial weights", "the model is empty");
    if (!settings.rule)
        return fail("add cluster", object, 0, {}, "it has no rule");
    // The format comes with each update; i64x1 takes any valid scale and max_count.
    OLAF_TRY(validate(
        {.format = Format::i64x1, .scale = settings.scale, .max_count = settings.max_count}));
    return Cluster(std::move(settings));
}

Decoded<Slice> Cluster::check(const Update &update, std::span<const std::uint64_t> lanes) const {
    if (update.count > settings_.max_count)
        return std::unexpected(Reject::wrong_count); // sums may have overflowed
    const auto segments = Segments::of(settings_.weights.size(), update.segments);
    if (!segments)
        return std::unexpected(Reject::wrong_segment);
    const Slice slice = segments->slice(update.segment);
    if (lanes.size() != update.lanes ||
        update.data_lanes() != lanes_for(update.format, slice.size()))
        return std::unexpected(Reject::wrong_lanes);
    if (update.has_checksum ? !checksum_matches(lanes) : settings_.require_checksum)
        return std::unexpected(Reject::wrong_checksum);
    return slice;
}

Decoded<Slice> Cluster::apply(const Update &update, std::span<const std::uint64_t> lanes,
                              std::int64_t now_ns) {
    const Contribution contribution = OLAF_TRY(accept(update, lanes));
    const Slice slice = contribution.slice;
    const bool changed = settings_.rule(contribution, weights().subspan(slice.begin, slice.size()));
    commit(contribution, changed, now_ns);
    return slice;
}

Decoded<Contribution> Cluster::accept(const Update &update, std::span<const std::uint64_t> lanes) {
    const auto slice = check(update, lanes);
    if (!slice) {
        stats_.rejected.add(slice.error());
        return std::unexpected(slice.error());
    }
    gradient_.resize(slice->size());
    // Can't fail: check() has seen to the format and the sizes.
    (void)unpack(update.format, 1.0 / (settings_.scale * update.count),
                 lanes.first(update.data_lanes()), gradient_);

    return Contribution{.mean_gradient = gradient_,
                        .slice = *slice,
                        .segment = update.segment,
                        .segments = update.segments,
                        .count = update.count,
                        .mean_reward = mean_reward(update.reward, update.count),
                        .worker = update.worker,
                        .model_version = update.model_version,
                        .generated_ns = update.generated_ns};
}

void Cluster::commit(const Contribution &contribution, bool changed, std::int64_t now_ns) {
    // Below 0 where this server was restarted: the update was computed on its predecessor's
    // weights.
    const auto distance = static_cast<std::int32_t>(version_ - contribution.model_version);
    const auto lag = static_cast<std::uint64_t>(std::max(distance, 0));
    stats_.worst_lag = std::max(stats_.worst_lag, lag);
    stats_.total_lag += lag * contribution.count;
    if (changed) {
        stats_.applied++;
        version_++;
    }
    stats_.messages++;
    stats_.folded += contribution.count;
    const std::int64_t after = age_.deliver(now_ns, contribution.generated_ns, contribution.segment,
                                            contribution.segments);
    if (series_.size() < settings_.max_series)
        series_.push_back({.time_ns = now_ns,
                           .aom_after_ns = after,
                           .mean_reward = contribution.mean_reward,
                           .count = contribution.count,
                           .model_version = version_});
    else if (settings_.max_series > 0)
        stats_.unrecorded++;
}

void Cluster::joined(std::uint32_t worker, const Address &address, const Address &asked) {
    stats_.joins++;
    // A worker joins when it starts, and its sequence starts anew with it.
    KnownWorker &known = workers_.remember(worker, address, asked);
    known.seen = known.missed = 0;
}

// ---- the workers that it knows ----

KnownWorker &WorkerTable::remember(std::uint32_t worker, const Address &address,
                                   const Address &asked) {
    auto found = workers_.find(worker);
    if (found == workers_.end()) {
        if (!workers_.empty() && workers_.size() >= limit_)
            workers_.erase(std::ranges::min_element(
                workers_, {}, [](const auto &entry) { return entry.second.last_seen; }));
        found = workers_.emplace(worker, KnownWorker{}).first;
    }
    found->second.address = address;
    found->second.asked = asked;
    found->second.last_seen = ++sightings_;
    return found->second;
}

void WorkerTable::count(std::uint32_t worker, const Address &address, std::uint32_t sequence,
                        const Address &asked) {
    KnownWorker &known = remember(worker, address, asked);
    // Sequences wrap: what is "behind" is late or another segment, and passes over nothing.
    const auto ahead = static_cast<std::int32_t>(sequence - known.last_sequence);
    if (known.seen > 0 && ahead <= 0) {
        known.seen += ahead < 0 ? 1 : 0;
        return;
    }
    if (known.seen > 0)
        known.missed += static_cast<std::uint64_t>(ahead) - 1;
    known.last_sequence = sequence;
    known.seen++;
}

} // namespace olaf
