// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>

#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/card.hpp"
#include "loader/attachment/emptying.hpp"
#include "loader/attachment/teardown.hpp"
#include "loader/host/host.hpp"
#include "loader/host/notes.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

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
    // Half an attachment has nothing that could wait in the kernel. What waits in maps of another layout
    // can't be sent, nor counted.
    const auto readable = check_layout(attachment);
    if (attachment.record.complete && !readable && !options.force)
        return std::unexpected(readable.error());
    if (attachment.record.complete && readable && !attachment.on_card()) {
        detached.updates_dropped = OLAF_TRY(empty_kernel(
            attachment, stop, {.force = options.force, .verbose = options.verbose}));
        end_jobs(attachment, detached);
    }
    OLAF_TRY(tear_down(lock));
    OLAF_TRY(lock.remove());
    return detached;
}

} // namespace olaf
