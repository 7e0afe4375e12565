// SPDX-License-Identifier: BSD-2-Clause
// The spells of trouble that a queue's programs noted.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "loader/datapath/spells.hpp"

namespace olaf::test {

/// As user space reads them.
inline Spells spells_of(const Harness &queue) {
    auto spells = read_spells([&](const char *map) { return queue.queue().map_fd(map); });
    if (!spells)
        throw std::runtime_error(spells.error().message());
    return *spells;
}

/// What each CPU noted of a trouble.
inline std::vector<olaf_spell> copies_of(const Harness &queue, olaf_trouble trouble) {
    std::vector<olaf_spell> copies(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const std::uint32_t key = trouble;
    if (bpf_map_lookup_elem(queue.queue().map_fd("olaf_spells"), &key, copies.data()) != 0)
        throw std::runtime_error("read olaf_spells");
    return copies;
}

/// Every CPU is as if it had noted that.
inline void set_spell(const Harness &queue, olaf_trouble trouble, const olaf_spell &spell) {
    const std::vector<olaf_spell> copies(static_cast<std::size_t>(libbpf_num_possible_cpus()),
                                         spell);
    const std::uint32_t key = trouble;
    if (bpf_map_update_elem(queue.queue().map_fd("olaf_spells"), &key, copies.data(), BPF_ANY) != 0)
        throw std::runtime_error("write olaf_spells");
}

} // namespace olaf::test
