// SPDX-License-Identifier: BSD-2-Clause
#include "replace.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>

#include "addresses.hpp"
#include "attachment.hpp"
#include "card.hpp"
#include "emptying.hpp"
#include "hooks.hpp"
#include "install.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/tc.hpp"
#include "olaf/try.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "tracepoints.hpp"

namespace olaf {
namespace {

Result<void> check_mode(const Plan &plan, const Record &running) {
    if (plan.mode == XdpMode::automatic ||
        (plan.mode == XdpMode::skb) == (running.skb_mode != 0))
        return {};
    return fail("replace the queue on", plan.device.name, 0,
                fmt::format("olaf detach {} first", plan.device.name),
                fmt::format("its mode is {} and can't change while attached",
                            running.skb_mode ? "skb" : "native"));
}

/// Pinned maps keep their sizes.
Result<void> check_sizes(const Plan &plan, const olaf_config &running) {
    const auto &config = plan.config;
    struct Size {
        const char *option;
        std::uint32_t from, to;
        bool same = from == to;
    };
    for (const auto &size : {
             Size{"--max-clusters", running.max_clusters, config.max_clusters},
             Size{"--max-segments", running.max_segments, config.max_segments},
             Size{"--max-lanes", running.max_lanes, config.max_lanes},
             Size{"--max-workers", running.max_workers, config.max_workers},
             Size{"--round-slots", running.round_slots, config.round_slots},
             Size{"--queue", running.queue_capacity, config.queue_capacity,
                  running.ring_places == config.ring_places},
         })
        if (!size.same)
            return fail("replace the queue on", plan.device.name, 0,
                        fmt::format("olaf detach {} first", plan.device.name),
                        fmt::format("{} is {} and can't become {} while attached", size.option,
                                    size.from, size.to));
    if (running.fifo_places != config.fifo_places)
        return fail("replace the queue on", plan.device.name, 0,
                    fmt::format("olaf detach {}, then attach with --policy fifo or --fifo",
                                plan.device.name),
                    "it was attached without room for policy fifo");
    return {};
}

/// What a running queue can't become without a detach: another mode, one that its output takes no
/// frames in, or one for which a pinned map would have to grow.
Result<void> check_replacement(const Plan &plan, const Record &running) {
    OLAF_TRY(check_mode(plan, running));
    if (running.skb_mode == 0 && !plan.native_obstacle.empty())
        return fail("replace the queue on", plan.device.name, 0,
                    fmt::format("olaf detach {}, then attach with --mode skb", plan.device.name),
                    plan.native_obstacle);
    return check_sizes(plan, running.config);
}

/// Whether what departs would go another way than it does.
bool goes_another_way(const olaf_config &running, const olaf_config &wanted) {
    return running.deliver != wanted.deliver || running.egress_ifindex != wanted.egress_ifindex ||
           running.upstream_port_be != wanted.upstream_port_be ||
           !std::ranges::equal(running.upstream_addr_be, wanted.upstream_addr_be) ||
           !std::ranges::equal(running.source_addr_be, wanted.source_addr_be);
}

/// Clusters that follow the default follow it to the new policy.
Result<void> move_default(int fd, const olaf_config &running, const olaf_config &config) {
    if (running.default_policy == config.default_policy)
        return {};
    const auto from = default_rule(static_cast<olaf_policy>(running.default_policy));
    const auto to = default_rule(static_cast<olaf_policy>(config.default_policy));
    for (std::uint32_t id = 0; id < running.max_clusters; id++) {
        olaf_rule rule{};
        if (bpf_map_lookup_elem(fd, &id, &rule) != 0)
            return fail("read", "olaf_rules", errno);
        if (rule == from)
            OLAF_TRY(write_rules(fd, id, id, to));
    }
    return {};
}

/// The running queue, while nothing may wait in it.
struct Emptied {
    Signals stop;
    EmptyingLease lease;
};

/// One replacement: from what runs to what is planned.
struct Replacement {
    const Plan &plan;
    const Attachment &running;
    RecordMap map;
    Record record; ///< the new one
    Datapath queue;
    std::optional<Emptied> emptied = {}; ///< where updates are to go another way

