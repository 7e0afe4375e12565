// SPDX-License-Identifier: BSD-2-Clause
// Jobs: whom they wait for.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "jobs_text.hpp"
#include "verdict_parts.hpp"

namespace olaf {
namespace {

/// Members that haven't agreed where to begin. Nobody's having asked is no fault yet.
void find_waiting(const Evidence &evidence, const JobReading &job, std::vector<Finding> &found) {
    const auto waiting = job.waiting_for();
    const auto &setup = job.job.setup;
    if (waiting.size() == setup.children)
        found.push_back({Health::idle,
                         fmt::format("job {} waits for its members: none has asked where to begin",
                                     job.id()),
                         {},
                         fmt::format("let them send UDP to port {} by way of {}",
                                     ntohs(evidence.config().port_be), evidence.attachment.device)});
    else if (!waiting.empty())
        found.push_back({Health::impaired,
                         fmt::format("job {} waits for rank{} {} to ask where to begin", job.id(),
                                     waiting.size() == 1 ? "" : "s", ranks_text(waiting)),
                         {},
                         fmt::format("start them, or look at what is between them and {}",
                                     evidence.attachment.device)});
    else if (setup.parent_family != 0)
        found.push_back({Health::impaired,
                         fmt::format("job {} waits for its parent, {}, to say where to begin",
                                     job.id(), parent_text(setup)),
                         {},
                         "olaf job list there says what it waits for"});
}

} // namespace

void find_jobs(const Evidence &evidence, std::vector<Finding> &found) {
    for (const auto &job : evidence.reading.jobs) {
        if (job.job.halted != 0)
            found.push_back({Health::idle,
                             fmt::format("job {} is halted", job.id()),
                             {},
                             fmt::format("olaf job resume {} {}", evidence.attachment.device,
                                         job.id())});
        else if (job.job.state == OLAF_JOB_SYNCING)
            find_waiting(evidence, job, found);
    }
}

std::optional<Finding> usual_of_jobs(const Evidence &evidence) {
    std::uint64_t received = 0, completed = 0, newest = 0;
    for (const auto &job : evidence.reading.jobs) {
        received += job.counters.received;
        completed += job.counters.completed;
        for (const auto &known : job.members)
            newest = std::max<std::uint64_t>(newest, known.member.last_seen_ns);
    }
    if (received == 0)
        return {};
    const auto jobs = evidence.reading.jobs.size();
    const auto silent = evidence.ago(newest);
    // A member is looked at anew so rarely.
    const auto window = evidence.config().activity_window_ns +
                        olaf_member_refresh_ns(evidence.config().member_timeout_ns);
    if (silent && *silent < window)
        return Finding{Health::working,
                       fmt::format("{} job{}, {} chunk{} completed", jobs, jobs == 1 ? "" : "s",
                                   completed, completed == 1 ? "" : "s"),
                       {},
                       ""};
    return Finding{Health::idle, "no update and no contribution comes", silent, ""};
}

} // namespace olaf
