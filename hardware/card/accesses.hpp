// SPDX-License-Identifier: BSD-2-Clause
// One access to a register of the verilated queue over its AXI4-Lite port: offsets in bytes as in docs/registers.md,
// values in host order. `cycle` runs one cycle of the clock, in which frames move on; one thread.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace olaf::card {

/// Cycles that a register may take.
inline constexpr int register_patience = 100'000;

[[noreturn]] inline void register_hangs(std::uint32_t offset, const char *accessed) {
    throw std::runtime_error("the model doesn't answer when register " + std::to_string(offset) + " is " +
                             accessed + ": the RTL hangs");
}

/// Throws std::runtime_error if no answer comes.
template <class Top, class Cycle>
std::uint32_t read_register(Top &t, std::uint32_t offset, Cycle cycle) {
    t.araddr = offset;
    t.arvalid = 1;
    t.rready = 1;
    for (int i = 0; i < register_patience; i++) {
        t.clk = 0;
        t.eval();
        const bool taken = t.arvalid && t.arready, there = t.rvalid;
        const auto value = t.rdata;
        cycle();
        if (taken)
            t.arvalid = 0;
        if (there) {
            t.rready = 0;
            return value;
        }
    }
    register_hangs(offset, "read");
}

/// Returns when the write was answered. Throws as read_register does.
template <class Top, class Cycle>
void write_register(Top &t, std::uint32_t offset, std::uint32_t value, Cycle cycle) {
    t.awaddr = offset;
    t.wdata = value;
    t.awvalid = t.wvalid = 1;
    t.bready = 1;
    for (int i = 0; i < register_patience; i++) {
        t.clk = 0;
        t.eval();
        const bool taken = t.awvalid && t.awready, answered = t.bvalid;
        cycle();
        if (taken)
            t.awvalid = t.wvalid = 0;
        if (answered) {
            t.bready = 0;
            return;
        }
    }
    register_hangs(offset, "written");
}

} // namespace olaf::card
