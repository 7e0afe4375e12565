// SPDX-License-Identifier: BSD-2-Clause
#include "attach_card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "attach_kernel.hpp"
#include "kernel_rules.hpp"
#include "loader/attachment/card_queue.hpp"
#include "loader/attachment/replace.hpp"
#include "loader/attachment/start_pin.hpp"
#include "loader/attachment/teardown.hpp"
#include "loader/card/record.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/device_pin.hpp"
#include "loader/host/notes.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

Hardware asked_of(const AttachOptions &options, const Record *running) {
    if (options.hardware)
        return *options.hardware;
    return running != nullptr ? static_cast<Hardware>(running->hw_asked) : Hardware::automatic;
}

/// The record of a queue in a card, complete.
Record card_record(const Device &device, const Plan &plan, const CardPlan &card,
                   const Record *running) {
    Record record;
    record.complete = 1;
    record.on_card = 1;
    record.hw_asked = static_cast<std::uint32_t>(plan.hardware);
    std::snprintf(record.device, sizeof record.device, "%s", device.name.c_str());
    std::snprintf(record.target, sizeof record.target, "%s", plan.target.c_str());
    record.config = card.config;
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

/// The card first, then the kernel's queue is emptied as `detach` does it.
Result<Record> move_to_card(PinLock &lock, const Attachment &attachment, const Device &device,
                            const Plan &plan, const CardPlan &card) {
    const auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    const auto rules = OLAF_TRY(rules_in_kernel(attachment, card.config));
    const auto before = start_card(lock.place(), card, rules, stop);
    auto emptied = before ? empty_kernel(attachment, {.device = device.name}, stop)
                          : std::unexpected(before.error());
    if (!emptied) {
        // The kernel's queue works on, behind a card that passes everything.
        if (before)
            leave_card(lock.place());
        (void)forget_card(lock.place());
        return std::unexpected(emptied.error());
    }
    const auto record = card_record(device, plan, card, &attachment.record);
    OLAF_TRY(tear_down(lock, true));
    OLAF_TRY(write_record(lock.place(), record));
    OLAF_TRY(start_figures(lock.place(), *before));
    return record;
}

/// Puts back what was remembered of a queue that stays in its card.
Result<void> remember_again(const PinPlace &place, const Record &record,
                            const std::optional<Start> &start) {
    OLAF_TRY(RecordMap::create(place, record));
    return start ? write_start(read_attachment(place), *start) : Result<void>{};
}

/// The kernel's queue first, then the card admits nothing more and is emptied.
Result<Record> move_to_kernel(PinLock &lock, const AttachOptions &options,
                              const Attachment &attachment, const Device &device, Plan plan) {
    const auto &place = lock.place();
    const auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    auto card = open_card(attachment);
    if (!card && !is_lost(card.error()))
        return std::unexpected(card.error());
    auto rules = card ? rules_in(*card, attachment.record.config)
                      : Result<std::vector<olaf_rule>>(std::vector<olaf_rule>{});
    if (!rules && !is_lost(rules.error()))
        return std::unexpected(rules.error());
    if (rules)
        plan.config.fifo |= std::ranges::any_of(*rules, [](const olaf_rule &rule) {
            return rule.policy == OLAF_POLICY_FIFO;
        });
    const auto start = read_start(attachment).value_or(std::nullopt);
    OLAF_TRY(lock.clear_but({pin::card, pin::device}));
    const auto record = install_fitting_mode(lock, options, device, plan);
    if (!record) {
        if (auto done = remember_again(place, attachment.record, start); !done)
            note(fmt::format("olaf: {}", done.error().message()));
        return record;
    }
    if (rules)
        OLAF_TRY(set_kernel_rules(place, *rules));
    // What couldn't leave now leaves by itself: the card admits nothing more.
    if (auto done = empty_its_card(attachment, true, stop); !done)
        note(fmt::format("olaf: {}", done.error().message()));
    OLAF_TRY(forget_card(place));
    return record;
}

/// Slots and places of a card are in use: their numbers stand.
Result<void> check_card_sizes(const olaf_config &running, const olaf_config &wanted,
                              const std::string &device) {
    if (running.max_clusters == wanted.max_clusters && running.max_segments == wanted.max_segments &&
        running.max_lanes == wanted.max_lanes && running.queue_capacity == wanted.queue_capacity)
        return {};
    return fail("replace the queue on", device, 0, "olaf detach first",
                "in a card its sizes can't change while attached");
}

Result<Record> replace_in_card(PinLock &lock, const Attachment &attachment, const Device &device,
                               const Plan &plan, const CardPlan &card) {
    if (card.path != attachment.card)
        return fail("replace the queue on", device.name, 0, "olaf detach first",
                    "it is in another card, " + attachment.card.value_or("which isn't remembered"));
    const auto record = card_record(device, plan, card, &attachment.record);
    OLAF_TRY(check_card_sizes(attachment.record.config, card.config, device.name));
    OLAF_TRY(change_card(attachment, card));
    OLAF_TRY(write_record(lock.place(), record));
    return record;
}

/// The kernel's queue stays where it is, and its record tells what became of --hw.
Result<Record> replace_in_kernel(const AttachOptions &options, const Device &device,
                                 const PinPlace &place, const std::string &no_card) {
    auto record = replace(options, device, place);
    if (!record || !options.hardware)
        return record;
    record->hw_asked = static_cast<std::uint32_t>(*options.hardware);
    std::snprintf(record->hw_reason, sizeof record->hw_reason, "%s", no_card.c_str());
    const auto lock = OLAF_TRY(PinLock::existing(place));
    OLAF_TRY(write_record(lock.place(), *record));
    return record;
}

} // namespace

