// SPDX-License-Identifier: BSD-2-Clause
#include "card.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "emptying.hpp"
#include "install.hpp"
#include "loader/card/find.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/notes.hpp"
#include "olaf/try.hpp"
#include "teardown.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t card_poll_ns = 5'000'000;
/// The longest that one departure may take besides its time at the rate: a simulated card is slow.
constexpr std::uint64_t card_slack_ns = 10'000'000'000;

/// Stops the card's admission and waits until nothing waits in it, for as long as departures keep their
/// pace. Fails with the reason why nothing leaves, with EINTR when a signal says stop, or with
/// is_lost().
Result<void> empty_card(Card &card, const std::string &device, const olaf_config &config,
                        const Signals &stop) {
    OLAF_TRY(card.admit(false));
    std::uint64_t fewest = UINT64_MAX, deadline = 0;
    for (;;) {
        if (OLAF_TRY(card.empty()))
            return {};
        const auto now = monotonic_ns();
        const auto waiting = OLAF_TRY(card.queue_length());
        if (waiting < fewest) {
            fewest = waiting;
            deadline = now + largest_frame_ns(config) + card_slack_ns;
        }
        if (now > deadline)
            return fail("drain the card", card.path(), 0,
                        fmt::format("bring the way out up again, or leave them there: olaf detach {} "
                                    "--force",
                                    device),
                        fmt::format("{} messages wait and none leaves", waiting));
        if (OLAF_TRY(stop.until(now + card_poll_ns)))
            return fail("drain the card", card.path(), EINTR, "it takes no update in any more");
    }
}

/// Remembers the card, then configures it, with the clusters' rules, and lets it take updates in. What
/// still waits in it from before leaves first. Returns its counters as they were then.
Result<Snapshot> start_card(const PinPlace &place, const Plan &plan,
                            const std::vector<olaf_rule> &rules, const Signals &stop) {
    auto card = OLAF_TRY(Card::open(plan.card->path));
    OLAF_TRY(remember_card(place, card.path()));
    if (OLAF_TRY(card.queues())) {
        note(fmt::format("{}: it was queueing already; what waited leaves first", card.path()));
        OLAF_TRY(empty_card(card, plan.device.name, plan.config, stop));
    }
    auto before = OLAF_TRY(card.snapshot(plan.config));
    const auto usual = default_rule(static_cast<olaf_policy>(plan.config.default_policy));
    OLAF_TRY(card.set_rules(0, plan.config.max_clusters - 1, usual));
    for (std::uint32_t id = 0; id < rules.size(); id++)
        if (rules[id] != usual)
            OLAF_TRY(card.set_rules(id, id, rules[id]));
    OLAF_TRY(card.configure(plan.config, plan.card->own));
    return before;
}

/// The rules of a queue in the kernel, as far as `config` has clusters for them. Clusters that follow
/// the default policy follow it to that of `config`.
Result<std::vector<olaf_rule>> rules_in_kernel(const Attachment &attachment,
                                               const olaf_config &config) {
    const auto map = OLAF_TRY(open_map(attachment, "olaf_rules"));
    const auto clusters = std::min(attachment.record.config.max_clusters, config.max_clusters);
    const auto from =
        default_rule(static_cast<olaf_policy>(attachment.record.config.default_policy));
    const auto to = default_rule(static_cast<olaf_policy>(config.default_policy));
    std::vector<olaf_rule> rules(clusters);
    for (std::uint32_t id = 0; id < clusters; id++) {
        if (bpf_map_lookup_elem(map.get(), &id, &rules[id]) != 0)
            return fail("read the rule of cluster", std::to_string(id), errno);
        if (rules[id] == from)
            rules[id] = to;
    }
    return rules;
}

/// Gives clusters 0, 1, ... of the kernel's queue these.
Result<void> set_kernel_rules(const PinPlace &place, const std::vector<olaf_rule> &rules) {
    const auto map = OLAF_TRY(open_map(read_attachment(place), "olaf_rules"));
    for (std::uint32_t id = 0; id < rules.size(); id++)
        OLAF_TRY(write_rules(map.get(), id, id, rules[id]));
    return {};
}

/// The record of a queue in a card, complete.
Record card_record(const Plan &plan, const Record *running) {
    Record record;
    record.complete = 1;
    record.on_card = 1;
    record.hw_asked = static_cast<std::uint32_t>(plan.hardware);
    copy_text(record.device, plan.device.name);
    copy_text(record.target, plan.target);
    record.config = plan.config;
    record.attached_ns = running != nullptr ? running->attached_ns : monotonic_ns();
    record.replaced_ns = running != nullptr ? monotonic_ns() : 0;
    return record;
}

/// Its figures are those since then.
Result<void> start_figures(const PinPlace &place, const Snapshot &before) {
    return write_start(read_attachment(place), start_of(before, {}, 0));
}

Result<void> write_record(const PinPlace &place, const Record &record) {
    return OLAF_TRY(RecordMap::open(place)).write(record);
}

/// Puts back what was remembered of a queue that stays in its card.
Result<void> remember_again(const PinPlace &place, const Record &record,
                            const std::optional<Start> &start) {
    OLAF_TRY(RecordMap::create(place, record));
    return start ? write_start(read_attachment(place), *start) : Result<void>{};
}

} // namespace

