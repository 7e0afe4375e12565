// SPDX-License-Identifier: BSD-2-Clause
// `olaf attach`, and what it would do (--dry-run).
#include <fmt/format.h>

#include <cerrno>

#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/card.hpp"
#include "loader/attachment/install.hpp"
#include "loader/attachment/output.hpp"
#include "loader/attachment/plan.hpp"
#include "loader/attachment/replace.hpp"
#include "loader/attachment/saved.hpp"
#include "loader/attachment/teardown.hpp"
#include "loader/card/find.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/drain.hpp"
#include "loader/host/host.hpp"
#include "loader/host/netns.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/route.hpp"
#include "loader/host/tc.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Fails where this process may not attach, or the kernel can't.
Result<Device> find_attachable(const std::string &device) {
    OLAF_TRY(require_privileges_to_change("attach to", device));
    OLAF_TRY(require_kernel("attach to", device));
    return find_device(device);
}

/// Ready for a new attachment: nothing of an older one, no other program.
Result<void> clear_place(PinLock &lock, const Attachment &before, const Plan &plan) {
    if (before.record.complete && !before.alive)
        note(plan.device.name, {"removing a queue whose device or program has gone"});
    else if (before.record.drain_ours)
        note(plan.device.name, {"removing what an interrupted attach or detach left"});
    leave_card(lock.place());
    OLAF_TRY(pin_device(lock.place())); // first: from now on it isn't swept
    OLAF_TRY(tear_down(lock));
    OLAF_TRY(forget_card(lock.place()));
    if (!plan.card)
        OLAF_TRY(yield_output(plan.device));
    return plan.card ? Result<void>{} : check_no_program(plan.device);
}

Result<Record> attach_new(const AttachOptions &options, const Device &device,
                          const PinPlace &place) {
    auto plan = OLAF_TRY(make_plan(options, device));
    OLAF_TRY(mount_bpffs());
    sweep_stale(place);
    OLAF_TRY(choose_card(plan, options, place, nullptr));

    auto lock = OLAF_TRY(PinLock::create(place));
    const auto before = read_attachment(lock.place());
    OLAF_TRY(check_no_queue(before, plan.device));
    note(plan.device.name, plan.notes);
    auto record = Result<Record>{};
    if (auto clear = clear_place(lock, before, plan); clear)
        record = plan.card ? attach_to_card(lock, plan) : install_fitting_mode(lock, plan);
    else
        record = std::unexpected(clear.error());
    if (record)
        note(plan.device.name, plan.consequences);
    else
        (void)lock.remove();
    return record;
}

Result<Record> replace_running(const AttachOptions &options, const Device &device,
                               const PinPlace &place) {
    auto lock = PinLock::existing(place);
    if (!lock && lock.error().code == ENOENT)
        return fail("replace the queue on", device.name, 0,
                    "olaf attach without --replace puts one there", "none is attached");
    if (!lock)
        return std::unexpected(lock.error());
    const auto running = OLAF_TRY(live_attachment(lock->place()));
    auto plan = OLAF_TRY(make_plan(options, device, &running.record));
    if (running.on_card() || options.hardware.value_or(Hardware::off) != Hardware::off)
        OLAF_TRY(choose_card(plan, options, place, &running.record));
    return replace(*lock, running, plan);
}

/// The command line lets nothing else leave the delivery open.
bool saves_only(const AttachOptions &options) {
    return options.save && !options.replace && !options.local && options.forward.empty() &&
           !options.upstream;
}

} // namespace

Result<Attached> attach(const AttachOptions &options) {
    const auto device = OLAF_TRY(find_attachable(options.device));
    const PinPlace place{.netns = OLAF_TRY(netns_inode()), .ifindex = device.ifindex};
    const auto replaces = [&] {
        if (!options.or_replace)
            return options.replace;
        const auto there = read_attachment(place);
        return there.alive && there.record.complete != 0;
    };
    Record record;
    if (!saves_only(options))
        record = OLAF_TRY(replaces() ? replace_running(options, device, place)
                                     : attach_new(options, device, place));
    if (options.save) {
        const auto attachment = OLAF_TRY(live_attachment(device.name));
        OLAF_TRY(save_attachment(attachment));
        record = attachment.record;
    }
    if (options.upstream)
        wake_neighbour(*options.upstream);
    return Attached{.device = device.name, .record = record, .memory_bytes = map_memory(place)};
}

