// SPDX-License-Identifier: BSD-2-Clause
#include "losses.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <vector>

#include "loader/datapath/programs.hpp"
#include "olaf/try.hpp"
#include "tracepoints.hpp"

namespace olaf {

Result<std::optional<olaf_losses>> read_losses(const Attachment &attachment) {
    if (!at_tracepoints(attachment.place, "loss"))
        return std::nullopt;
    const auto fd = OLAF_TRY(open_map_to_read(attachment, "olaf_losses"));
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    std::vector<olaf_losses> copies(static_cast<std::size_t>(cpus));
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(fd.get(), &key, copies.data()) != 0)
        return fail("read map", "olaf_losses", errno);
    olaf_losses sum{};
    for (const auto &copy : copies)
        for (std::size_t i = 0; i < OLAF_LOST_PLACES; i++)
            sum.frames[i] += copy.frames[i], sum.updates[i] += copy.updates[i];
    return sum;
}

std::optional<std::uint64_t> deaths_unseen(const Attachment &attachment) {
    std::uint64_t unseen = 0;
    for (const auto &line : programs) {
        if (line.object != "loss")
            continue;
        const Fd link(get_pin(attachment.place.path(line.link), 0));
        bpf_link_info found{};
        __u32 length = sizeof found;
        if (!link || bpf_obj_get_info_by_fd(link.get(), &found, &length) != 0)
            return {};
        const Fd program(bpf_prog_get_fd_by_id(found.prog_id));
        bpf_prog_info info{};
        length = sizeof info;
        if (!program || bpf_obj_get_info_by_fd(program.get(), &info, &length) != 0)
            return {};
        unseen += info.recursion_misses;
    }
    return unseen;
}

} // namespace olaf
