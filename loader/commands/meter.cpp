// SPDX-License-Identifier: BSD-2-Clause
// `olaf meter`: the Age-of-Model of updates that pass a device.
#include "loader/attachment/meter.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/host.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/signals.hpp"

namespace olaf {
Result<void> meter(const MeterOptions &options, const MeterReader &reader) {
    if (auto good = require_privileges("measure on", options.device); !good)
        return good;
    if (auto good = require_kernel("measure on", options.device); !good)
        return good;
    const auto device = find_device(options.device);
    if (!device)
        return std::unexpected(device.error());
    if (!device->ethernet)
        return fail("measure on", options.device, 0, "name an Ethernet device",
                    "its frames have no MAC header");
    const auto stop = Signals::hold({SIGINT, SIGTERM});
    if (!stop)
        return std::unexpected(stop.error());
    const auto meter = Meter::attach(*device, {.port = static_cast<std::uint16_t>(options.port),
                                               .sent = options.sent,
                                               .max_clusters = options.max_clusters,
                                               .max_segments = options.max_segments});
    if (!meter)
        return std::unexpected(meter.error());
    if (!options.sent && live_attachment(options.device))
        note(fmt::format("{0}: its queue takes updates before the meter sees them; olaf status {0} "
                         "--clusters and olaf top {0} have their ages",
                         options.device));
    const auto started = monotonic_ns();
    if (options.verbose)
        note(options.device + ": measuring");
    for (auto next = started;;) {
        next += options.for_ns.value_or(options.interval_ns);
        const auto interrupted = stop->until(next);
        if (!interrupted)
            return std::unexpected(interrupted.error());
        const auto reading = meter->read();
        if (!reading)
            return std::unexpected(reading.error());
        reader(*reading, started);
        if (*interrupted || options.for_ns)
            return {};
    }
}

} // namespace olaf
