// SPDX-License-Identifier: BSD-2-Clause
#include "flow.hpp"

namespace olaf {

Flow flow_of(const olaf_slot_counters &slots) {
    const auto departed = slots.departed_riding + slots.departed_drain;
    Flow flow{.departed = departed,
              .messages_out = departed + slots.passed_through,
              .updates_out = slots.updates_departed + slots.updates_passed};
#define ADD(field, group, key, unit, identity, ...)                                                \
    flow.received += ((identity)&OLAF_RIGHT(ARRIVALS)) != 0 ? slots.field : 0;                     \
    flow.dropped += OLAF_GROUP_##group == OLAF_GROUP_dropped ? slots.field : 0;
    OLAF_SLOT_COUNTER_LIST(ADD)
#undef ADD
    return flow;
}

Flow flow_of(const QueueReading &reading) {
    auto flow = flow_of(reading.snapshot.slots);
    flow.received = identity_sides(OLAF_IDENTITY_ARRIVALS, reading.numbers()).second;
    flow.dropped = group_total(OLAF_GROUP_dropped, reading.numbers());
    flow.refused = group_total(OLAF_GROUP_malformed, reading.numbers()) +
                   group_total(OLAF_GROUP_not_allowed, reading.numbers());
    flow.updates_lost = group_total(OLAF_GROUP_lost_behind_updates, reading.numbers());
    return flow;
}

Flow difference(const Flow &later, const Flow &earlier) {
    return {.received = later.received - earlier.received,
            .departed = later.departed - earlier.departed,
            .messages_out = later.messages_out - earlier.messages_out,
            .updates_out = later.updates_out - earlier.updates_out,
            .dropped = later.dropped - earlier.dropped,
            .refused = later.refused - earlier.refused,
            .updates_lost = later.updates_lost - earlier.updates_lost};
}

} // namespace olaf