    [[nodiscard]] const PinPlace &place() const { return running.place; }
};

/// The new programs, loaded on the maps of what runs.
Result<Replacement> prepare(const Attachment &running, const Plan &plan) {
    auto map = OLAF_TRY(RecordMap::open(running.place));
    OLAF_TRY(check_replacement(plan, running.record));
    auto queue = OLAF_TRY(Datapath::load(
        plan.config, {.pinned_maps = running.place.path(),
                      .asks_driver = running.record.skb_mode == 0 && plan.driver_tells_tags}));
    note(plan.device.name, plan.notes);
    Record record = running.record;
    if (!OLAF_TRY(has_clsact(plan.device)))
        record.clsact_ours = 1; // somebody has removed it
    record.config = plan.config;
    record.hw_asked = static_cast<std::uint32_t>(plan.hardware);
    copy_text(record.hw_reason, plan.no_card);
    copy_text(record.target, plan.target);
    return Replacement{plan, running, std::move(map), record, std::move(queue)};
}

/// Whether what departs would go the same way, but for the device, and that has gone.
bool output_has_gone(const olaf_config &running, const olaf_config &wanted) {
    auto elsewhere = running;
    elsewhere.egress_ifindex = wanted.egress_ifindex;
    return running.egress_ifindex != 0 && !goes_another_way(elsewhere, wanted) &&
           !find_device(running.egress_ifindex);
}

/// What waits can't leave by a device that has gone: it leaves by the new one.
Result<void> move_to_output(Replacement &to) {
    const auto had = to.running.record.config.egress_mtu, has = to.record.config.egress_mtu;
    const auto &output = *to.plan.egress;
    if (has < had)
        return fail("replace the queue on", to.plan.device.name, 0,
                    fmt::format("ip link set {} mtu {}, or olaf detach {} --force", output.name, had,
                                to.plan.device.name),
                    fmt::format("what waits was taken for an MTU of {}, and {} has {}", had, output.name, has));
    note(to.plan.device.name,
         {fmt::format("what waits leaves by {}: the device that it was for has gone", output.name)});
    return shut_xdp_gates(to.queue); // the new output is tried once it is the output: open_output()
}

/// What waits was made for the old way: it leaves by that first, with the old programs, and
/// until the replacement is done nothing new waits. Not only for that way's sake: where a qdisc
/// clsact comes or goes, the kernel refuses for a moment what the drain sends by that device.
Result<void> empty_first(Replacement &to) {
    if (!goes_another_way(to.running.record.config, to.record.config))
        return {};
    if (output_has_gone(to.running.record.config, to.record.config))
        return move_to_output(to);
    auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    auto lease = OLAF_TRY(EmptyingLease::take(to.running));
    to.emptied.emplace(std::move(stop), std::move(lease));
    return empty_queue(to.running, &to.emptied->lease, to.emptied->stop, false);
}

Result<void> renew(Replacement &to) {
    return to.emptied ? to.emptied->lease.renew() : Result<void>{};
}

/// Does what puts a clsact on the device of the way out, or takes it away. This process may be kept
/// from the CPU for longer than its lease to empty: what comes to wait then must not leave meanwhile.
Result<void> while_held(Replacement &to, const std::function<Result<void>()> &change) {
    if (!to.emptied)
        return change();
    OLAF_TRY(to.emptied->lease.hold());
    OLAF_TRY(change());
    return to.emptied->lease.let_go();
}

/// The programs of the way out and back, tried before anything is handed to them.
Result<void> swap_way(Replacement &to, Undo &undo) {
    OLAF_TRY(swap_filters(to.running, to.queue, undo));
    OLAF_TRY(swap_at_parents(to.place(), to.queue, undo));
    const auto drain = to.record.drain(to.place().ifindex);
    undo.add([=, running = to.running.record.config] {
        (void)shape_drain(drain, running.drain_interval_ns);
    });
    OLAF_TRY(shape_drain(drain, to.record.config.drain_interval_ns));
    return prove_drain(to.queue, to.plan.device, [&] { return renew(to); });
}

/// One attempt to swap all programs of an empty queue. False, and all is as before: this process
/// was stopped for longer than its lease, and something has come to wait for the old way.
Result<bool> swap_while_empty(Replacement &to, Undo &undo) {
    auto &[stop, lease] = *to.emptied;
    OLAF_TRY(lease.let_go());
    OLAF_TRY(empty_queue(to.running, &lease, stop, false));
    OLAF_TRY(lease.hold());
    if (updates_waiting(to.running) != 0U)
        return false;
    Undo attempt;
    OLAF_TRY(swap_way(to, attempt));
    if (!lease.unbroken())
        return false;
    OLAF_TRY(shut_xdp_gates(to.queue)); // the new output is tried once it is the output: open_output()
    OLAF_TRY(swap_entrance(to.running, to.queue, attempt));
    if (!lease.unbroken() && updates_waiting(to.running) != 0U)
        return false;
    undo.adopt(attempt);
    OLAF_TRY(lease.let_go());
    return true;
}

Result<void> swap_programs(Replacement &to, Undo &undo) {
    constexpr int attempts = 5;
    if (!to.emptied) {
        OLAF_TRY(swap_way(to, undo));
        return swap_entrance(to.running, to.queue, undo);
    }
    for (int i = 0; i < attempts; i++)
        if (OLAF_TRY(swap_while_empty(to, undo)))
            return {};
    return fail("replace the queue on", to.plan.device.name, 0, "it works on; try again",
                "updates came to wait while this command was held up");
}

/// All that can fail; taken back if it does.
Result<void> take_over(Replacement &to) {
    Undo undo;
    OLAF_TRY(allow(to.queue.map_fd("olaf_allow"), to.plan.allow, &undo));
    // What the host has now is right for the old programs too: nothing of it is taken back.
    OLAF_TRY(refresh_addresses(to.queue, to.place().ifindex));
    OLAF_TRY(empty_first(to));
    OLAF_TRY(while_held(
        to, [&] { return swap_return(to.running, to.map, to.record, to.queue, undo); }));
    OLAF_TRY(swap_programs(to, undo));
    OLAF_TRY(move_default(to.queue.map_fd("olaf_rules"), to.running.record.config, to.record.config));
    undo.dismiss(); // from here on the new ones are right
    return {};
}

Result<Record> replace_in_kernel(const Attachment &running, const Plan &plan) {
    auto to = OLAF_TRY(prepare(running, plan));
    OLAF_TRY(take_over(to));
    note(plan.device.name, attach_tracepoints(to.queue, to.place(), plan.device));
    OLAF_TRY(open_output(to.queue, to.place(), plan, to.map, to.record));
    to.record.replaced_ns = monotonic_ns();
    OLAF_TRY(pin_programs(to.queue, to.place(), true));
    OLAF_TRY(to.map.write(to.record));
    OLAF_TRY(while_held(to, [&] { return leave_return(to.place(), to.map, to.record); }));
    if (!plan.allow.empty())
        OLAF_TRY(allow_only(to.queue.map_fd("olaf_allow"), plan.allow));
    return to.record;
}

} // namespace

Result<Record> replace(PinLock &lock, const Attachment &running, const Plan &plan) {
    if (!running.on_card() && !plan.card)
        return replace_in_kernel(running, plan);
    note(plan.device.name, plan.notes);
    if (!running.on_card())
        return move_to_card(lock, running, plan);
    return plan.card ? replace_in_card(running, plan) : move_to_kernel(lock, running, plan);
}

} // namespace olaf
