// SPDX-License-Identifier: BSD-2-Clause
#include "shown_clusters.hpp"

#include <algorithm>

#include "flow.hpp"

namespace olaf {
namespace {

/// Clusters that were heard of and aren't chosen yet, the busiest first.
std::vector<std::uint32_t> candidates(const Reading &queue, const std::set<std::uint32_t> &chosen) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> heard;
    const auto &clusters = queue.snapshot.clusters;
    for (std::uint32_t id = 0; id < clusters.size(); id++)
        if (const auto received = flow_of(clusters[id]).received;
            received > 0 && !chosen.contains(id))
            heard.emplace_back(received, id);
    std::ranges::sort(heard, [](const auto &a, const auto &b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<std::uint32_t> ids;
    ids.reserve(heard.size());
    for (const auto &[received, id] : heard)
        ids.push_back(id);
    return ids;
}

} // namespace

void ShownClusters::choose(const std::vector<Reading> &queues) {
    if (!most_)
        return;
    std::map<std::string, std::set<std::uint32_t>> kept;
    for (const auto &queue : queues) {
        auto &chosen = kept[queue.identity] = std::move(chosen_[queue.identity]);
        if (chosen.size() >= *most_)
            continue;
        for (const auto id : candidates(queue, chosen))
            if (chosen.size() < *most_)
                chosen.insert(id);
    }
    chosen_ = std::move(kept);
}

bool ShownClusters::has(const Reading &queue, std::uint32_t cluster) const {
    if (!most_)
        return true;
    const auto found = chosen_.find(queue.identity);
    return found != chosen_.end() && found->second.contains(cluster);
}

} // namespace olaf
