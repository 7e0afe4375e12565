// SPDX-License-Identifier: BSD-2-Clause
#include "card.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "emptying.hpp"
#include "install.hpp"
#include "loader/card/find.hpp"
#include "loader/datapath/config.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/host/addresses.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/notes.hpp"
#include "olaf/try.hpp"
#include "plan.hpp"
#include "replace.hpp"
#include "teardown.hpp"

namespace olaf {
namespace {

constexpr std::uint32_t lane_step = 16; ///< as make_config() rounds lanes up
constexpr std::uint64_t most_40_bits = (std::uint64_t{1} << 40) - 1;

/// "it has 8 places, and --queue asks for 9"; "" where it is enough.
std::string more_than(std::uint64_t asked, std::uint64_t has, const char *what, const char *option) {
    return asked <= has ? "" : fmt::format("it has {} {}, and {} asks for {}", has, what, option, asked);
}

std::string size_obstacle(DatapathConfig &config, const Asked &asked, const CardCapabilities &can) {
    if (!asked.clusters)
        config.max_clusters = std::max(
            1U, std::min({config.max_clusters, can.clusters, can.slots / config.max_segments}));
    if (!asked.queue || !config.queue_capacity)
        config.queue_capacity =
            std::min(2 * config.max_clusters * config.max_segments, can.places);
    if (!asked.lanes)
        config.max_lanes = std::min(config.max_lanes, can.lanes / lane_step * lane_step);
    const auto lanes = (config.max_lanes + lane_step - 1) / lane_step * lane_step;
    const auto slots = std::uint64_t{config.max_clusters} * config.max_segments;
    for (const auto &obstacle :
         {more_than(*config.queue_capacity, can.places, "places", "--queue"),
          more_than(config.max_clusters, can.clusters, "clusters", "--max-clusters"),
          more_than(slots, can.slots, "slots", "--max-clusters x --max-segments"),
          more_than(lanes, can.lanes, "lanes", "--max-lanes")})
        if (!obstacle.empty())
            return obstacle;
    return "";
}

} // namespace

std::string fit_to_card(DatapathConfig &config, const Asked &asked, const CardCapabilities &can) {
    if (config.deliver == OLAF_DELIVER_UPSTREAM && !can.has(OLAF_CARD_FEATURE_ROUTING))
        return "it sends nothing to an upstream server (--upstream)";
    if (config.window.most != 0 && !can.has(OLAF_CARD_FEATURE_WINDOW))
        return "it has no window of unacknowledged departures (--window)";
    if (config.allow_list && !can.has(OLAF_CARD_FEATURE_STRICT))
        return "it keeps no list of allowed sources (--allow)";
    if (config.strict && !can.has(OLAF_CARD_FEATURE_STRICT))
        return "it binds no workers to their addresses (--strict)";
    if (config.round_slots != 0 && !can.has(OLAF_CARD_FEATURE_JOBS))
        return "it has no jobs (--round-slots)";
    if (asked.workers && !can.has(OLAF_CARD_FEATURE_ACK_COPIES))
        return "it copies no ACKs to workers (--max-workers)";
    if (config.rate_bps != 0 && !can.has(OLAF_CARD_FEATURE_RATE))
        return "it paces nothing (--rate)";
    if (ns_per_byte_q24(config.rate_bps) > most_40_bits)
        return "its pace has 40 bits, and --rate is too slow for them";
    if (config.activity_window_ns > most_40_bits)
        return fmt::format("its activity window has 40 bits, {} s at most (--activity-window)",
                           most_40_bits / 1'000'000'000);
    return size_obstacle(config, asked, can);
}

std::string rule_obstacle(const olaf_rule &rule, const CardCapabilities &can) {
    if (rule.reward_threshold >= 0 && !can.has(OLAF_CARD_FEATURE_REWARD_FILTER))
        return "the card has no reward filter";
    return "";
}

namespace {

/// Departures of a card leave towards this host, which must carry them on; "" if it does.
std::string carriage_obstacle(const Device &device, const Plan &plan) {
    if (plan.config.deliver != OLAF_DELIVER_FORWARD)
        return "";
    const auto &out = *plan.egress;
    if ((device.master != 0 && device.master == out.master) || routes_by(device.name, 4))
        return "";
    return fmt::format("what leaves it comes in by {}, and this host carries nothing on to {} (make "
                       "them ports of one bridge, or let the host route)",
                       device.name, out.name);
}

std::vector<std::string> notes_on(const olaf_config &config, const CardCapabilities &can,
                                  const std::string &path) {
    std::vector<std::string> notes{
        fmt::format("its queue is in the card {}: {} of {} places, {} clusters, updates of at most "
                    "{} lanes",
                    path, config.queue_capacity, can.places, config.max_clusters,
                    config.max_lanes)};
    if (config.queue_capacity < 2 * config.max_clusters * config.max_segments)
        notes.push_back("a full queue drops updates: the card has no place for every cluster's two");
    if (!can.has(OLAF_CARD_FEATURE_IPV6))
        notes.push_back("updates over IPv6 pass it by");
    return notes;
}

/// Of a queue that runs, what isn't attach's own choice. In a card all of it stands: its slots are
/// in use.
Asked what_was_asked(const AttachOptions &options, const Record *running) {
    const bool stands = running != nullptr && running->on_card != 0;
    Asked asked{.queue = stands || (options.queue && *options.queue),
                .clusters = stands || options.max_clusters,
                .lanes = stands || (options.max_lanes && *options.max_lanes),
                .workers = options.max_workers.has_value()};
    if (running != nullptr) {
        const auto &config = running->config;
        const auto usual = 2 * config.max_clusters * config.max_segments;
        asked.clusters |= config.max_clusters != DatapathConfig{}.max_clusters;
        asked.queue |= config.queue_capacity != usual && !options.queue;
    }
    return asked;
}

} // namespace

std::string reason_of(const Error &error) {
    auto text = (error.code == ENXIO ? no_card : "") + error.reason;
    if (error.code != 0 && error.code != ENXIO && error.code != ENODEV)
        text += (text.empty() ? "" : ": ") + std::string(std::strerror(error.code));
    return text;
}

Result<CardOwn> own_for_card(std::uint32_t ifindex) {
    const auto host = OLAF_TRY(host_addresses(ifindex));
    CardOwn own{};
    std::size_t found = 0;
    for (const auto &address : host.addresses) {
        const auto *words = address.words_be;
        const bool ipv4 = words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
        if (!ipv4 || ntohl(words[3]) >> 24 == 127)
            continue;
        if (found < own.size())
            own[found] = words[3];
        found++;
    }
    if (found == 0 || found > own.size())
        return fail("tell the card", "this host's addresses", 0, "use the kernel's queue: --hw off",
                    fmt::format("this host has {} IPv4 addresses, and it compares 1 to {}", found,
                                own.size()));
    return own;
}

Result<CardPlan> plan_card(const AttachOptions &options, const Device &device, const Plan &plan,
                           const PinPlace &place, const Record *running) {
    const auto path = OLAF_TRY(find_card(device, options.card));
    const auto card = OLAF_TRY(Card::open(path));
    OLAF_TRY(check_card_free(place, path));
    auto human = plan.config;
    const auto can = card.capabilities();
    const auto asked = what_was_asked(options, running);
    auto obstacle = fit_to_card(human, asked, can);
    if (obstacle.empty())
        obstacle = carriage_obstacle(device, plan);
    const auto usual = default_rule(human.policy);
    if (obstacle.empty())
        obstacle = rule_obstacle(usual, can);
    if (!obstacle.empty())
        return fail("use the card", path, 0, "leave that out, or use the kernel's queue: --hw off",
                    obstacle);
    CardPlan found{.path = path, .config = {}, .own = {}, .notes = {}};
    found.config = OLAF_TRY(make_config(human));
    if (human.deliver == OLAF_DELIVER_LOCAL)
        found.own = OLAF_TRY(own_for_card(device.ifindex));
    found.notes = notes_on(found.config, can, path);
    return found;
}

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
        if (same_rule(rules[id], from))
            rules[id] = to;
    }
    return rules;
}

Result<void> set_kernel_rules(const PinPlace &place, const std::vector<olaf_rule> &rules) {
    const auto map = OLAF_TRY(open_map(read_attachment(place), "olaf_rules"));
    for (std::uint32_t id = 0; id < rules.size(); id++)
        OLAF_TRY(write_rules(map.get(), id, id, rules[id]));
    return {};
}

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
    auto emptied = before ? empty_kernel(attachment, stop, {})
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
