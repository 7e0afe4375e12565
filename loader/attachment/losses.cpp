// SPDX-License-Identifier: BSD-2-Clause
#include "losses.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <vector>

#include "tracepoints.hpp"

namespace olaf {

Result<std::optional<olaf_losses>> read_losses(const Attachment &attachment) {
    if (!at_tracepoints(attachment.place, "loss"))
        return std::nullopt;
    const auto fd = open_map_to_read(attachment, "olaf_losses");
    if (!fd)
        return std::unexpected(fd.error());
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    std::vector<olaf_losses> copies(static_cast<std::size_t>(cpus));
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(fd->get(), &key, copies.data()) != 0)
        return fail("read map", "olaf_losses", errno);
    olaf_losses sum{};
    for (const auto &copy : copies)
        for (std::size_t i = 0; i < OLAF_LOST_PLACES; i++)
            sum.frames[i] += copy.frames[i], sum.updates[i] += copy.updates[i];
    return sum;
}

} // namespace olaf
