// SPDX-License-Identifier: BSD-2-Clause
#include "replace.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>

#include "addresses.hpp"
#include "attachment.hpp"
#include "emptying.hpp"
#include "hooks.hpp"
#include "install.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/notes.hpp"
#include "olaf/try.hpp"
#include "plan.hpp"
#include "tracepoints.hpp"

namespace olaf {
namespace {

Result<void> check_mode(const AttachOptions &options, const Record &running,
                        const std::string &device) {
    const bool wants_skb = options.mode == XdpMode::skb;
    if (options.mode == XdpMode::automatic || wants_skb == (running.skb_mode != 0))
        return {};
    return fail("replace the queue on", device, 0, "olaf detach first",
                fmt::format("its mode is {} and can't change while attached",
                            running.skb_mode ? "skb" : "native"));
}

/// Pinned maps keep their sizes.
Result<void> check_sizes(const olaf_config &running, const olaf_config &wanted,
                         const std::string &device) {
    struct Size {
        const char *option;
        std::uint32_t from, to;
        bool same;
    };
    for (const auto &size : {
             Size{"--max-clusters", running.max_clusters, wanted.max_clusters,
                  running.max_clusters == wanted.max_clusters},
             Size{"--max-segments", running.max_segments, wanted.max_segments,
                  running.max_segments == wanted.max_segments},
             Size{"--max-lanes", running.max_lanes, wanted.max_lanes,
                  running.max_lanes == wanted.max_lanes},
             Size{"--max-workers", running.max_workers, wanted.max_workers,
                  running.max_workers == wanted.max_workers},
             Size{"--round-slots", running.round_slots, wanted.round_slots,
                  running.round_slots == wanted.round_slots},
             Size{"--queue", running.queue_capacity, wanted.queue_capacity,
                  running.ring_places == wanted.ring_places},
         })
        if (!size.same)
            return fail("replace the queue on", device, 0, "olaf detach first",
                        fmt::format("{} is {} and can't become {} while attached", size.option,
                                    size.from, size.to));
    if (running.fifo_places != wanted.fifo_places)
        return fail("replace the queue on", device, 0,
                    "olaf detach, then attach with --policy fifo or --fifo",
                    "it was attached without room for policy fifo");
    return {};
}

/// Native programs can't send by an output that takes no redirected frames.
Result<void> check_output(const Record &running, const Plan &plan, const Device &device) {
    const auto obstacle = running.skb_mode ? "" : native_obstacle(device, plan);
    if (obstacle.empty())
        return {};
    return fail("replace the queue on", device.name, 0, "olaf detach, then attach --mode skb",
                obstacle);
}

} // namespace

Result<void> check_layout(const Record &running, const Device &device) {
    if (running.layout == OLAF_LAYOUT && running.config.layout == OLAF_LAYOUT)
        return {};
    return fail("replace the queue on", device.name, 0, "olaf detach, then attach",
                fmt::format("its state has layout {}, this olaf's has {}", running.layout,
                            OLAF_LAYOUT));
}

Result<void> check_replacement(const AttachOptions &options, const Record &running,
                               const Plan &plan, const olaf_config &wanted, const Device &device) {
    OLAF_TRY(check_mode(options, running, device.name));
    OLAF_TRY(check_output(running, plan, device));
    return check_sizes(running.config, wanted, device.name);
}

bool goes_another_way(const olaf_config &running, const olaf_config &wanted) {
    return running.deliver != wanted.deliver || running.egress_ifindex != wanted.egress_ifindex ||
           running.upstream_port_be != wanted.upstream_port_be ||
           !std::ranges::equal(running.upstream_addr_be, wanted.upstream_addr_be) ||
           !std::ranges::equal(running.source_addr_be, wanted.source_addr_be);
}

namespace {

/// Clusters that follow the default follow it to the new policy.
Result<void> move_default(int rules_fd, const olaf_config &from, const olaf_config &to) {
    if (from.default_policy == to.default_policy)
        return {};
    const auto old_rule = default_rule(static_cast<olaf_policy>(from.default_policy));
    const auto new_rule = default_rule(static_cast<olaf_policy>(to.default_policy));
    for (std::uint32_t id = 0; id < from.max_clusters; id++) {
        olaf_rule rule{};
        if (bpf_map_lookup_elem(rules_fd, &id, &rule) != 0)
            return fail("read", "olaf_rules", errno);
        if (std::memcmp(&rule, &old_rule, sizeof rule) == 0)
            OLAF_TRY(write_rules(rules_fd, id, id, new_rule));
    }
    return {};
}

/// The running queue, while nothing may wait in it.
struct Emptied {
    Attachment attachment;
    Signals stop;
    EmptyingLease lease;
};

/// One replacement: from what runs to what is wanted.
struct Replacement {
    const AttachOptions &options;
    const Device &device;
    const PinPlace &place;
    RecordMap map;
    Record running;
    Record record; ///< the new one
    Datapath queue;
    std::optional<Emptied> emptied = {}; ///< where updates are to go another way
};

/// What runs, and the new programs, loaded on its maps.
Result<Replacement> prepare(const AttachOptions &options, const Device &device,
                            const PinPlace &place) {
    OLAF_TRY(live_attachment(device.name));
    auto map = OLAF_TRY(RecordMap::open(place));
    const auto running = OLAF_TRY(map.read());
    OLAF_TRY(check_layout(running, device));
    const auto plan = OLAF_TRY(make_plan(options, device, &running));
    const auto config = OLAF_TRY(make_config(plan.config));
    OLAF_TRY(check_replacement(options, running, plan, config, device));
    auto queue = OLAF_TRY(Datapath::load(
        config, {.pinned_maps = place.path(),
                 .asks_driver = running.skb_mode == 0 && driver_tells_tags(device)}));
    for (const auto &decided : plan.notes)
        note(fmt::format("{}: {}", device.name, decided));
    Record record = running;
    record.config = config;
    std::snprintf(record.target, sizeof record.target, "%s", plan.target.c_str());
    return Replacement{options, device, place, std::move(map), running, record, std::move(queue)};
}

/// What waits was made for the old way: it leaves by that first, with the old programs, and
/// until the replacement is done nothing new waits. Not only for that way's sake: where a qdisc
/// clsact comes or goes, the kernel refuses for a moment what the drain sends by that device.
Result<void> empty_first(Replacement &to) {
    if (!goes_another_way(to.running.config, to.record.config))
        return {};
    auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    const auto attachment = read_attachment(to.place);
    auto lease = OLAF_TRY(EmptyingLease::take(attachment));
    to.emptied.emplace(attachment, std::move(stop), std::move(lease));
    return empty_queue(attachment, &to.emptied->lease, to.emptied->stop, false);
}

Result<void> renew(Replacement &to) {
    return to.emptied ? to.emptied->lease.renew() : Result<void>{};
}

/// Does what puts a clsact on the device of the way out, or takes it away. This process may be kept
/// from the CPU for longer than its lease to empty: what comes to wait then must not leave meanwhile.
Result<void> while_held(Replacement &to, const std::function<Result<void>()> &change) {
    if (!to.emptied)
        return change();
    auto &lease = to.emptied->lease;
    OLAF_TRY(lease.hold());
    OLAF_TRY(change());
    return lease.let_go();
}

/// The programs of the way out and back, tried before anything is handed to them.
Result<void> swap_way(Replacement &to, Undo &undo) {
    const auto drain = to.record.drain(to.device.ifindex);
    const auto interval = to.running.config.drain_interval_ns;
    OLAF_TRY(swap_filters(to.place, to.running, to.queue, undo));
    OLAF_TRY(swap_at_parents(to.place, to.queue, undo));
    undo.add([=] { (void)shape_drain(drain, interval); });
    OLAF_TRY(shape_drain(drain, to.record.config.drain_interval_ns));
    return prove_drain(to.queue, to.device, [&] { return renew(to); });
}

/// One attempt to swap all programs of an empty queue. False, and all is as before: this process
/// was stopped for longer than its lease, and something has come to wait for the old way.
Result<bool> swap_while_empty(Replacement &to, Undo &undo) {
    auto &[attachment, stop, lease] = *to.emptied;
    const auto nothing_waits = [&] {
        const auto waiting = updates_waiting(attachment);
        return waiting && *waiting == 0;
    };
    OLAF_TRY(lease.let_go());
    OLAF_TRY(empty_queue(attachment, &lease, stop, false));
    OLAF_TRY(lease.hold());
    if (!nothing_waits())
        return false;
    Undo attempt;
    OLAF_TRY(swap_way(to, attempt));
    if (!lease.unbroken())
        return false;
    OLAF_TRY(swap_entrance(to.place, to.running, to.queue, attempt));
    if (!lease.unbroken() && !nothing_waits())
        return false;
    undo.adopt(attempt);
    OLAF_TRY(lease.let_go());
    return true;
}

Result<void> swap_programs(Replacement &to, Undo &undo) {
    constexpr int attempts = 5;
    if (!to.emptied) {
        OLAF_TRY(swap_way(to, undo));
        return swap_entrance(to.place, to.running, to.queue, undo);
    }
    for (int i = 0; i < attempts; i++)
        if (OLAF_TRY(swap_while_empty(to, undo)))
            return {};
    return fail("replace the queue on", to.device.name, 0, "it works on; try again",
                "updates came to wait while this command was held up");
}

/// All that can fail; taken back if it does.
Result<void> take_over(Replacement &to) {
    const auto allowed = to.queue.map_fd("olaf_allow");
    Undo undo;
    OLAF_TRY(allow(allowed, to.options.allow, &undo));
    // What the host has now is right for the old programs too: nothing of it is taken back.
    OLAF_TRY(refresh_addresses(to.queue.map_fd("olaf_own"), to.queue.map_fd("olaf_own_macs"),
                               to.device.ifindex));
    OLAF_TRY(empty_first(to));
    OLAF_TRY(while_held(
        to, [&] { return swap_return(to.place, to.map, to.running, to.record, to.queue, undo); }));
    OLAF_TRY(swap_programs(to, undo));
    OLAF_TRY(move_default(to.queue.map_fd("olaf_rules"), to.running.config, to.record.config));
    undo.dismiss(); // from here on the new ones are right
    return {};
}

} // namespace

Result<Record> replace(const AttachOptions &options, const Device &device, const PinPlace &place) {
    const auto lock = PinLock::existing(place);
    if (!lock && lock.error().code == ENOENT)
        return fail("replace the queue on", device.name, 0,
                    "olaf attach without --replace puts one there", "none is attached");
    if (!lock)
        return std::unexpected(lock.error());
    auto to = OLAF_TRY(prepare(options, device, place));
    OLAF_TRY(take_over(to));
    attach_tracepoints_or_say(to.queue, place, device);
    say_if_driver_is_silent(to.queue, device);
    to.record.replaced_ns = monotonic_ns();
    OLAF_TRY(pin_programs(to.queue, place, true));
    OLAF_TRY(to.map.write(to.record));
    OLAF_TRY(while_held(to, [&] { return leave_return(place, to.map, to.record); }));
    if (!options.allow.empty())
        OLAF_TRY(allow_only(to.queue.map_fd("olaf_allow"), options.allow));
    return to.record;
}

} // namespace olaf
