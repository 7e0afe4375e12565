// SPDX-License-Identifier: BSD-2-Clause
#include "jobs_text.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "loader/host/device.hpp"
#include "loader/text/human.hpp"
#include "loader/text/job_counters.hpp"

namespace olaf {
namespace {

std::string line(std::string_view title, const std::string &text) {
    return fmt::format("  {:<11} {}\n", title, text);
}

std::string words_text(std::uint32_t family, std::span<const std::uint32_t, 4> words_be) {
    IpAddress address{.family = family, .words_be = {}};
    std::ranges::copy(words_be, address.words_be.begin());
    return address_text(address);
}

/// What more there is to say of a lane.
std::string shape_text(const olaf_job_setup &setup) {
    if (olaf_shape_is_floats(setup.shape) != 0)
        return fmt::format(", added with {} bits behind the point", setup.float_bits);
    return (setup.shape & OLAF_FLAG_CHECKSUM) != 0 ? " with a checksum" : "";
}

std::string setup_text(const JobReading &job) {
    const auto &setup = job.job.setup;
    const bool any = (setup.flags & OLAF_JOB_ANY) != 0;
    auto text = fmt::format("{}, {} of {} {}", job_state(job),
                            setup.parent_family == 0 ? "root" : "node", setup.children,
                            setup.children == 1 ? "child" : "children");
    if (const auto absent = job.absent(); !absent.empty())
        text += " without rank" + std::string(absent.size() == 1 ? " " : "s ") + ranks_text(absent);
    if (any || setup.threshold != setup.children)
        text += fmt::format(", {}{} complete a chunk", any ? "any " : "", setup.threshold);
    if (setup.deadline_ns != 0)
        text += ", deadline " + human_duration(static_cast<double>(setup.deadline_ns));
    text += fmt::format(", {} slots, {} lanes of {}{}, generation {}", setup.slots, setup.lanes,
                        job_format_name(setup.shape), shape_text(setup), job.job.generation);
    if (setup.parent_family != 0)
        text += fmt::format(", rank {} of {}", setup.rank, parent_text(setup));
    if (setup.parent_ifindex != 0) {
        const auto name = parent_device_name(setup);
        text += name.empty() ? " behind a device that has gone" : " behind " + name;
    }
    if (const auto group = parent_group_text(setup); !group.empty())
        text += ", whose results come to " + group;
    if (setup.group_family != 0)
        text += fmt::format(", results by multicast to {}", group_text(setup));
    if (setup.group_family != 0 && setup.group_hops != 1)
        text += fmt::format(", at most {} hops", setup.group_hops);
    return text;
}

/// "contributions 12 received, 9 added, 3 late": those of an object that aren't 0; "" if all are.
/// The job's own stand in none: "3 probes".
std::string object_text(std::string_view object, const olaf_job_counters &counters) {
    std::string text;
    for (const auto &counter : job_counters())
        if (const auto value = counter.in(counters); counter.object == object && value != 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", value, counter.key);
    return text.empty() || object.empty() ? text : fmt::format("{} {}", object, text);
}

std::string member_text(const KnownMember &known, std::uint64_t now_ns) {
    const auto silent = silent_ns(known.member, now_ns);
    return fmt::format("rank {:<4} {:<28} {}{}", known.worker, member_address_text(known.member),
                       silent ? fmt::format("heard {} ago",
                                            human_duration(static_cast<double>(*silent)))
                              : "never heard",
                       (known.member.flags & OLAF_MEMBER_REGISTERED) != 0 ? ", bound" : "");
}

} // namespace

std::string_view job_state(const JobReading &job) {
    if (job.job.halted != 0)
        return "halted";
    return job.job.state == OLAF_JOB_RUNNING ? "running" : "syncing";
}

std::optional<std::uint64_t> silent_ns(const olaf_member &member, std::uint64_t now_ns) {
    if (member.last_seen_ns == 0)
        return {};
    return now_ns - std::min<std::uint64_t>(member.last_seen_ns, now_ns);
}

std::string parent_text(const olaf_job_setup &setup) {
    IpAddress address{.family = setup.parent_family, .words_be = {}};
    std::ranges::copy(setup.parent_addr_be, address.words_be.begin());
    return endpoint_text({.address = address, .port = ntohs(setup.parent_port_be)});
}

std::string parent_device_name(const olaf_job_setup &setup) {
    const auto device = setup.parent_ifindex != 0 ? find_device(setup.parent_ifindex)
                                                  : Result<Device>(std::unexpected(Error{}));
    return device ? device->name : "";
}

std::string group_text(const olaf_job_setup &setup) {
    return words_text(setup.group_family, setup.group_addr_be);
}

std::string parent_group_text(const olaf_job_setup &setup) {
    if ((setup.flags & OLAF_JOB_PARENTS_GROUP) == 0)
        return "";
    return words_text(setup.parent_family, setup.parent_group_be);
}

std::string ranks_text(const std::vector<std::uint32_t> &ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
            end++;
        text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
        if (end - i > 2)
            text += fmt::format(" ... {}", ranks[end - 1]);
        else if (end - i == 2)
            text += fmt::format(", {}", ranks[end - 1]);
        i = end;
    }
    return text;
}

std::string job_lines(const JobReading &job) {
    auto text = line(fmt::format("job {}", job.id()), setup_text(job));
    if (const auto waiting = job.waiting_for(); !waiting.empty())
        text += line("", fmt::format("waits for rank{} {} to ask where to begin",
                                     waiting.size() == 1 ? "" : "s", ranks_text(waiting)));
    auto counters = job.counters;
    counters.undelivered += job.owed;
    for (const auto *object : {"contributions", "chunks", "results", "up", "float", ""})
        if (auto told = object_text(object, counters); !told.empty()) {
            if (std::string_view(object) == "chunks" && job.open + job.up != 0)
                told += fmt::format(", {} open, {} up", job.open, job.up);
            text += line("", told);
        }
    return text;
}

std::string job_text(const JobReading &job, std::uint64_t now_ns) {
    auto text = job_lines(job);
    for (const auto &member : job.members)
        text += line("", member_text(member, now_ns));
    return text;
}

} // namespace olaf
