// SPDX-License-Identifier: BSD-2-Clause
// One frame through a program, by BPF_PROG_TEST_RUN.
#pragma once

#include <linux/bpf.h>

#include "wire.hpp"

namespace olaf::test {

/// Bytes of a frame that the kernel's test runner keeps in one buffer: a page less the headroom
/// (256) and the tailroom (320) of XDP. What is longer arrives in several buffers.
inline constexpr std::size_t linear_limit = 4096 - 256 - 320;

struct Ran {
    std::uint32_t verdict = 0; ///< enum xdp_action, or TC_ACT_*
    Bytes bytes;
};

/// How a frame is handed to an XDP program.
struct How {
    std::uint32_t ingress_ifindex = 0; ///< 0: the runner's default, lo
    std::size_t linear_bytes = 0;      ///< in the first buffer; 0: as much as fits. Linux 6.18
};

/// Throws when the kernel refuses to run the program at all.
Ran run_xdp(int program, const Bytes &frame, const How &how = {});

/// A TC program sees the frame as an skb that came in by `ifindex` (0: lo).
Ran run_tc(int program, const Bytes &frame, std::uint32_t ifindex = 0);

/// `count` copies of one frame as real frames (transmitted, passed up the stack or dropped).
void run_live(int program, const Bytes &frame, std::uint32_t count, std::uint32_t ifindex);

/// Does this kernel let a test choose how much of a frame is in its first buffer? Linux 6.18 and
/// later do: if one that should does not, this throws.
bool can_choose_linear_bytes(int program);

const char *verdict_name(std::uint32_t verdict);

} // namespace olaf::test
