// SPDX-License-Identifier: BSD-2-Clause
#include "saved_jobs.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "loader/text/address.hpp"
#include "loader/text/units.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

IpAddress address_of(std::uint32_t family, std::span<const std::uint32_t, 4> words_be) {
    IpAddress address{.family = family, .words_be = {}};
    std::ranges::copy(words_be, address.words_be.begin());
    return address;
}

std::string parent_words(const olaf_job_setup &setup) {
    if (setup.parent_family == 0)
        return "";
    auto text = fmt::format(
        " --parent {} --rank {}",
        endpoint_text({.address = address_of(setup.parent_family, setup.parent_addr_be),
                       .port = ntohs(setup.parent_port_be)}),
        setup.rank);
    if ((setup.flags & OLAF_JOB_PARENTS_GROUP) != 0)
        text += " --parent-group " +
                address_text(address_of(setup.parent_family, setup.parent_group_be));
    return text;
}

std::string fanout_words(const olaf_job_setup &setup) {
    if (setup.group_family == 0)
        return "";
    auto text = " --fanout multicast=" +
                address_text(address_of(setup.group_family, setup.group_addr_be));
    if (setup.group_hops != 1)
        text += fmt::format(" --group-hops {}", setup.group_hops);
    return text;
}

/// The options that bind its members again; those that are learnt aren't saved.
std::string member_words(const std::vector<KnownMember> &members) {
    std::string text;
    for (const auto &[rank, member] : members) {
        if ((member.flags & OLAF_MEMBER_REGISTERED) == 0)
            continue;
        auto bound = member;
        if ((member.flags & OLAF_MEMBER_PORT_BOUND) == 0)
            bound.port_be = 0; // learnt, and to be learnt again
        text += fmt::format(" --member {}={}", rank, member_address_text(bound));
    }
    return text;
}

} // namespace

std::string job_words(const JobReading &job) {
    const auto &setup = job.job.setup;
    auto text = fmt::format("{} --children {} --lanes {}", setup.id, setup.children, setup.lanes);
    if (const auto format = job_format_name(setup.shape); format != "i32x2")
        text += fmt::format(" --format {}", format);
    if (const bool floats = olaf_shape_is_floats(setup.shape) != 0; !floats) {
        if ((setup.shape & OLAF_FLAG_CHECKSUM) == 0)
            text += " --no-checksum";
    } else if (setup.float_bits != OLAF_DEFAULT_FLOAT_BITS) {
        text += fmt::format(" --float-bits {}", setup.float_bits);
    }
    if (setup.slots != OLAF_DEFAULT_POOL)
        text += fmt::format(" --pool {}", setup.slots);
    if (setup.threshold != setup.children)
        text += fmt::format(" --threshold {}", setup.threshold);
    if ((setup.flags & OLAF_JOB_ANY) != 0)
        text += " --any";
    if (setup.deadline_ns != 0)
        text += fmt::format(" --deadline {}ns", setup.deadline_ns);
    if (setup.max_count != std::max(setup.children, setup.threshold) || setup.parent_family != 0)
        text += fmt::format(" --max-count {}", setup.max_count);
    for (const auto rank : job.absent())
        text += fmt::format(" --absent {}", rank);
    return text + fanout_words(setup) + parent_words(setup) + member_words(job.members);
}

Result<std::vector<std::string>> jobs_of(const Attachment &attached) {
    std::map<std::string, Fd> open;
    const auto jobs = OLAF_TRY(read_jobs(attached.record.config, [&](const char *name) {
        auto fd = open_map_to_read(attached, name);
        return fd ? (open[name] = std::move(*fd)).get() : -1;
    }));
    std::vector<std::string> found;
    for (const auto &job : jobs)
        found.push_back(job_words(job));
    return found;
}

} // namespace olaf
