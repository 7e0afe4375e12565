// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>

#include <cerrno>

#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/host.hpp"
#include "loader/observe/reading.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// The kernel starts each cluster's ages anew with its first departure after this moment.
Result<void> start_ages(const Attachment &attachment, std::uint64_t at_ns) {
    const auto map = OLAF_TRY(open_map(attachment, "olaf_control"));
    const std::uint32_t key = 0;
    olaf_control control{};
    if (bpf_map_lookup_elem(map.get(), &key, &control) != 0)
        return fail("read map", "olaf_control", errno);
    control.figures_from_ns = at_ns;
    if (bpf_map_update_elem(map.get(), &key, &control, BPF_ANY) != 0)
        return fail("write map", "olaf_control", errno);
    return {};
}

} // namespace

Result<Reset> reset(const ResetOptions &options) {
    OLAF_TRY(require_privileges_to_change("reset", options.device));
    const auto place = OLAF_TRY(find_attachment(options.device)).place;
    const auto lock = OLAF_TRY(PinLock::existing(place));
    const auto attachment = OLAF_TRY(live_attachment(options.device)); // what the lock now guards
    // Before the counters are read: what is counted after that has happened after this.
    const auto now = monotonic_ns();
    const auto counted = OLAF_TRY(read_counted(attachment));
    const auto start = start_of(counted.snapshot, counted.losses, now);
    OLAF_TRY(write_start(attachment, start));
    if (attachment.on_card()) // it meters no ages
        return Reset{.device = attachment.device,
                     .updates_waiting = counted.snapshot.levels.updates_waiting};
    OLAF_TRY(start_ages(attachment, now));
    return Reset{.device = attachment.device,
                 .updates_waiting = counted.snapshot.levels.updates_waiting};
}

} // namespace olaf
