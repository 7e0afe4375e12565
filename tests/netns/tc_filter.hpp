// SPDX-License-Identifier: BSD-2-Clause
// A small program at a TC hook of a device, for as long as an object lives.
#pragma once

#include <linux/bpf.h>

#include <span>
#include <string>

#include "netns.hpp"

namespace olaf::test {

bpf_insn instruction(int code, int dst, int src, int imm, int off = 0);

class TcFilter {
  public:
    enum Direction { sent, received };

    /// Throws if the kernel takes no such program. Filters of a hook run in the order of their
    /// priorities, until one doesn't return TC_ACT_UNSPEC.
    TcFilter(const Netns &netns, std::string device, Direction direction, unsigned priority,
             std::span<const bpf_insn> program);
    ~TcFilter();
    TcFilter(const TcFilter &) = delete;
    TcFilter &operator=(const TcFilter &) = delete;

  private:
    const Netns &netns_;
    std::string device_;
    Direction direction_;
    unsigned priority_;
};

} // namespace olaf::test
