// SPDX-License-Identifier: BSD-2-Clause
// A queue in a card, from its first update to its last. The caller holds the lock of the pins.
#pragma once

#include <vector>

#include "attachment.hpp"
#include "card_plan.hpp"
#include "loader/card/card.hpp"
#include "loader/host/signals.hpp"

namespace olaf {

/// The card of an attachment. One whose file has gone is lost (is_lost) as one of all ones is.
Result<Card> open_card(const Attachment &attachment);

/// Remembers the card, then configures it, with the clusters' rules, and lets it take updates in. What
/// still waits in it from before leaves first. Returns its counters as they were then.
Result<Snapshot> start_card(const PinPlace &place, const CardPlan &plan,
                            const std::vector<olaf_rule> &rules, const Signals &stop);

/// The same of a queue that is in it already: what waits stays, and clusters that follow the default
/// policy follow it to the new one.
Result<void> change_card(const Attachment &running, const CardPlan &plan);

/// Stops its admission and waits until nothing waits in it, for as long as departures keep their
/// pace. Fails with the reason why nothing leaves, with EINTR when a signal says stop, or with
/// is_lost().
Result<void> empty_card(Card &card, const olaf_config &config, const Signals &stop);

/// The rules of its clusters.
Result<std::vector<olaf_rule>> rules_in(const Card &card, const olaf_config &config);

/// Of an attachment that nobody will empty any more: from now on every frame passes. Tells what is in
/// the way, and goes on.
void leave_card(const PinPlace &place);

} // namespace olaf