Result<Record> move_to_card(PinLock &lock, const Attachment &running, const Plan &plan) {
    const auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    const auto rules = OLAF_TRY(rules_in_kernel(running, plan.config));
    const auto before = start_card(lock.place(), plan, rules, stop);
    auto emptied = before ? empty_kernel(running, stop, {}) : std::unexpected(before.error());
    if (!emptied) {
        // The kernel's queue works on, behind a card that passes everything.
        if (before)
            leave_card(lock.place());
        (void)forget_card(lock.place());
        return std::unexpected(emptied.error());
    }
    const auto record = card_record(plan, &running.record);
    OLAF_TRY(tear_down(lock, true));
    OLAF_TRY(write_record(lock.place(), record));
    OLAF_TRY(start_figures(lock.place(), *before));
    return record;
}

Result<Record> move_to_kernel(PinLock &lock, const Attachment &running, Plan plan) {
    const auto &place = lock.place();
    const auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    auto card = open_card(running);
    if (!card && !is_lost(card.error()))
        return std::unexpected(card.error());
    auto rules = card ? rules_in(*card, running.record.config)
                      : Result<std::vector<olaf_rule>>(std::vector<olaf_rule>{});
    if (!rules && !is_lost(rules.error()))
        return std::unexpected(rules.error());
    if (rules && std::ranges::any_of(*rules, [](const olaf_rule &rule) {
            return rule.policy == OLAF_POLICY_FIFO;
        }))
        plan.config.fifo_places = fifo_places(plan.config);
    const auto start = read_start(running).value_or(std::nullopt);
    OLAF_TRY(lock.clear_but({pin::card, pin::device}));
    const auto record = install_fitting_mode(lock, plan);
    if (!record) {
        if (auto done = remember_again(place, running.record, start); !done)
            note(fmt::format("olaf: {}", done.error().message()));
        return record;
    }
    if (rules)
        OLAF_TRY(set_kernel_rules(place, *rules));
    // What couldn't leave now leaves by itself: the card admits nothing more.
    if (auto done = empty_its_card(running, true, stop); !done)
        note(fmt::format("olaf: {}", done.error().message()));
    OLAF_TRY(forget_card(place));
    return record;
}

Result<Record> replace_in_card(const Attachment &running, const Plan &plan) {
    const auto refuse = [&](const std::string &reason) {
        return fail("replace the queue on", plan.device.name, 0,
                    fmt::format("olaf detach {} first", plan.device.name), reason);
    };
    if (plan.card->path != running.card)
        return refuse("it is in another card, " + running.card.value_or("which isn't remembered"));
    const auto record = card_record(plan, &running.record);
    const auto &before = running.record.config;
    const auto &config = plan.config;
    if (before.max_clusters != config.max_clusters || before.max_segments != config.max_segments ||
        before.max_lanes != config.max_lanes || before.queue_capacity != config.queue_capacity)
        return refuse("in a card its sizes can't change while attached");
    auto card = OLAF_TRY(open_card(running));
    OLAF_TRY(card.configure(config, plan.card->own));
    const auto from = default_rule(static_cast<olaf_policy>(before.default_policy));
    const auto to = default_rule(static_cast<olaf_policy>(config.default_policy));
    for (std::uint32_t id = 0; id < before.max_clusters && from != to; id++)
        if (OLAF_TRY(card.rule(id)) == from)
            OLAF_TRY(card.set_rules(id, id, to));
    OLAF_TRY(write_record(running.place, record));
    return record;
}

Result<Card> open_card(const Attachment &attachment) {
    if (!attachment.card)
        return fail("use the card of", attachment.device, ENODEV,
                    "olaf detach " + attachment.device + ", then attach again",
                    "which one it is isn't remembered");
    auto card = Card::open(*attachment.card);
    if (!card && card.error().code == ENOENT)
        return fail("use the card", *attachment.card, ENODEV,
                    fmt::format("look at the card and its slot; olaf detach {} cleans up",
                                attachment.device),
                    "it is lost: the file of its registers has gone");
    return card;
}

Result<std::vector<olaf_rule>> rules_in(const Card &card, const olaf_config &config) {
    std::vector<olaf_rule> rules;
    for (std::uint32_t id = 0; id < config.max_clusters; id++)
        rules.push_back(OLAF_TRY(card.rule(id)));
    return rules;
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

Result<Record> attach_to_card(PinLock &lock, const Plan &plan) {
    const auto &place = lock.place();
    const auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    auto record = card_record(plan, nullptr);
    record.complete = 0;
    const auto map = OLAF_TRY(RecordMap::create(place, record));
    const auto before = start_card(place, plan, {}, stop);
    record.complete = 1;
    auto done = before ? start_figures(place, *before) : std::unexpected(before.error());
    if (done)
        done = map.write(record);
    if (!done) {
        leave_card(place);
        return std::unexpected(done.error());
    }
    return record;
}

Result<void> empty_its_card(const Attachment &attachment, bool force, const Signals &stop) {
    if (!attachment.card)
        return {};
    auto card = open_card(attachment);
    auto done = card ? empty_card(*card, attachment.device, attachment.record.config, stop)
                     : Result<void>(std::unexpected(card.error()));
    if (done)
        return {};
    const auto &error = done.error();
    if (is_lost(error)) {
        note(fmt::format("{}: what waited in its card is lost with it: {}", attachment.device,
                         error.message()));
        return {};
    }
    if (force && error.code != EINTR) {
        note(fmt::format("{}: {}", attachment.device, error.message()));
        return {};
    }
    if (card && attachment.on_card())
        (void)card->admit(true); // it works on
    return done;
}

} // namespace olaf
