// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/bridging.hpp"
#include "loader/attachment/own_addresses.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/device.hpp"
#include "loader/host/host.hpp"
#include "loader/host/route.hpp"

namespace olaf {
namespace {

using Action = JobOptions::Action;

std::string name_of(const JobOptions &options) {
    return fmt::format("{} on {}", options.job.value_or(0), options.device);
}

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
        return give_order(desk(), asked, what, name_of(options));
    }
};

Result<Jobs> open_jobs(const JobOptions &options, bool to_change) {
    auto attachment = live_attachment(options.device);
    if (!attachment)
        return std::unexpected(attachment.error());
    Jobs jobs{.attachment = std::move(*attachment), .maps = {}, .program = {}, .all = {}};
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
        auto fd = open_map(jobs.attachment, name);
        if (!fd)
            return std::unexpected(fd.error());
        jobs.maps[name] = std::move(*fd);
    }
    auto program = open_map(jobs.attachment, program_named("olaf_job_order").pin.data());
    if (!program)
        return std::unexpected(program.error());
    jobs.program = std::move(*program);
    auto all = read_jobs(jobs.config(), [&](const char *name) { return jobs.maps.at(name).get(); });
    if (!all)
        return std::unexpected(all.error());
    jobs.all = std::move(*all);
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

/// Whether the node can send to its parent: out of the queue's device, which is all that its
/// programs do, and by the kernel's routes, which tell programs nothing where forwarding is off.
Result<void> check_way_to_parent(const Route &route, std::uint32_t ifindex,
                                 const JobOptions &options) {
    const auto refuse = [&](std::string hint, std::string reason) {
        return fail("send sums to", endpoint_text(*options.parent), 0, std::move(hint),
                    std::move(reason));
    };
    if (route.local)
        return refuse("name another host, or leave --parent out: then this node is the root",
                      "the address is this host's own");
    if (route.ifindex != ifindex) {
        const auto other = find_device(route.ifindex);
        return refuse(fmt::format("route it by {0}, or set the job on a queue of the device that "
                                  "leads to both children and parent",
                                  options.device),
                      fmt::format("it is behind {}, and a node sends by its own device, {}",
                                  other ? other->name : "another device", options.device));
    }
    const auto family = options.parent->address.family;
    if (!routes_by(options.device, family))
        return refuse(
            routing_remedy(options.device, family),
            fmt::format("forwarding is off on {}, so the kernel answers programs no route",
                        options.device));
    return {};
}

/// This host's address towards the parent.
Result<void> find_parent(olaf_job_setup &setup, const Jobs &jobs, const JobOptions &options) {
    if (!options.parent)
        return {};
    const auto route = route_to(options.parent->address);
    if (!route)
        return std::unexpected(route.error());
    if (auto way = check_way_to_parent(*route, jobs.config().ifindex, options); !way)
        return way;
    std::ranges::copy(route->source.words_be, setup.source_addr_be);
    wake_neighbour(*options.parent);
    return {};
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
    auto setup = job_setup(options, jobs.config());
    if (!setup)
        return std::unexpected(setup.error());
    const auto first = place_slots(jobs, options);
    if (!first)
        return std::unexpected(first.error());
    setup->first_slot = *first;
    if (auto found = find_parent(*setup, jobs, options); !found)
        return std::unexpected(found.error());
    const auto index = free_index(jobs, options);
    if (!index)
        return std::unexpected(index.error());
    const auto generation = draw_generation();
    if (!generation)
        return std::unexpected(generation.error());
    olaf_job_order order{};
    order.action = OLAF_JOB_SET;
    order.index = *index;
    order.generation = *generation;
    order.setup = *setup;
    for (const auto rank : options.absent)
        order.absent.word[rank / 64] |= std::uint64_t{1} << (rank % 64);
    return order;
}

/// All or nothing: a job some of whose members can't be bound isn't left behind.
Result<void> set(const Jobs &jobs, const JobOptions &options) {
    const auto order = plan_set(jobs, options);
    if (!order)
        return std::unexpected(order.error());
    if (auto done = zero_counters(jobs.maps.at("olaf_job_counters").get(), order->index); !done)
        return done;
    if (auto done = give_order(jobs.desk(), *order, "set job", name_of(options)); !done)
        return done;
    for (const auto &member : options.members) {
        const auto bound = give_order(jobs.desk(), binding_of(order->index, member), "bind rank",
                                      fmt::format("{} of job {}", member.worker, name_of(options)));
        if (!bound) {
            (void)jobs.order(OLAF_JOB_REMOVE, order->index, "remove job", options);
            return bound;
        }
        if (member.port != 0)
            wake_neighbour({.address = member.address, .port = member.port});
    }
    return {};
}

struct Order {
    olaf_job_action action;
    const char *what;
};

Order order_of(Action action) {
    switch (action) {
    case Action::remove:
        return {OLAF_JOB_REMOVE, "remove job"};
    case Action::reset:
        return {OLAF_JOB_RESET, "reset job"};
    case Action::halt:
        return {OLAF_JOB_HALT, "halt job"};
    case Action::resume:
        return {OLAF_JOB_RESUME, "resume job"};
    case Action::leave:
        return {OLAF_JOB_LEAVE, "take a member out of job"};
    default:
        return {OLAF_JOB_FLUSH, "flush job"};
    }
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
    if (auto good = require_privileges("change the jobs of", options.device); !good)
        return good;
    const auto found = kernel_attachment(options.device, "jobs");
    if (!found)
        return std::unexpected(found.error());
    if (auto done = refresh_addresses(*found); !done)
        return done;
    const auto lock = PinLock::existing(found->place);
    if (!lock)
        return std::unexpected(lock.error());
    const auto jobs = open_jobs(options, true); // of what the lock now guards
    if (!jobs)
        return std::unexpected(jobs.error());
    if (options.action == Action::set)
        return set(*jobs, options);
    const auto *job = jobs->find(*options.job);
    if (job == nullptr)
        return std::unexpected(no_such_job(*jobs, options));
    if (options.action == Action::leave && *options.rank >= job->job.setup.children)
        return fail("take a member out of job", name_of(options), 0, "olaf job list shows them",
                    fmt::format("ranks are 0 ... {}", job->job.setup.children - 1));
    const auto [action, what] = order_of(options.action);
    return jobs->order(action, job->index, what, options);
}

Result<JobListing> list_jobs(const JobOptions &options) {
    if (auto good = require_privileges("read the jobs of", options.device); !good)
        return std::unexpected(good.error());
    auto jobs = open_jobs(options, false);
    if (!jobs)
        return std::unexpected(jobs.error());
    if (options.job && jobs->find(*options.job) == nullptr)
        return std::unexpected(no_such_job(*jobs, options));
    if (options.job)
        std::erase_if(jobs->all, [&](const JobReading &job) { return job.id() != *options.job; });
    return JobListing{.jobs = std::move(jobs->all), .now_ns = monotonic_ns()};
}

} // namespace olaf
