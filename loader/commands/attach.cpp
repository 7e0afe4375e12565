// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>

#include "attach_card.hpp"
#include "attach_checks.hpp"
#include "attach_kernel.hpp"
#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/card_queue.hpp"
#include "loader/attachment/memory.hpp"
#include "loader/attachment/plan.hpp"
#include "loader/attachment/saved.hpp"
#include "loader/attachment/teardown.hpp"
#include "loader/card/record.hpp"
#include "loader/datapath/config.hpp"
#include "loader/host/device_pin.hpp"
#include "loader/host/host.hpp"
#include "loader/host/netns.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/route.hpp"
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

} // namespace olaf
