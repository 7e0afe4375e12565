// SPDX-License-Identifier: BSD-2-Clause
// `olaf attach`, and what it would do (--dry-run).
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/card.hpp"
#include "loader/attachment/install.hpp"
#include "loader/attachment/plan.hpp"
#include "loader/attachment/saved.hpp"
#include "loader/attachment/teardown.hpp"
#include "loader/attachment/tracepoints.hpp"
#include "loader/card/find.hpp"
#include "loader/datapath/config.hpp"
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

/// Ready for a new attachment: nothing of an older one, no other program.
Result<void> clear_place(PinLock &lock, const Device &device, bool in_card) {
    const auto before = read_attachment(lock.place());
    if (before.record.complete && !before.alive)
        note(fmt::format("{}: removing a queue whose device or program has gone", device.name));
    else if (before.record.drain_ours)
        note(fmt::format("{}: removing what an interrupted attach left", device.name));
    leave_card(lock.place());
    OLAF_TRY(pin_device(lock.place())); // first: from now on it isn't swept
    OLAF_TRY(tear_down(lock));
    OLAF_TRY(forget_card(lock.place()));
    return in_card ? Result<void>{} : check_no_program(device);
}

Result<Record> attach_new(const AttachOptions &options, const Device &device,
                          const PinPlace &place) {
    auto plan = OLAF_TRY(make_plan(options, device));
    OLAF_TRY(make_config(plan.config));
    OLAF_TRY(mount_bpffs());
    sweep_stale(place);
    const auto card = OLAF_TRY(choose_card(options, device, plan, place, nullptr));

    auto lock = OLAF_TRY(PinLock::create(place));
    OLAF_TRY(check_no_queue(read_attachment(place), device));
    for (const auto &decided : card ? card->notes : plan.notes)
        note(fmt::format("{}: {}", device.name, decided));
    auto record = Result<Record>{};
    if (auto clear = clear_place(lock, device, card.has_value()); clear)
        record = card ? attach_to_card(lock, device, plan, *card)
                      : install_fitting_mode(lock, options, device, plan);
    else
        record = std::unexpected(clear.error());
    if (!record)
        (void)lock.remove();
    else if (!card)
        for (const auto &follows : plan.consequences)
            note(fmt::format("{}: {}", device.name, follows));
    return record;
}

/// The command line lets nothing else leave the delivery open.
bool saves_only(const AttachOptions &options) {
    return options.save && !options.replace && !options.local && options.forward.empty() &&
           !options.upstream;
}

Result<Record> running_record(const std::string &device) {
    const auto attached = OLAF_TRY(live_attachment(device));
    return attached.record;
}

Result<void> save(const std::string &device) {
    const auto path = OLAF_TRY(save_attachment(device));
    note(fmt::format("{}: saved in {}; systemctl enable {} attaches it after a reboot", device,
                     path, service_name(device)));
    return {};
}

} // namespace

Result<Attached> attach(const AttachOptions &options) {
    OLAF_TRY(require_privileges_to_change("attach to", options.device));
    OLAF_TRY(require_kernel("attach to", options.device));
    const auto device = OLAF_TRY(find_device(options.device));
    const auto netns = OLAF_TRY(netns_inode());
    const PinPlace place{.netns = netns, .ifindex = device.ifindex};
    const auto record = OLAF_TRY(saves_only(options) ? running_record(options.device)
                                 : options.replace   ? replace_anywhere(options, device, place)
                                                     : attach_new(options, device, place));
    if (options.save)
        OLAF_TRY(save(device.name));
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
Result<void> add_qdiscs(AttachPlan &plan, const Plan &from, const Device &device) {
    std::vector<Device> devices{device};
    if (from.egress && from.egress->ifindex != device.ifindex &&
        plan.would.record.config.deliver == OLAF_DELIVER_UPSTREAM)
        devices.push_back(*from.egress);
    for (const auto &each : devices) {
        const auto has = OLAF_TRY(has_clsact(each.name, each.ifindex));
        (has ? plan.existing_clsact : plan.clsact).push_back(each.name);
    }
    plan.clsact.insert(plan.clsact.end(), {plan.drain_a, plan.drain_b});
    return {};
}

Result<void> check_free(const Device &device, const PinPlace &place) {
    const auto before = read_attachment(place);
    OLAF_TRY(check_no_queue(before, device));
    return check_no_program(device);
}

/// It needs no program, device or qdisc.
AttachPlan plan_in_card(const Device &device, const Plan &from, const CardPlan &card) {
    for (const auto &text : card.notes)
        note(fmt::format("{}: {}", device.name, text));
    AttachPlan plan;
    plan.would.device = device.name;
    plan.would.record.config = card.config;
    plan.would.record.on_card = 1;
    std::snprintf(plan.would.record.target, sizeof plan.would.record.target, "%s",
                  from.target.c_str());
    return plan;
}

} // namespace

Result<AttachPlan> plan_attach(const AttachOptions &options) {
    OLAF_TRY(require_privileges_to_change("attach to", options.device));
    OLAF_TRY(require_kernel("attach to", options.device));
    const auto device = OLAF_TRY(find_device(options.device));
    const auto netns = OLAF_TRY(netns_inode());
    OLAF_TRY(check_free(device, {.netns = netns, .ifindex = device.ifindex}));
    auto from = OLAF_TRY(make_plan(options, device));
    const PinPlace place{.netns = netns, .ifindex = device.ifindex};
    const auto card = OLAF_TRY(choose_card(options, device, from, place, nullptr));
    if (card)
        return plan_in_card(device, from, *card);
    const auto obstacle = OLAF_TRY(check_mode(options, device, from));
    if (!obstacle.empty())
        from.notes.push_back("skb mode, because " + obstacle);
    from.config.skb_mode = options.mode == XdpMode::skb || !obstacle.empty();
    const auto config = OLAF_TRY(make_config(from.config));
    const auto queue = OLAF_TRY(Datapath::load(
        config,
        {.pinned_maps = {}, .asks_driver = !from.config.skb_mode && driver_tells_tags(device)}));
    for (const auto *notes : {&from.notes, &from.consequences})
        for (const auto &text : *notes)
            note(fmt::format("{}: {}", device.name, text));
    AttachPlan plan;
    plan.would = {.device = device.name, .record = {}, .memory_bytes = map_memory(queue)};
    plan.would.record.config = config;
    plan.would.record.skb_mode = from.config.skb_mode ? 1 : 0;
    std::snprintf(plan.would.record.target, sizeof plan.would.record.target, "%s",
                  from.target.c_str());
    const auto drain = drain_names(device.ifindex);
    plan.drain_a = drain.a;
    plan.drain_b = drain.b;
    add_programs(plan, from);
    OLAF_TRY(add_qdiscs(plan, from, device));
    return plan;
}

} // namespace olaf
