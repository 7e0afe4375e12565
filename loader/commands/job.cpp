// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "commands.hpp"
#include "job_parent.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/own_addresses.hpp"
#include "loader/attachment/parents.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/device.hpp"
#include "loader/host/host.hpp"
#include "loader/host/route.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

using Action = JobOptions::Action;

/// A running queue whose jobs are read and changed: nobody else changes them meanwhile.
struct Jobs {
    Attachment attachment;
    std::map<std::string, Fd> maps;
    Fd program;
    std::vector<JobReading> all;

    [[nodiscard]] const olaf_config &config() const { return attachment.record.config; }
    [[nodiscard]] JobDesk desk() const {
        return {.program_fd = program.get(), .desk_fd = maps.at("olaf_job_desk").get()};
    }
    [[nodiscard]] const JobReading *find(std::uint32_t id) const {
        const auto found = std::ranges::find(all, id, &JobReading::id);
        return found != all.end() ? &*found : nullptr;
    }
    Result<void> order(olaf_job_action action, std::uint32_t index, const std::string &what,
                       const JobOptions &options) const {
        olaf_job_order asked{};
        asked.action = action;
        asked.index = index;
        asked.rank = options.rank.value_or(0);
        asked.setup.threshold = options.threshold.value_or(0);
        return give_order(desk(), asked, what, name_of(options));
    }
};

Result<Jobs> open_jobs(const JobOptions &options, bool to_change) {
    auto attachment = OLAF_TRY(live_attachment(options.device));
    Jobs jobs{.attachment = std::move(attachment), .maps = {}, .program = {}, .all = {}};
    if (jobs.config().round_slots == 0) {
        if (!to_change)
            return jobs;
        return fail(
            "set up jobs on", options.device, 0,
            fmt::format("olaf detach {}, then attach it with --round-slots N", options.device),
            "it was attached without slots for them");
    }
    for (const auto *name :
         {"olaf_jobs", "olaf_children", "olaf_job_counters", "olaf_round_slots", "olaf_job_desk"}) {
        jobs.maps[name] = OLAF_TRY(open_map(jobs.attachment, name));
    }
    jobs.program = OLAF_TRY(open_map(jobs.attachment, program_named("olaf_job_order").pin.data()));
    jobs.all = OLAF_TRY(
        read_jobs(jobs.config(), [&](const char *name) { return jobs.maps.at(name).get(); }));
    return jobs;
}

/// The first slots in a row that no other job has.
Result<std::uint32_t> place_slots(const Jobs &jobs, const JobOptions &options) {
    std::vector<SlotRun> taken;
    std::uint32_t sum = 0;
    for (const auto &job : jobs.all) {
        taken.push_back({.first = job.job.setup.first_slot, .count = job.job.setup.slots});
        sum += job.job.setup.slots;
    }
    const auto slots = jobs.config().round_slots;
    if (const auto first = first_fit(taken, options.pool, slots))
        return *first;
    const auto free = slots - std::min(sum, slots);
    return fail("set job", name_of(options), 0,
                fmt::format("give a smaller --pool, remove a job, or olaf detach {}, then attach "
                            "it with more --round-slots",
                            options.device),
                fmt::format("{} of the queue's {} slots are free{}, and --pool {} needs as many",
                            free, slots, free >= options.pool ? ", not in a row" : "",
                            options.pool));
}

Result<std::uint32_t> free_index(const Jobs &jobs, const JobOptions &options) {
    for (std::uint32_t index = 0; index < OLAF_MAX_JOBS; index++)
        if (std::ranges::find(jobs.all, index, &JobReading::index) == jobs.all.end())
            return index;
    return fail("set job", name_of(options), 0, "remove one",
                fmt::format("the queue has {} jobs, which is all it can have", OLAF_MAX_JOBS));
}

Result<std::uint32_t> draw_generation() {
    std::uint32_t generation = 0;
    while (generation == 0)
        if (::getrandom(&generation, sizeof generation, 0) != sizeof generation)
            return fail("draw", "the job's generation", errno);
    return generation;
}

Result<olaf_job_order> plan_set(const Jobs &jobs, const JobOptions &options) {
    if (jobs.find(*options.job) != nullptr)
        return fail("set job", name_of(options), 0,
                    fmt::format("olaf job remove {} {} first", options.device, *options.job),
                    "it is set already");
    auto setup = OLAF_TRY(job_setup(options, jobs.config()));
    setup.first_slot = OLAF_TRY(place_slots(jobs, options));
    OLAF_TRY(find_parent(setup, jobs.attachment.place, options));
    const auto index = OLAF_TRY(free_index(jobs, options));
    const auto generation = OLAF_TRY(draw_generation());
    olaf_job_order order{};
    order.action = OLAF_JOB_SET;
    order.index = index;
    order.generation = generation;
    order.setup = setup;
    for (const auto rank : options.absent)
        order.absent.word[rank / 64] |= std::uint64_t{1} << (rank % 64);
    return order;
}