namespace {

const char *hook_name(const Program &program) {
    switch (program.hook) {
    case Hook::xdp:
        return "XDP";
    case Hook::tc_ingress:
        return "TC ingress";
    case Hook::tc_egress:
        return "TC egress";
    case Hook::tracepoint:
        return "raw tracepoint";
    default:
        return "";
    }
}

std::string device_name(const Program &program, const AttachPlan &plan, const Plan &from) {
    switch (program.on) {
    case On::device:
        return plan.would.device;
    case On::drain_near:
        return plan.drain_a;
    case On::drain_far:
        return plan.drain_b;
    case On::way_back:
        return from.egress ? from.egress->name : "";
    case On::output:
    case On::parents:
    case On::host:
        break;
    }
    return "";
}

void add_programs(AttachPlan &plan, const Plan &from) {
    for (const auto &program : programs)
        if (stands(program, plan.would.record.config))
            plan.programs.push_back(
                {std::string(program.name), hook_name(program), device_name(program, plan, from)});
}

/// The drain's ends are new, so they have none.
Result<void> add_qdiscs(AttachPlan &plan, const Plan &from) {
    std::vector<Device> devices{from.device};
    if (from.egress && from.egress->ifindex != from.device.ifindex &&
        plan.would.record.config.deliver == OLAF_DELIVER_UPSTREAM)
        devices.push_back(*from.egress);
    for (const auto &each : devices) {
        const auto has = OLAF_TRY(has_clsact(each));
        (has ? plan.existing_clsact : plan.clsact).push_back(each.name);
    }
    plan.clsact.insert(plan.clsact.end(), {plan.drain_a, plan.drain_b});
    return {};
}

/// Of the queue itself: all that a plan for the card has.
AttachPlan plan_of(const Plan &from) {
    AttachPlan plan;
    plan.would.device = from.device.name;
    plan.would.record.config = from.config;
    plan.would.record.on_card = from.card ? 1 : 0;
    copy_text(plan.would.record.target, from.target);
    return plan;
}

} // namespace

Result<AttachPlan> plan_attach(const AttachOptions &options) {
    const auto device = OLAF_TRY(find_attachable(options.device));
    const PinPlace place{.netns = OLAF_TRY(netns_inode()), .ifindex = device.ifindex};
    OLAF_TRY(check_no_queue(read_attachment(place), device));
    OLAF_TRY(check_no_program(device));
    auto from = OLAF_TRY(make_plan(options, device));
    OLAF_TRY(choose_card(from, options, place, nullptr));
    if (from.card) { // it needs no program, device or qdisc
        note(from.device.name, from.notes);
        return plan_of(from);
    }
    const auto obstacle = OLAF_TRY(check_mode(from));
    if (!obstacle.empty())
        from.notes.push_back("skb mode, because " + obstacle);
    const bool skb_mode = from.mode == XdpMode::skb || !obstacle.empty();
    from.config.flags |= skb_mode ? OLAF_CONFIG_SKB_MODE : 0U;
    const auto queue = OLAF_TRY(Datapath::load(
        from.config, {.pinned_maps = {}, .asks_driver = !skb_mode && from.driver_tells_tags}));
    note(from.device.name, from.notes);
    note(from.device.name, from.consequences);
    auto plan = plan_of(from);
    plan.would.memory_bytes = map_memory(queue);
    plan.would.record.skb_mode = skb_mode ? 1 : 0;
    const auto drain = drain_names(from.device.ifindex);
    plan.drain_a = drain.a;
    plan.drain_b = drain.b;
    add_programs(plan, from);
    OLAF_TRY(add_qdiscs(plan, from));
    return plan;
}

} // namespace olaf
