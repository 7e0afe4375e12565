// SPDX-License-Identifier: BSD-2-Clause
#include "verdict.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "loader/text/human.hpp"
#include "verdict_parts.hpp"
#include "words.hpp"

namespace olaf {
namespace {

constexpr std::array<std::string_view, 4> names{"idle", "working", "impaired", "blocked"};

/// How long ago anything last left; nothing: not known.
std::optional<std::uint64_t> last_departure(const Evidence &evidence) {
    std::uint64_t last = 0;
    for (const auto &cluster : evidence.reading.aom.clusters)
        last = std::max(last, cluster.last_ns);
    return evidence.ago(last);
}

std::string duration(std::uint64_t ns) {
    return human_duration(static_cast<double>(ns));
}

/// "; the last one 25.0s ago", of what has ended.
std::string ended_text(const Finding &finding) {
    return finding.last_ns ? fmt::format("; the last one {} ago", duration(*finding.last_ns)) : "";
}

/// Where nothing is wrong.
Finding usual(const Evidence &evidence) {
    const auto &snapshot = evidence.reading.snapshot;
    const auto &config = evidence.config();
    if (snapshot.active_clusters != 0 || evidence.waiting() != 0)
        return {Health::working,
                fmt::format("{} {} active, {} of {} places taken", snapshot.active_clusters,
                            snapshot.active_clusters == 1 ? "cluster" : "clusters",
                            evidence.waiting(), config.queue_capacity),
                {},
                ""};
    if (auto jobs = usual_of_jobs(evidence))
        return *jobs;
    if (snapshot.counters.received != 0)
        return {Health::idle, "no update comes", last_departure(evidence), ""};
    return {Health::idle,
            "no update has come since it was attached",
            {},
            fmt::format("let workers send UDP to port {} by way of {}", ntohs(config.port_be),
                        evidence.attachment.device)};
}

} // namespace

std::string_view health_name(Health health) {
    return names[static_cast<std::size_t>(health)];
}

QueueVerdict judge(const Attachment &attachment, const QueueReading &reading,
                   const HostState &host) {
    const Evidence evidence{attachment, reading, host};
    QueueVerdict verdict;
    auto &found = verdict.besides;
    find_obstacles(evidence, found);
    find_jobs(evidence, found);
    if (host.dead.empty())
        find_losses(evidence, found);
    std::ranges::stable_sort(found, std::ranges::greater{}, &Finding::health);
    if (found.empty() || found[0].health <= Health::working) {
        verdict.first = usual(evidence);
        return verdict;
    }
    verdict.first = found[0];
    found.erase(found.begin());
    return verdict;
}

std::string verdict_line(const Finding &finding) {
    const auto since = finding.since_ns && !finding.last_ns
                           ? fmt::format(" for {}", duration(*finding.since_ns))
                           : "";
    return fmt::format("{}{}: {}{}", health_name(finding.health), since, finding.text,
                       ended_text(finding));
}

std::string also_line(const Finding &finding) {
    if (finding.health > Health::working)
        return verdict_line(finding);
    if (finding.since_ns && !finding.last_ns)
        return fmt::format("{}; going on for {}", finding.text, duration(*finding.since_ns));
    return finding.text + ended_text(finding);
}

} // namespace olaf