Result<void> bind_members(const Jobs &jobs, std::uint32_t index, const JobOptions &options) {
    for (const auto &member : options.members) {
        OLAF_TRY(give_order(jobs.desk(), binding_of(index, member), "bind rank",
                            fmt::format("{} of job {}", member.worker, name_of(options))));
        if (member.port != 0)
            wake_neighbour({.address = member.address, .port = member.port});
    }
    return {};
}

/// What another device does for the job goes first: what comes in there then is nobody's.
Result<void> remove(const Jobs &jobs, std::uint32_t index, const JobOptions &options) {
    OLAF_TRY(leave_parent(jobs.attachment.place, index));
    return jobs.order(OLAF_JOB_REMOVE, index, "remove job", options);
}

/// All or nothing: a job some of whose members can't be bound isn't left behind, nor one that wouldn't
/// hear its parent.
Result<void> set(const Jobs &jobs, const JobOptions &asked) {
    JobOptions options = asked;
    if (options.lanes == 0) {
        const auto mtu = OLAF_TRY(mtu_of_job(options));
        options.lanes = usual_job_lanes(mtu, options.format, jobs.config());
    }
    const auto order = OLAF_TRY(plan_set(jobs, options));
    OLAF_TRY(zero_counters(jobs.maps.at("olaf_job_counters").get(), order.index));
    OLAF_TRY(give_order(jobs.desk(), order, "set job", name_of(options)));
    auto done = watch_parent(jobs.attachment.place, order.index, order.setup);
    if (done)
        done = bind_members(jobs, order.index, options);
    if (!done)
        (void)remove(jobs, order.index, options);
    return done;
}

struct Order {
    olaf_job_action action;
    const char *what;
};

Order order_of(Action action) {
    switch (action) {
    case Action::reset:
        return {OLAF_JOB_RESET, "reset job"};
    case Action::halt:
        return {OLAF_JOB_HALT, "halt job"};
    case Action::resume:
        return {OLAF_JOB_RESUME, "resume job"};
    case Action::leave:
        return {OLAF_JOB_LEAVE, "take a member out of job"};
    case Action::threshold:
        return {OLAF_JOB_THRESHOLD, "set the threshold of job"};
    default:
        return {OLAF_JOB_FLUSH, "flush job"};
    }
}

/// What can be said before the order is given.
Result<void> check_order(const JobOptions &options, const olaf_job_setup &setup) {
    if (options.action == Action::leave && *options.rank >= setup.children)
        return fail("take a member out of job", name_of(options), 0, "olaf job list shows them",
                    fmt::format("ranks are 0 ... {}", setup.children - 1));
    const bool any = (setup.flags & OLAF_JOB_ANY) != 0;
    const auto most = any ? setup.max_count : setup.children;
    if (options.action == Action::threshold && *options.threshold > most)
        return fail("set the threshold of job", name_of(options), 0,
                    fmt::format("give 1 ... {}", most),
                    any ? fmt::format("a result may have {} contributions", most)
                        : fmt::format("it has {} children, and not --any", most));
    return {};
}

Error no_such_job(const Jobs &jobs, const JobOptions &options) {
    std::vector<std::uint32_t> ids;
    for (const auto &job : jobs.all)
        ids.push_back(job.id());
    return fail("find job", name_of(options), 0,
                ids.empty() ? "olaf job set sets one"
                            : fmt::format("those that are set: {}", fmt::join(ids, ", ")),
                "there is none of that id")
        .error();
}

} // namespace

Result<void> change_job(const JobOptions &options) {
    OLAF_TRY(require_privileges("change the jobs of", options.device));
    const auto found = OLAF_TRY(kernel_attachment(options.device, "jobs"));
    OLAF_TRY(refresh_addresses(found));
    const auto lock = OLAF_TRY(PinLock::existing(found.place));
    const auto jobs = open_jobs(options, true); // of what the lock now guards
    if (!jobs)
        return std::unexpected(jobs.error());
    if (options.action == Action::set)
        return set(*jobs, options);
    const auto *job = jobs->find(*options.job);
    if (job == nullptr)
        return std::unexpected(no_such_job(*jobs, options));
    OLAF_TRY(check_order(options, job->job.setup));
    if (options.action == Action::remove)
        return remove(*jobs, job->index, options);
    const auto [action, what] = order_of(options.action);
    return jobs->order(action, job->index, what, options);
}

Result<JobListing> list_jobs(const JobOptions &options) {
    OLAF_TRY(require_privileges("read the jobs of", options.device));
    auto jobs = OLAF_TRY(open_jobs(options, false));
    if (options.job && jobs.find(*options.job) == nullptr)
        return std::unexpected(no_such_job(jobs, options));
    if (options.job)
        std::erase_if(jobs.all, [&](const JobReading &job) { return job.id() != *options.job; });
    return JobListing{.jobs = std::move(jobs.all), .now_ns = monotonic_ns()};
}

} // namespace olaf
