// SPDX-License-Identifier: BSD-2-Clause
#include "attach_kernel.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "attach_checks.hpp"
#include "loader/attachment/install.hpp"
#include "loader/attachment/teardown.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/xdp.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Installs in one mode, or leaves nothing but the empty directory.
Result<Record> install_or_undo(PinLock &lock, const AttachOptions &options, const Device &device,
                               const Plan &plan, bool skb_mode) {
    auto record = install(lock.place(), device, plan, options.allow, skb_mode);
    if (!record)
        if (auto undone = tear_down(lock); !undone)
            note(fmt::format("olaf: {}", undone.error().message()));
    return record;
}

/// Whether the device refused native mode for good, so that skb mode is worth a try.
bool native_refused(const Error &error) {
    return error.operation == attaching_xdp && error.code != EBUSY && error.code != EEXIST &&
           error.code != EPERM;
}

} // namespace

Result<Record> install_fitting_mode(PinLock &lock, const AttachOptions &options,
                                    const Device &device, const Plan &plan) {
    const auto checked = OLAF_TRY(check_mode(options, device, plan));
    auto obstacle = checked;
    if (options.mode != XdpMode::skb && obstacle.empty()) {
        auto record = install_or_undo(lock, options, device, plan, false);
        if (record || options.mode == XdpMode::native || !native_refused(record.error()))
            return record;
        obstacle = record.error().message();
    }
    if (!obstacle.empty())
        note(fmt::format("{}: skb mode, because {}", device.name, obstacle));
    return install_or_undo(lock, options, device, plan, true);
}

} // namespace olaf
