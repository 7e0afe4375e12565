// SPDX-License-Identifier: BSD-2-Clause
// What tests see and set inside the RTL, by the names that Verilator gives it: what no register tells, and what
// traffic would take years to reach.
#include "card.hpp"

#include "Volaf_queue.h"
#include "Volaf_queue___024root.h"

namespace olaf::test {

void Card::watch() {
    const auto &root = *top_->rootp;
    const unsigned head = root.olaf_queue__DOT__ring__DOT__first, ticket = root.olaf_queue__DOT__issued;
    const std::uint64_t time = root.olaf_queue__DOT__now;
    met_.ring_wraps += head < head_ && head == 0;
    met_.ticket_wraps += ticket < ticket_ && ticket == 0;
    met_.time_carries += time > time_ && time - time_ < 1u << 31 && (time >> 32) != (time_ >> 32);
    head_ = head;
    ticket_ = ticket;
    time_ = time;
}

void Card::set_time(std::uint64_t ns) { top_->rootp->olaf_queue__DOT__now = time_ = ns; }

void Card::set_counters(std::uint64_t value) {
    auto &root = *top_->rootp;
#define SUM(i) &root.olaf_queue__DOT__counters__DOT__counter__BRA__##i##__KET____DOT__sum
    QData *const sums[] = {
        SUM(0), SUM(1), SUM(2), SUM(3), SUM(4), SUM(5), SUM(6), SUM(7),
        SUM(8), SUM(9), SUM(10), SUM(11), SUM(12), SUM(13), SUM(14), SUM(15),
        SUM(16), SUM(17), SUM(18), SUM(19), SUM(20), SUM(21), SUM(22), SUM(23),
        SUM(24), SUM(25), SUM(26), SUM(27), SUM(28), SUM(29), SUM(30), SUM(31),
        SUM(32), SUM(33), SUM(34), SUM(35), SUM(36), SUM(37), SUM(38), SUM(39),
        SUM(40), SUM(41), SUM(42), SUM(43), SUM(44), SUM(45), SUM(46)};
#undef SUM
    static_assert(std::size(sums) == OLAF_CARD_COUNTERS);
    for (auto *sum : sums)
        *sum = value;
    for (auto *slots : {&root.olaf_queue__DOT__slot_counters__DOT__sums,
                        &root.olaf_queue__DOT__slot_counters__DOT__sums_to_read})
        for (std::size_t slot = 0; slot < 128; slot++)
            for (unsigned i = 0; i < OLAF_CARD_SLOT_COUNTERS; i++) {
                (*slots)[slot][2 * i] = static_cast<std::uint32_t>(value);
                (*slots)[slot][2 * i + 1] = static_cast<std::uint32_t>(value >> 32);
            }
}

} // namespace olaf::test
