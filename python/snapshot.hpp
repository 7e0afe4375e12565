// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <olaf/cluster.hpp>

#include "arrays.hpp"

namespace olaf::python {

/// A cluster as it was when asked for; but its weights are a view, of the server's own. Made and
/// destroyed with the GIL held, because of that.
struct Snapshot {
    std::uint32_t cluster = 0;
    std::uint32_t version = 0;
    ClusterStats stats = {};
    std::size_t workers = 0;
    double aom_average_ns = 0;
    std::int64_t aom_peak_ns = 0;
    Floats weights;

    /// All but the view; needs no GIL.
    void take(const Cluster &from);
};

} // namespace olaf::python
