// SPDX-License-Identifier: BSD-2-Clause
// Counters and levels: the model's in the cycle of a snapshot, against the card's.
#include "twin.hpp"

namespace olaf::test {

Twin::Counts Twin::counts(std::uint64_t now) const {
    Counts out;
    const auto &model = model_.counters();
    auto &value = out.value;
    value = own_;
    value[OLAF_CARD_aggregated] = model.aggregated;
    value[OLAF_CARD_appended] = model.appended;
    value[OLAF_CARD_replaced] = model.replaced;
    value[OLAF_CARD_departed_drain] = model.departed_drain;
    value[OLAF_CARD_dropped_full] = model.dropped_full;
    value[OLAF_CARD_dropped_reward] = model.dropped_reward;
    value[OLAF_CARD_dropped_sealed] = model.dropped_sealed;
    value[OLAF_CARD_dropped_misfit] = model.dropped_misfit;
    value[OLAF_CARD_updates_departed] = model.updates_out - own_[OLAF_CARD_updates_passed];
    value[OLAF_CARD_updates_superseded] = model.updates_superseded;
    value[OLAF_CARD_updates_dropped] = model.updates_dropped;
    value[OLAF_CARD_passed_through] = model.passed_through;
    value[OLAF_CARD_received] = model.received;
    value[OLAF_CARD_updates_in] = model.updates_in;
    out.length = model_.ring().size();
    out.waiting = model_.updates_waiting();
    out.active = model_.active_clusters(now);
    out.now = now;
    return out;
}

/// A counter that began at counters_from.
bool Twin::counts_to(std::uint64_t is, std::uint64_t expected) {
    const auto from = setting_.counters_from, to = from + expected;
    counters_wrapped += to < from || to >> 32 != from >> 32;
    return is == to;
}

std::string Twin::compare_counters() {
    std::ostringstream out;
    const auto check = [&](const std::string &what, std::uint64_t is, std::uint64_t model) {
        if (is != model)
            out << what << ": card " << is << ", model " << model << "\n";
    };
    card.snapshot();
    const auto expected = at_snapshot_;
    for (unsigned i = 0; i < OLAF_CARD_COUNTERS; i++) {
        const auto is = card.counter(i);
        // ACKs are counted two cycles after they were looked at.
        if (i < OLAF_CARD_acks_foreign && !counts_to(is, expected.value[i]))
            check("counter " + std::to_string(i), is, setting_.counters_from + expected.value[i]);
    }
    check("queue length", card.read(OLAF_REGISTER_QUEUE_LENGTH), expected.length);
    check("updates waiting", card.read64(OLAF_REGISTER_UPDATES_WAITING), expected.waiting);
    check("active clusters", card.read(OLAF_REGISTER_ACTIVE_CLUSTERS), expected.active);
    check("time", card.read64(OLAF_REGISTER_TIME), expected.now + origin_);
    if (!model_.conserves())
        out << "the model itself doesn't conserve updates\n";
    return out.str();
}

std::string Twin::compare_slots() {
    std::ostringstream out;
    const auto slots = setting_.asked.max_clusters * setting_.asked.max_segments;
    for (std::uint32_t slot = 0; slot < static_cast<std::uint32_t>(slots); slot++)
        for (unsigned i = 0; i < OLAF_CARD_SLOT_COUNTERS; i++) {
            const auto is = card.read64(OLAF_REGISTER_SLOT_COUNTER +
                                        OLAF_REGISTER_STRIDE_SLOT_COUNTER * slot + 8 * i);
            if (!counts_to(is, slots_[slot][i]))
                out << "slot " << slot << ", counter " << i << ": card " << is << ", model "
                    << setting_.counters_from + slots_[slot][i] << "\n";
        }
    card.snapshot();
    for (unsigned i = OLAF_CARD_acks_foreign; i < OLAF_CARD_COUNTERS; i++)
        if (const auto is = card.counter(i); !counts_to(is, own_[i]))
            out << "counter " << i << ": card " << is << ", model "
                << setting_.counters_from + own_[i] << "\n";
    return out.str();
}

} // namespace olaf::test
