// SPDX-License-Identifier: BSD-2-Clause
// Queues in cards: a new one, one that moves between kernel and card, and its end. The new queue takes
// updates in before the old one stops. Even so a move into the card under load may lose a single one.
#pragma once

#include <optional>

#include "commands.hpp"
#include "loader/attachment/card_plan.hpp"
#include "loader/host/signals.hpp"

namespace olaf {

/// What --hw comes to: a queue in the card, or in the kernel, which the plan then says why. Fails with
/// the reason where a card is required. `running`: the record of the queue that is there, or null.
Result<std::optional<CardPlan>> choose_card(const AttachOptions &options, const Device &device,
                                            Plan &plan, const PinPlace &place,
                                            const Record *running);

/// A new one. On failure every frame passes the card, and nothing stays on the host but the directory.
Result<Record> attach_to_card(PinLock &lock, const Device &device, const Plan &plan,
                              const CardPlan &card);

/// attach --replace: of a queue in the kernel or in a card, wherever it is to be then.
Result<Record> replace_anywhere(const AttachOptions &options, const Device &device,
                                const PinPlace &place);

/// Lets leave what waits in the attachment's card, if it has one, and stops its admission. A lost card
/// is told of and no obstacle. With force nothing that waits is.
Result<void> empty_its_card(const Attachment &attachment, bool force, const Signals &stop);

/// Of a queue in the kernel: lets leave what waits and takes the XDP program off, so that nothing new
/// can wait. Returns how many updates are dropped: none without force.
Result<std::uint64_t> empty_kernel(const Attachment &attachment, const DetachOptions &options,
                                   const Signals &stop);

} // namespace olaf
