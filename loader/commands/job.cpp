// SPDX-License-Identifier: BSD-2-Clause
// `olaf job`.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <map>

#include "commands.hpp"
#include "loader/attachment/addresses.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/hooks.hpp"
#include "loader/attachment/plan.hpp"
#include "loader/datapath/config.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/device.hpp"
#include "loader/host/host.hpp"
#include "loader/host/route.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

bool of_floats(const JobOptions &options) {
    return options.format == OLAF_FORMAT_F32X2;
}

bool has_checksum(const JobOptions &options) {
    return options.checksum && !of_floats(options);
}

/// What is only with floats, or not with them.
Result<void> check_floats(const JobOptions &options, const olaf_config &config) {
    if (!of_floats(options))
        return options.float_bits ? fail("set job", name_of(options), 0, "give --format f32 too",
                                         "--float-bits is of floats")
                                  : Result<void>{};
    const auto room = OLAF_FLOAT_LANES * options.lanes;
    if (options.lanes > OLAF_MAX_LANES / OLAF_FLOAT_LANES)
        return fail("set job", name_of(options), 0,
                    fmt::format("give {} at most", OLAF_MAX_LANES / OLAF_FLOAT_LANES),
                    fmt::format("{} lanes of floats are more than a node adds", options.lanes));
    if (room > config.max_lanes)
        return fail("set job", name_of(options), 0,
                    fmt::format("give --lanes {} at most, or olaf detach {}, then attach it with "
                                "--max-lanes {}",
                                config.max_lanes / OLAF_FLOAT_LANES, options.device, room),
                    fmt::format("{} lanes of floats are added in {}, more than the queue's "
                                "--max-lanes {}",
                                options.lanes, room, config.max_lanes));
    return {};
}

Result<void> check_lanes(const JobOptions &options, const olaf_config &config) {
    if (options.lanes > config.max_lanes)
        return fail("set job", name_of(options), 0,
                    fmt::format("give fewer, or olaf detach {}, then attach it with --max-lanes {}",
                                options.device, options.lanes),
                    fmt::format("--lanes {} is more than the queue's --max-lanes {}",
                                options.lanes, config.max_lanes));
    if (options.lanes == 0)
        return fail("set job", name_of(options), 0,
                    fmt::format("raise the MTU of {}, or of the device to the parent",
                                options.device),
                    "the MTU has no room for a lane");
    if (has_checksum(options) && options.lanes < 2)
        return fail("set job", name_of(options), 0, "give 2 or more, or --no-checksum",
                    "--lanes 1 is the checksum lane alone");
    return {};
}

/// When a chunk is complete, and how many workers' contributions are in it then.
Result<void> check_counts(const JobOptions &options, std::uint32_t threshold,
                          std::uint32_t max_count) {
    if (!options.any && threshold > options.children)
        return fail("set job", name_of(options), 0, "give fewer, or --any",
                    fmt::format("--threshold {} is more than its {} children", threshold,
                                options.children));
    if (options.parent && !options.max_count)
        return fail("set job", name_of(options), 0,
                    "give --max-count: how many workers all nodes together have",
                    "with a parent, it can't be told from the children here");
    if (max_count < threshold)
        return fail("set job", name_of(options), 0, "give a larger one",
                    fmt::format("--max-count {} is less than the {} contributions that complete "
                                "a chunk",
                                max_count, threshold));
    return {};
}

/// Groups that the node's frames can go to, and come from.
Result<void> check_groups(const JobOptions &options) {
    if (options.parent_group && options.parent_group->family != options.parent->address.family)
        return fail("take results from", address_text(*options.parent_group), 0,
                    "give the group that the parent has",
                    fmt::format("the parent, {}, is of the other IP version",
                                endpoint_text(*options.parent)));
    if (options.group && options.group == options.parent_group)
        return fail("send results to", address_text(*options.group), 0,
                    "give each node a group of its own",
                    "the parent's results go to that group, so its children would hear both");
    return {};
}

Result<void> check_run(const JobOptions &options) {
    if (options.run_number != 0 && options.training == 0)
        return fail("set job", name_of(options), 0, "give --run NAME too",
                    "--run-number is of a training");
    return {};
}

Result<void> check_members(const JobOptions &options) {
    for (const auto &member : options.members)
        if (member.worker >= options.children)
            return fail("bind rank", std::to_string(member.worker), 0, "give more --children",
                        fmt::format("ranks are 0 ... {}", options.children - 1));
    for (const auto rank : options.absent)
        if (rank >= options.children)
            return fail("leave out rank", std::to_string(rank), 0, "give more --children",
                        fmt::format("ranks are 0 ... {}", options.children - 1));
    return {};
}

} // namespace

std::string name_of(const JobOptions &options) {
    return fmt::format("{} on {}", options.job.value_or(0), options.device);
}

std::uint32_t usual_job_lanes(std::uint32_t mtu, olaf_format format, const olaf_config &config) {
    constexpr std::uint32_t ipv6_bytes = 40;
    const std::uint32_t values_a_lane = format == OLAF_FORMAT_F32X2 ? OLAF_FLOAT_LANES : 1;
    return std::min({lanes_within(mtu, ipv6_bytes), config.max_lanes / values_a_lane,
                     std::uint32_t{OLAF_MAX_LANES} / values_a_lane});
}

