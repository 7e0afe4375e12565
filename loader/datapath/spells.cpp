// SPDX-License-Identifier: BSD-2-Clause
#include "spells.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <vector>

namespace olaf {

std::optional<Spell> joined(std::span<const olaf_spell> cpus) {
    std::vector<Spell> spells;
    for (const auto &cpu : cpus)
        if (cpu.began_ns != 0)
            spells.push_back({cpu.began_ns, std::max<std::uint64_t>(cpu.last_ns, cpu.began_ns)});
    if (spells.empty())
        return {};
    std::ranges::sort(spells, std::ranges::greater{}, &Spell::last_ns);
    Spell last = spells[0];
    for (const auto &earlier : spells)
        if (earlier.goes_on(last.began_ns))
            last.began_ns = std::min(last.began_ns, earlier.began_ns);
    return last;
}

Spells spells_since(const Spells &spells, std::uint64_t from_ns) {
    Spells since;
    for (std::size_t i = 0; i < spells.size(); i++)
        if (spells[i] && spells[i]->last_ns >= from_ns)
            since[i] = Spell{std::max(spells[i]->began_ns, from_ns), spells[i]->last_ns};
    return since;
}

Result<Spells> read_spells(const MapFinder &map_fd) {
    const int fd = map_fd("olaf_spells");
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    Spells spells;
    std::vector<olaf_spell> copies(static_cast<std::size_t>(cpus));
    for (std::uint32_t trouble = 0; trouble < OLAF_TROUBLES; trouble++) {
        if (bpf_map_lookup_elem(fd, &trouble, copies.data()) != 0)
            return fail("read map", "olaf_spells", errno, errno == EBADF ? "it is not there" : "");
        spells[trouble] = joined(copies);
    }
    return spells;
}

} // namespace olaf
