// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>

#include "attach_card.hpp"
#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/emptying.hpp"
#include "loader/attachment/last_results.hpp"
#include "loader/attachment/teardown.hpp"
#include "loader/host/host.hpp"
#include "loader/host/notes.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// How many updates go with the queue because they couldn't leave.
std::uint64_t dropped(const Attachment &attachment, const Error &error) {
    const auto updates = updates_waiting(attachment).value_or(0);
    note(fmt::format("{}: dropped {} updates: {}", attachment.device, updates, error.reason));
    return updates;
}

} // namespace

Result<std::uint64_t> empty_kernel(const Attachment &attachment, const DetachOptions &options,
                            const Signals &stop) {
    auto lease = OLAF_TRY(EmptyingLease::take(attachment));
    const auto drained = empty_queue(attachment, &lease, stop, options.verbose);
    if (!drained && (!options.force || drained.error().code == EINTR))
        return std::unexpected(drained.error());
    OLAF_TRY(take_off_xdp(attachment.place));
    if (!drained)
        return dropped(attachment, drained.error());
    // This process may have been stopped for longer than its lease: something slipped in.
    const auto rest = empty_queue(attachment, nullptr, stop, options.verbose);
    return rest ? 0 : dropped(attachment, rest.error());
}

namespace {

/// The same without its XDP program on the device. What waits for another device may still leave by
/// the drain; without the device, nothing that waits for this host does.
Result<std::uint64_t> empty_dead(const Attachment &attachment, const DetachOptions &options,
                                 const Signals &stop) {
    const auto waiting = OLAF_TRY(updates_waiting(attachment));
    const bool local = attachment.record.config.deliver == OLAF_DELIVER_LOCAL;
    auto drained = local && waiting != 0
                       ? Result<void>(fail("drain the queue of", attachment.device, 0,
                                           "drop them: olaf detach --force",
                                           fmt::format("{} updates wait and can't leave: {}",
                                                       waiting, why_dead(attachment))))
                       : empty_queue(attachment, nullptr, stop, options.verbose);
    if (drained)
        return 0;
    if (!options.force || drained.error().code == EINTR)
        return std::unexpected(drained.error());
    return dropped(attachment, drained.error());
}

/// Jobs' members get what they are owed. Nothing of that keeps the queue from going: they ask again until
/// their own timeout.
void end_jobs(const Attachment &attachment, Detached &detached) {
    const auto left = send_last_results(attachment);
    if (!left) {
        note(fmt::format("{}: {}", attachment.device, left.error().message()));
        return;
    }
    detached.results_dropped = left->results;
    detached.chunks_dropped = left->chunks;
    if (left->results != 0)
        note(fmt::format("{}: {} results of jobs couldn't be sent to their members", attachment.device,
                         left->results));
    if (left->chunks != 0)
        note(fmt::format("{}: {} chunks of jobs weren't complete; their members get no sum of them",
                         attachment.device, left->chunks));
}

} // namespace

Result<Detached> detach(const DetachOptions &options) {
    OLAF_TRY(require_privileges_to_change("detach from", options.device));
    const auto place = OLAF_TRY(find_attachment(options.device)).place;
    auto lock = OLAF_TRY(PinLock::existing(place));
    const auto attachment = read_attachment(place); // of what the lock now guards

    // From here on nothing stops this process midway but SIGKILL.
    const auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    Detached detached{.device = attachment.device};
    OLAF_TRY(empty_its_card(attachment, options.force, stop));
    // Half an attachment has nothing that could wait in the kernel.
    if (attachment.record.complete && !attachment.on_card()) {
        detached.updates_dropped =
            OLAF_TRY(attachment.alive ? empty_kernel(attachment, options, stop)
                                      : empty_dead(attachment, options, stop));
        end_jobs(attachment, detached);
    }
    OLAF_TRY(tear_down(lock));
    OLAF_TRY(lock.remove());
    return detached;
}

} // namespace olaf
