// SPDX-License-Identifier: BSD-2-Clause
// Whether the queue that is asked for can be in the device's card.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loader/card/card.hpp"
#include "plan.hpp"

namespace olaf {

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

} // namespace olaf
