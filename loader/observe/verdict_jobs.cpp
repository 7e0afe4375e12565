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

/// A member is looked at anew so rarely: whoever was heard within this time isn't silent.
std::uint64_t patience_ns(const Evidence &evidence) {
    return evidence.config().activity_window_ns +
           olaf_member_refresh_ns(evidence.config().member_timeout_ns);
}

/// Who computes for so long keeps the others waiting, as any slow worker does for a while.
std::uint64_t long_ns(const Evidence &evidence) {
    return std::max<std::uint64_t>(patience_ns(evidence), evidence.config().member_timeout_ns / 8);
}

/// For how long nothing was heard of the rank; nothing: not for long enough to say so. Of one that was
/// never heard: since `otherwise_ns`, a moment of CLOCK_MONOTONIC.
std::optional<std::uint64_t> silence_ns(const Evidence &evidence, const JobReading &job,
                                        std::uint32_t rank, std::uint64_t otherwise_ns) {
    const auto known = std::ranges::find(job.members, rank, &KnownMember::worker);
    const bool was_heard = known != job.members.end() && known->member.last_seen_ns != 0;
    const auto silent = evidence.ago(was_heard ? known->member.last_seen_ns : otherwise_ns);
    return silent && *silent >= long_ns(evidence) ? silent : std::nullopt;
}

/// Who waits sends its contributions again: where nobody does, nobody waits.
bool somebody_is_heard(const Evidence &evidence, const JobReading &job) {
    return std::ranges::any_of(job.members, [&](const KnownMember &known) {
        const auto silent = evidence.ago(known.member.last_seen_ns);
        return silent && *silent < patience_ns(evidence);
    });
}

bool has_waited_long(const Evidence &evidence, const std::optional<WaitingChunk> &chunk) {
    const auto since = chunk ? evidence.ago(chunk->since_ns) : std::nullopt;
    return since && *since >= long_ns(evidence);
}

/// Chunks that lack the part of a member that has gone silent.
void find_silent(const Evidence &evidence, const JobReading &job, std::vector<Finding> &found) {
    if (!has_waited_long(evidence, job.oldest_open) || !somebody_is_heard(evidence, job))
        return;
    std::vector<std::uint32_t> silent;
    std::uint64_t longest_ns = 0;
    for (const auto rank : job.oldest_open->lacks)
        if (const auto silence = silence_ns(evidence, job, rank, job.oldest_open->since_ns)) {
            silent.push_back(rank);
            longest_ns = std::max(longest_ns, *silence);
        }
    if (silent.empty())
        return;
    const auto &device = evidence.attachment.device;
    const bool is_one = silent.size() == 1;
    found.push_back({Health::impaired,
                     fmt::format("job {} waits for rank{} {}, silent: {} of its chunks are open, the oldest is chunk "
                                 "{} of round {}",
                                 job.id(), is_one ? "" : "s", ranks_text(silent), job.open,
                                 job.oldest_open->chunk, job.oldest_open->round),
                     longest_ns,
                     fmt::format("look at {}; or let the others go on: olaf job leave {} {} {}",
                                 is_one ? "that worker" : "those workers", device, job.id(),
                                 is_one ? std::to_string(silent[0]) : "RANK")});
}

/// Sums that went up and weren't answered.
void find_unanswered(const Evidence &evidence, const JobReading &job, std::vector<Finding> &found) {
    if (!has_waited_long(evidence, job.oldest_up) || !somebody_is_heard(evidence, job))
        return;
    found.push_back({Health::impaired,
                     fmt::format("job {} waits for its parent, {}: it hasn't answered {} of the sums that went up",
                                 job.id(), parent_text(job.job.setup), job.up),
                     evidence.ago(job.oldest_up->since_ns),
                     "olaf status there says whom it waits for"});
}

/// Elements that are NaN now, and sums that are too long for the way up. They are counted since the job was set.
void find_faults(const Evidence &evidence, const JobReading &job, std::vector<Finding> &found) {
    const auto &counters = job.counters;
    if (counters.float_overflow != 0)
        found.push_back({Health::working,
                         fmt::format("job {}: {} floats were too large for its fixed point: their sums are NaN",
                                     job.id(), counters.float_overflow),
                         {},
                         fmt::format("olaf job set {} {} with a --float-bits below {}", evidence.attachment.device,
                                     job.id(), job.job.setup.float_bits)});
    if (counters.float_not_finite != 0)
        found.push_back({Health::working,
                         fmt::format("job {}: {} floats were NaN or infinite as they came: their sums are NaN",
                                     job.id(), counters.float_not_finite),
                         {},
                         "look at what the workers compute"});
    if (counters.up_unfit == 0)
        return;
    const auto device = parent_device_name(job.job.setup);
    found.push_back({job.up != 0 ? Health::impaired : Health::working,
                     fmt::format("job {}: {} times a sum was too long for the MTU of {}, and stayed here", job.id(),
                                 counters.up_unfit, device.empty() ? "the parent's device" : device),
                     {},
                     fmt::format("ip link set {} mtu N, as {} has it", device.empty() ? "DEV" : device,
                                 evidence.attachment.device)});
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
        else {
            find_silent(evidence, job, found);
            find_unanswered(evidence, job, found);
        }
        find_faults(evidence, job, found);
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
    if (silent && *silent < patience_ns(evidence))
        return Finding{Health::working,
                       fmt::format("{} job{}, {} chunk{} completed", jobs, jobs == 1 ? "" : "s",
                                   completed, completed == 1 ? "" : "s"),
                       {},
                       ""};
    return Finding{Health::idle, "no update and no contribution comes", silent, ""};
}

} // namespace olaf
