// SPDX-License-Identifier: BSD-2-Clause
// Where programs that are run by BPF_PROG_TEST_RUN send to: devices of one namespace, into which this
// process moves when it first asks. The kernel looks for them where the process is.
#pragma once

#include <cstdint>

namespace olaf::bench {

struct Away {
    std::uint32_t nowhere = 0;   ///< TC throws away what leaves by it: the least that sending costs
    std::uint32_t over_veth = 0; ///< a veth, behind which XDP drops what crosses it
};

/// Their ifindexes. Ends the program where they can't be made.
const Away &away();

} // namespace olaf::bench
