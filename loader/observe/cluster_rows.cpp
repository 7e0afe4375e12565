// SPDX-License-Identifier: BSD-2-Clause
#include "cluster_rows.hpp"

#include <algorithm>

#include "jobs_text.hpp"

namespace olaf {
namespace {

const ClusterAom *find(const AomReading &reading, std::uint32_t id) {
    const auto found = std::ranges::lower_bound(reading.clusters, id, {}, &ClusterAom::cluster);
    return found != reading.clusters.end() && found->cluster == id ? &*found : nullptr;
}

olaf_slot_counters sums_of(const Snapshot &snapshot, std::uint32_t id) {
    return id < snapshot.clusters.size() ? snapshot.clusters[id] : olaf_slot_counters{};
}

RecentAge recent(const Age *earlier, const Age &later, std::uint64_t from_ns,
                 std::uint64_t now_ns) {
    static const Age nothing;
    const auto &before = earlier != nullptr ? *earlier : nothing;
    return {.twice_area = later.twice_area - before.twice_area,
            .time_ns = later.time_ns - before.time_ns,
            .highest_ns = later.highest_ns(from_ns, now_ns)};
}

void add_aom(ClusterRow &row, const ClusterAom *before, const ClusterAom &aom,
             std::uint64_t from_ns, std::uint64_t now_ns) {
    row.aom = aom;
    row.arrival =
        recent(before != nullptr ? &before->arrival : nullptr, aom.arrival, from_ns, now_ns);
    row.generated =
        recent(before != nullptr ? &before->generated : nullptr, aom.generated, from_ns, now_ns);
}

// What was counted since; all of it if the job was set anew meanwhile.
double per_second(std::uint64_t before, std::uint64_t now, double seconds) {
    const auto since = now >= before ? now - before : now;
    return seconds > 0 ? static_cast<double>(since) / seconds : 0;
}

std::vector<JobRow> job_rows(const Reading &earlier, const Reading &later, double seconds) {
    std::vector<JobRow> rows;
    for (const auto &job : later.jobs) {
        const auto found = std::ranges::find(earlier.jobs, job.id(), &JobReading::id);
        const auto before = found != earlier.jobs.end() ? found->counters : olaf_job_counters{};
        const auto heard = std::ranges::count_if(
            job.members, [](const KnownMember &known) { return known.member.last_seen_ns != 0; });
        rows.push_back(
            {.job = job.id(),
             .state = std::string(job_state(job)),
             .heard = static_cast<std::uint32_t>(heard),
             .children = job.job.setup.children,
             .contributions_per_s = per_second(before.added, job.counters.added, seconds),
             .chunks_per_s = per_second(before.completed, job.counters.completed, seconds),
             .open = job.open,
             .up = job.up,
             .late = job.counters.late,
             .stale = job.counters.stale,
             .group = job.job.setup.group_family != 0 ? group_text(job.job.setup) : ""});
    }
    return rows;
}

} // namespace

Rows rows_between(const Reading &first, const Reading &later) {
    // After `olaf reset` nothing was before.
    static const Reading nothing;
    const Reading &earlier = first.reset_ns == later.reset_ns ? first : nothing;
    const auto from_ns = std::max(first.aom.now_ns, later.reset_ns);
    Rows rows;
    rows.seconds = static_cast<double>(later.aom.now_ns - first.aom.now_ns) / 1e9;
    const auto per_second = [&](std::uint64_t count) {
        return rows.seconds > 0 ? static_cast<double>(count) / rows.seconds : 0;
    };
    rows.jobs = job_rows(first, later, rows.seconds); // `olaf reset` leaves them alone
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
            add_aom(row, find(earlier.aom, id), *aom, from_ns, later.aom.now_ns);
        row.idle =
            row.recent.received == 0 && row.recent.departed == 0 && later.snapshot.waiting[id] == 0;
        rows.clusters.push_back(std::move(row));
    }
    return rows;
}

} // namespace olaf
