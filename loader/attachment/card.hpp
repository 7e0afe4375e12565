// SPDX-License-Identifier: BSD-2-Clause
// A queue in a card, from its first update to its last, and its moves between kernel and card. The new
// queue takes updates in before the old one stops. Even so a move into the card under load may lose a
// single one. The caller holds the lock of the pins.
#pragma once

#include <vector>

#include "attachment.hpp"
#include "loader/card/card.hpp"
#include "loader/host/signals.hpp"
#include "plan.hpp"

namespace olaf {

/// The card of an attachment. One whose file has gone is lost (is_lost) as one of all ones is.
Result<Card> open_card(const Attachment &attachment);

/// The rules of its clusters.
Result<std::vector<olaf_rule>> rules_in(const Card &card, const olaf_config &config);

/// A new queue in the planned card. On failure every frame passes the card, and nothing stays on the
/// host but the directory.
Result<Record> attach_to_card(PinLock &lock, const Plan &plan);

// For attach --replace (replace.hpp). `running` was read since the pins were locked.

/// From the kernel: first the card takes updates in, then the kernel's queue is emptied as `detach`
/// does it.
Result<Record> move_to_card(PinLock &lock, const Attachment &running, const Plan &plan);

/// Back: first the kernel's queue works, then the card admits nothing more and is emptied.
Result<Record> move_to_kernel(PinLock &lock, const Attachment &running, Plan plan);

/// What waits in the card stays, and clusters that follow the default policy follow it to the new
/// one. Slots and places of a card are in use: their numbers stand.
Result<Record> replace_in_card(const Attachment &running, const Plan &plan);

/// Lets leave what waits in the attachment's card, if it has one, and stops its admission. A lost card
/// is told of and no obstacle. With force nothing that waits is.
Result<void> empty_its_card(const Attachment &attachment, bool force, const Signals &stop);

/// Of an attachment that nobody will empty any more: from now on every frame passes. Tells what is in
/// the way, and goes on.
void leave_card(const PinPlace &place);

} // namespace olaf
