// SPDX-License-Identifier: BSD-2-Clause
#include "members.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "config.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/retry.hpp"
#include "loader/text/units.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Runs the program, which answers 0 or a negative errno.
Result<void> enrol(int program_fd, olaf_registration &asked, const std::string &whom,
                   const char *what) {
    int answer = -EAGAIN;
    for (Retry retry; answer == -EAGAIN && retry.again();) {
        LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &asked, .ctx_size_in = sizeof asked);
        if (bpf_prog_test_run_opts(program_fd, &options) != 0)
            return fail(what, whom, errno, "run as root");
        answer = static_cast<int>(options.retval);
    }
    if (answer != 0)
        return fail(what, whom, -answer);
    return {};
}

/// A consistent copy. The kernel copies a value from its start, the sequence first. So nobody wrote
/// in between if two copies are equal and their sequence is even.
Result<olaf_member> read_member(int fd, std::uint32_t index) {
    olaf_member first{}, second{};
    for (Retry retry; retry.again();) {
        if (bpf_map_lookup_elem(fd, &index, &first) != 0 ||
            bpf_map_lookup_elem(fd, &index, &second) != 0)
            return fail("read map", "olaf_members", errno);
        if (first.sequence % 2 == 0 && std::memcmp(&first, &second, sizeof first) == 0)
            return first;
    }
    return fail("read map", "olaf_members", EBUSY, "try again", "a member is written all the time");
}

} // namespace

Result<WorkerAddress> parse_worker(std::string_view text) {
    constexpr auto hint = "write ID=ADDR or ID=ADDR:PORT, as in 3=192.0.2.1 or "
                          "3=[2001:db8::1]:40000";
    const auto bad = [&] { return fail("read worker", fmt::format("'{}'", text), 0, hint); };
    const auto equals = text.find('=');
    if (equals == text.npos)
        return bad();
    const auto id = parse_count(text.substr(0, equals), 0, OLAF_EVERY_WORKER - 1);
    const auto where = text.substr(equals + 1);
    const auto endpoint = parse_endpoint(where);
    if (!id || !endpoint)
        return bad();
    const bool port_given = !parse_address(where) && !where.ends_with(']');
    return WorkerAddress{.worker = *id,
                         .address = endpoint->address,
                         .port = port_given ? endpoint->port : std::uint16_t{0}};
}

Result<void> register_worker(int program_fd, std::uint32_t cluster, const WorkerAddress &worker) {
    olaf_registration asked{};
    asked.enrolment = OLAF_ENROL_REGISTER;
    asked.cluster = cluster;
    asked.worker = worker.worker;
    asked.family = worker.address.family;
    std::ranges::copy(worker.address.words_be, asked.addr_be);
    asked.port_be = htons(worker.port);
    return enrol(program_fd, asked, fmt::format("worker {} of cluster {}", worker.worker, cluster),
                 "register");
}

Result<void> forget_members(int program_fd, std::uint32_t cluster) {
    olaf_registration asked{};
    asked.enrolment = OLAF_ENROL_FORGET;
    asked.cluster = cluster;
    return enrol(program_fd, asked, fmt::format("the workers of cluster {}", cluster), "forget");
}

Result<std::vector<KnownMember>> read_members(int members_fd, int rosters_fd,
                                              const olaf_config &config, std::uint32_t cluster) {
    olaf_roster roster{};
    if (bpf_map_lookup_elem(rosters_fd, &cluster, &roster) != 0)
        return fail("read map", "olaf_rosters", errno);
    std::vector<KnownMember> known;
    const auto now = monotonic_ns();
    for (std::uint32_t worker = 0; worker < roster.end; worker++) {
        const auto member = OLAF_TRY(
            read_member(members_fd, olaf_member_index(cluster, worker, config.max_clusters)));
        if (member.flags & OLAF_MEMBER_REGISTERED ||
            olaf_member_is_live(&member, now, config.member_timeout_ns))
            known.push_back({.worker = worker, .member = member});
    }
    return known;
}

std::string member_address_text(const olaf_member &member) {
    const auto address = address_of(member.family, member.addr_be);
    if (member.port_be == 0)
        return address_text(address);
    return endpoint_text({.address = address, .port = ntohs(member.port_be)});
}

} // namespace olaf
