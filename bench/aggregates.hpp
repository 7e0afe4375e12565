// SPDX-License-Identifier: BSD-2-Clause
// XAgg's Agg_array, made as large as a case needs it. Included behind the skeleton's structs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "frame.h" // first: the skeleton uses its structs

#include <bench_xagg.skel.h>
#include <bpf/libbpf.h>

namespace olaf::bench {

/// Room for `aggregates` of `elements` 32-bit elements, and for 10,000 at least: few of them would lie
/// in other memory, where the same additions took a sixth longer. Before the map is made.
inline void size_aggregates(bpf_map *agg_array, std::uint32_t aggregates, std::uint32_t elements) {
    bpf_map__set_max_entries(agg_array, std::max(aggregates, 10'000u));
    bpf_map__set_value_size(agg_array, BENCH_XAGG_BYTES(elements));
}

/// The same of Algorithm 1 in XDP, which is then for fragments of so many elements.
inline void size_aggregates(bench_xagg &skeleton, std::uint32_t aggregates,
                            std::uint32_t elements) {
    size_aggregates(skeleton.maps.agg_array, aggregates, elements);
    skeleton.rodata->config.elements = elements;
}

} // namespace olaf::bench
