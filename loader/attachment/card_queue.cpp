// SPDX-License-Identifier: BSD-2-Clause
#include "card_queue.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "loader/card/record.hpp"
#include "loader/datapath/config.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/notes.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t poll_ns = 5'000'000;
/// Besides its time at the rate: a card that is simulated is slow.
constexpr std::uint64_t slack_ns = 10'000'000'000;

/// The longest that one departure may take.
std::uint64_t departure_bound(const olaf_config &config) {
    const auto frame = entry_bytes(config.max_lanes) + config.frame_overhead;
    return static_cast<std::uint64_t>(static_cast<double>(config.ns_per_byte_q24) / 0x1p24 * frame) +
           slack_ns;
}

} // namespace

Result<Card> open_card(const Attachment &attachment) {
    if (!attachment.card)
        return fail("use the card of", attachment.device, ENODEV,
                    "olaf detach " + attachment.device + ", then attach again",
                    "which one it is isn't remembered");
    auto card = Card::open(*attachment.card);
    if (!card && card.error().code == ENOENT)
        return fail("use the card", *attachment.card, ENODEV,
                    "look at the card and its slot; olaf detach cleans up",
                    "it is lost: the file of its registers has gone");
    return card;
}

Result<void> empty_card(Card &card, const olaf_config &config, const Signals &stop) {
    OLAF_TRY(card.admit(false));
    std::uint64_t fewest = UINT64_MAX, deadline = 0;
    for (;;) {
        if (OLAF_TRY(card.empty()))
            return {};
        const auto now = monotonic_ns();
        const auto waiting = OLAF_TRY(card.queue_length());
        if (waiting < fewest) {
            fewest = waiting;
            deadline = now + departure_bound(config);
        }
        if (now > deadline)
            return fail("drain the card", card.path(), 0,
                        "bring the way out up again, or leave them there: olaf detach --force",
                        fmt::format("{} messages wait and none leaves", waiting));
        if (OLAF_TRY(stop.until(now + poll_ns)))
            return fail("drain the card", card.path(), EINTR, "it takes no update in any more");
    }
}

Result<Snapshot> start_card(const PinPlace &place, const CardPlan &plan,
                            const std::vector<olaf_rule> &rules, const Signals &stop) {
    auto card = OLAF_TRY(Card::open(plan.path));
    OLAF_TRY(remember_card(place, plan.path));
    if (OLAF_TRY(card.queues())) {
        note(fmt::format("{}: it was queueing already; what waited leaves first", plan.path));
        OLAF_TRY(empty_card(card, plan.config, stop));
    }
    auto before = OLAF_TRY(card.snapshot(plan.config));
    const auto usual = default_rule(static_cast<olaf_policy>(plan.config.default_policy));
    auto done = card.set_rules(0, plan.config.max_clusters - 1, usual);
    for (std::uint32_t id = 0; done && id < rules.size(); id++)
        if (!same_rule(rules[id], usual))
            done = card.set_rules(id, id, rules[id]);
    if (done)
        done = card.configure(plan.config, plan.own);
    if (!done)
        return std::unexpected(done.error());
    return before;
}

Result<std::vector<olaf_rule>> rules_in(const Card &card, const olaf_config &config) {
    std::vector<olaf_rule> rules;
    for (std::uint32_t id = 0; id < config.max_clusters; id++) {
        rules.push_back(OLAF_TRY(card.rule(id)));
    }
    return rules;
}

Result<void> change_card(const Attachment &running, const CardPlan &plan) {
    auto card = OLAF_TRY(open_card(running));
    const auto &before = running.record.config;
    OLAF_TRY(card.configure(plan.config, plan.own));
    if (before.default_policy == plan.config.default_policy)
        return {};
    const auto from = default_rule(static_cast<olaf_policy>(before.default_policy));
    const auto to = default_rule(static_cast<olaf_policy>(plan.config.default_policy));
    for (std::uint32_t id = 0; id < before.max_clusters; id++) {
        const auto rule = OLAF_TRY(card.rule(id));
        if (same_rule(rule, from))
            OLAF_TRY(card.set_rules(id, id, to));
    }
    return {};
}

void leave_card(const PinPlace &place) {
    const auto path = card_of(place);
    if (!path)
        return;
    auto card = Card::open(*path);
    const auto done = card ? card->admit(false) : std::unexpected(card.error());
    if (!done)
        note(fmt::format("olaf: {}", done.error().message()));
}

} // namespace olaf
