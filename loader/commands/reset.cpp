// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>

#include <cerrno>

#include "commands.hpp"
#include "loader/attachment/start_pin.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/host.hpp"
#include "loader/observe/reading.hpp"

namespace olaf {
namespace {

/// The kernel starts each cluster's ages anew with its first departure after this moment.
Result<void> start_ages(const Attachment &attachment, std::uint64_t at_ns) {
    const auto map = open_map(attachment, "olaf_control");
    if (!map)
        return std::unexpected(map.error());
    const std::uint32_t key = 0;
    olaf_control control{};
    if (bpf_map_lookup_elem(map->get(), &key, &control) != 0)
        return fail("read map", "olaf_control", errno);
    control.figures_from_ns = at_ns;
    if (bpf_map_update_elem(map->get(), &key, &control, BPF_ANY) != 0)
        return fail("write map", "olaf_control", errno);
    return {};
}

} // namespace

Result<Reset> reset(const ResetOptions &options) {
    if (auto good = require_privileges_to_change("reset", options.device); !good)
        return std::unexpected(good.error());
    auto attachment = find_attachment(options.device);
    if (!attachment)
        return std::unexpected(attachment.error());
    const auto lock = PinLock::existing(attachment->place);
    if (!lock)
        return std::unexpected(lock.error());
    attachment = live_attachment(options.device); // of what the lock now guards
    if (!attachment)
        return std::unexpected(attachment.error());
    // Before the counters are read: what is counted after that has happened after this.
    const auto now = monotonic_ns();
    const auto counted = read_counted(*attachment);
    if (!counted)
        return std::unexpected(counted.error());
    const auto start = start_of(counted->snapshot, counted->losses, now);
    if (auto done = write_start(*attachment, start); !done)
        return std::unexpected(done.error());
    if (attachment->on_card()) // it meters no ages
        return Reset{.device = attachment->device,
                     .updates_waiting = counted->snapshot.levels.updates_waiting};
    if (auto done = start_ages(*attachment, now); !done)
        return std::unexpected(done.error());
    return Reset{.device = attachment->device,
                 .updates_waiting = counted->snapshot.levels.updates_waiting};
}

} // namespace olaf
