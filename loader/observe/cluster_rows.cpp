// SPDX-License-Identifier: BSD-2-Clause
#include "cluster_rows.hpp"

#include <algorithm>

namespace olaf {
namespace {

const ClusterAom *find(const AomReading &reading, std::uint32_t id) {
    const auto found = std::ranges::lower_bound(reading.clusters, id, {}, &ClusterAom::cluster);
    return found != reading.clusters.end() && found->cluster == id ? &*found : nullptr;
}

olaf_slot_counters sums_of(const Snapshot &snapshot, std::uint32_t id) {
    return id < snapshot.clusters.size() ? snapshot.clusters[id] : olaf_slot_counters{};
}

void add_aom(ClusterRow &row, const ClusterAom *earlier, const ClusterAom &later) {
    static const ClusterAom nothing;
    row.aom = later;
    const auto &before = earlier != nullptr ? *earlier : nothing;
    row.recent_arrival_ns = later.arrival.average_ns_since(before.arrival);
    row.recent_generated_ns = later.generated.average_ns_since(before.generated);
}

} // namespace

Rows rows_between(const Reading &earlier, const Reading &later) {
    Rows rows;
    rows.seconds = static_cast<double>(later.aom.now_ns - earlier.aom.now_ns) / 1e9;
    const auto per_second = [&](std::uint64_t count) {
        return rows.seconds > 0 ? static_cast<double>(count) / rows.seconds : 0;
    };
    rows.total = flow_of(later);
    rows.recent = difference(rows.total, flow_of(earlier));
    for (std::uint32_t id = 0; id < later.snapshot.clusters.size(); id++) {
        ClusterRow row;
        row.cluster = id;
        row.total = flow_of(later.snapshot.clusters[id]);
        const auto *aom = find(later.aom, id);
        if (row.total.received == 0 && aom == nullptr)
            continue;
        row.recent = difference(row.total, flow_of(sums_of(earlier.snapshot, id)));
        row.in_per_s = per_second(row.recent.received);
        row.out_per_s = per_second(row.recent.messages_out);
        if (aom != nullptr)
            add_aom(row, find(earlier.aom, id), *aom);
        rows.clusters.push_back(std::move(row));
    }
    return rows;
}

} // namespace olaf