Result<std::optional<CardPlan>> choose_card(const AttachOptions &options, const Device &device,
                                            Plan &plan, const PinPlace &place,
                                            const Record *running) {
    plan.hardware = asked_of(options, running);
    if (plan.hardware == Hardware::off)
        return std::nullopt;
    auto found = plan_card(options, device, plan, place, running);
    if (found)
        return std::move(*found);
    if (plan.hardware == Hardware::require) {
        if (found.error().code == ENXIO)
            found.error().code = 0; // the reason says it
        return std::unexpected(found.error());
    }
    plan.no_card = reason_of(found.error());
    if (found.error().code != ENXIO)
        note(fmt::format("{}: its queue is in the kernel: {}", device.name,
                         found.error().message()));
    return std::nullopt;
}

Result<Record> attach_to_card(PinLock &lock, const Device &device, const Plan &plan,
                              const CardPlan &card) {
    const auto &place = lock.place();
    const auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    auto record = card_record(device, plan, card, nullptr);
    record.complete = 0;
    const auto map = OLAF_TRY(RecordMap::create(place, record));
    const auto before = start_card(place, card, {}, stop);
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

Result<Record> replace_anywhere(const AttachOptions &options, const Device &device,
                                const PinPlace &place) {
    const bool looks = options.hardware.value_or(Hardware::off) != Hardware::off;
    if (!looks && !read_attachment(place).on_card())
        return replace_in_kernel(options, device, place, "");
    std::string no_card;
    {
        auto lock = PinLock::existing(place);
        const auto attachment = live_attachment(device.name);
        if (!lock || !attachment)
            return std::unexpected(attachment ? lock.error() : attachment.error());
        auto plan = OLAF_TRY(make_plan(options, device, &attachment->record));
        if (auto pinned = pin_device(place); !pinned) // an older olaf didn't
            return std::unexpected(pinned.error());
        const auto card = choose_card(options, device, plan, place, &attachment->record);
        if (!card)
            return std::unexpected(card.error());
        for (const auto &decided : *card ? (*card)->notes : plan.notes)
            note(fmt::format("{}: {}", device.name, decided));
        if (attachment->on_card())
            return *card ? replace_in_card(*lock, *attachment, device, plan, **card)
                         : move_to_kernel(*lock, options, *attachment, device, plan);
        if (*card)
            return move_to_card(*lock, *attachment, device, plan, **card);
        no_card = plan.no_card;
    }
    return replace_in_kernel(options, device, place, no_card);
}

Result<void> empty_its_card(const Attachment &attachment, bool force, const Signals &stop) {
    if (!attachment.card)
        return {};
    auto card = open_card(attachment);
    auto done = card ? empty_card(*card, attachment.record.config, stop)
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
