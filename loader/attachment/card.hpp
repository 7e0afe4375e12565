// SPDX-License-Identifier: BSD-2-Clause
// A queue in a card: whether it fits, from its first update to its last, and its moves between kernel
// and card.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attachment.hpp"
#include "loader/card/card.hpp"
#include "loader/datapath/config.hpp"
#include "loader/host/signals.hpp"
#include "plan.hpp"

namespace olaf {

// Whether a queue as it is asked for can be in a card.

/// What of a queue was asked for by name. What wasn't is made to fit.
struct Asked {
    bool queue = false, clusters = false, lanes = false, workers = false;
};

/// Makes what wasn't asked for fit; returns what can't: "it has no window of unacknowledged
/// departures". "": all of it can.
std::string fit_to_card(DatapathConfig &config, const Asked &asked, const CardCapabilities &can);

/// The same of a rule; "" if the card can follow it.
std::string rule_obstacle(const olaf_rule &rule, const CardCapabilities &can);

// Whether the queue that is asked for can be in the device's card.

/// A queue in a card, in full.
struct CardPlan {
    std::string path;           ///< of its registers
    olaf_config config{};
    std::optional<CardOwn> own; ///< only updates for these addresses are taken; nothing: all
    std::vector<std::string> notes; ///< what was made to fit
};

/// Looks for the card and at what it can; writes none of its configuration. Fails with the reason why
/// not: ENXIO where there is no card at all. Sizes of a running queue stay
/// as they are where they aren't attach's own choice.
Result<CardPlan> plan_card(const AttachOptions &options, const Device &device, const Plan &plan,
                           const PinPlace &place, const Record *running);

/// This host's IPv4 addresses for the card of a device: more than it compares is an error.
Result<CardOwn> own_for_card(std::uint32_t ifindex);

/// What a record keeps of it: the error without what was being done. Where there is no card at all it
/// begins with this.
inline constexpr auto no_card = "no card: ";
std::string reason_of(const Error &error);

// A queue in a card, from its first update to its last. The caller holds the lock of the pins.

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

// Rules of clusters, where a queue moves between kernel and card.

/// Those of a queue in the kernel, as far as `config` has clusters for them. Clusters that follow the
/// default policy follow it to that of `config`.
Result<std::vector<olaf_rule>> rules_in_kernel(const Attachment &attachment,
                                               const olaf_config &config);

/// Gives clusters 0, 1, ... of the kernel's queue these.
Result<void> set_kernel_rules(const PinPlace &place, const std::vector<olaf_rule> &rules);

// Queues in cards: a new one, one that moves between kernel and card, and its end. The new queue takes
// updates in before the old one stops. Even so a move into the card under load may lose a single one.

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

} // namespace olaf