Result<olaf_job_setup> job_setup(const JobOptions &options, const olaf_config &config) {
    const auto threshold = options.threshold.value_or(options.children);
    const auto max_count = options.max_count.value_or(std::max(options.children, threshold));
    for (const auto &good :
         {check_floats(options, config), check_lanes(options, config),
          check_counts(options, threshold, max_count), check_members(options), check_groups(options),
          check_run(options)})
        if (!good)
            return std::unexpected(good.error());
    olaf_job_setup setup{};
    setup.id = options.job.value_or(0);
    setup.flags = options.any ? OLAF_JOB_ANY : 0;
    setup.children = options.children;
    setup.threshold = setup.set_threshold = threshold;
    setup.max_count = max_count;
    setup.slots = options.pool;
    setup.pool = static_cast<std::uint32_t>(std::countr_zero(options.pool));
    setup.rank = options.rank.value_or(0);
    setup.lanes = static_cast<std::uint16_t>(options.lanes);
    setup.shape = static_cast<std::uint16_t>((has_checksum(options) ? OLAF_FLAG_CHECKSUM : 0) |
                                             options.format << OLAF_FLAG_FORMAT_SHIFT);
    if (of_floats(options)) {
        setup.float_bits =
            static_cast<std::uint8_t>(options.float_bits.value_or(OLAF_DEFAULT_FLOAT_BITS));
        setup.float_headroom = static_cast<std::uint8_t>(std::bit_width(max_count - 1));
    }
    setup.deadline_ns = options.deadline_ns;
    setup.run = {.training = options.training, .number = options.run_number};
    if (options.parent) {
        setup.parent_family = options.parent->address.family;
        setup.parent_port_be = htons(options.parent->port);
        std::ranges::copy(options.parent->address.words_be, setup.parent_addr_be);
    }
    if (options.group) {
        setup.group_family = options.group->family;
        setup.group_hops = options.group_hops;
        std::ranges::copy(options.group->words_be, setup.group_addr_be);
    }
    if (options.parent_group) {
        setup.flags |= OLAF_JOB_PARENTS_GROUP;
        std::ranges::copy(options.parent_group->words_be, setup.parent_group_be);
    }
    return setup;
}

namespace {

Result<void> refuse(const JobOptions &options, std::string hint, std::string reason) {
    return fail("send sums to", endpoint_text(*options.parent), 0, std::move(hint),
                std::move(reason));
}

/// By the queue's own device the node sends as the kernel routes, which tells programs nothing where
/// forwarding is off.
Result<void> check_own_device(const JobOptions &options) {
    const auto family = options.parent->address.family;
    if (routes_by(options.device, family))
        return {};
    return refuse(options, routing_remedy(options.device, family),
                  fmt::format("forwarding is off on {}, so the kernel answers programs no route",
                              options.device));
}

/// By another device the node's frames leave and come in by TC.
Result<void> check_other_device(const Device &device, const JobOptions &options) {
    if (!device.ethernet)
        return refuse(options, "give a parent that is reached by an Ethernet device",
                      fmt::format("it is behind {}, whose frames have no MAC addresses",
                                  device.name));
    if (const auto bytes = packet_bytes(options.lanes, options.parent->address.family);
        bytes > device.mtu)
        return refuse(options,
                      fmt::format("give fewer --lanes, or ip link set {} mtu {} if the way to the "
                                  "parent allows it",
                                  device.name, bytes),
                      fmt::format("a sum of {} lanes is a packet of {} bytes, and the MTU of {} "
                                  "is {}",
                                  options.lanes, bytes, device.name, device.mtu));
    return {};
}

/// The smallest MTU of the devices that the job's frames pass: the queue's own, and the parent's.
Result<std::uint32_t> mtu_of_job(const JobOptions &options) {
    const auto own = OLAF_TRY(find_device(options.device));
    if (!options.parent)
        return own.mtu;
    const auto route = OLAF_TRY(route_to(options.parent->address));
    const auto towards = OLAF_TRY(find_device(route.ifindex));
    return std::min(own.mtu, towards.mtu);
}

/// Finds the device that the job's parent is behind and this host's address towards it, and writes both
/// into *setup. Fails where the node couldn't send its sums there.
Result<void> find_parent(olaf_job_setup &setup, const PinPlace &place, const JobOptions &options) {
    if (!options.parent)
        return {};
    const auto route = OLAF_TRY(route_to(options.parent->address));
    if (route.local)
        return refuse(options, "name another host, or leave --parent out: then this node is the root",
                      "the address is this host's own");
    std::ranges::copy(route.source.words_be, setup.source_addr_be);
    wake_neighbour(*options.parent);
    if (route.ifindex == place.ifindex)
        return check_own_device(options);
    const auto device = OLAF_TRY(find_device(route.ifindex));
    OLAF_TRY(check_other_device(device, options));
    const auto ours = OLAF_TRY(clsact_would_be_ours(place, device.ifindex));
    setup.parent_ifindex = device.ifindex;
    setup.flags |= ours ? OLAF_JOB_OUR_CLSACT : 0;
    return {};
}

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
            fmt::format("olaf detach {}, then attach it with --round-slots {}", options.device,
                        options.pool),
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
    case Action::release:
        return {OLAF_JOB_RELEASE, "release job"};
    case Action::threshold:
        return {OLAF_JOB_THRESHOLD, "set the threshold of job"};
    default:
        return {OLAF_JOB_FLUSH, "flush job"};
    }
}

/// What can be said before the order is given.
Result<void> check_order(const JobOptions &options, const olaf_job_setup &setup) {
    if (options.action == Action::leave && *options.rank >= setup.children)
        return fail("take a member out of job", name_of(options), 0,
                    fmt::format("olaf job list {} shows them", options.device),
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
    OLAF_TRY(refresh_running(found));
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
