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
#include "olaf/try.hpp"

namespace olaf {
Result<void> meter(const MeterOptions &options, const MeterReader &reader) {
    OLAF_TRY(require_privileges("measure on", options.device));
    OLAF_TRY(require_kernel("measure on", options.device));
    const auto device = OLAF_TRY(find_device(options.device));
    if (!device.ethernet)
        return fail("measure on", options.device, 0, "name an Ethernet device",
                    "its frames have no MAC header");
    const auto stop = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    const auto meter =
        OLAF_TRY(Meter::attach(device, {.port = static_cast<std::uint16_t>(options.port),
                                        .sent = options.sent,
                                        .max_clusters = options.max_clusters,
                                        .max_segments = options.max_segments}));
    if (!options.sent && live_attachment(options.device))
        note(fmt::format("{0}: its queue takes updates before the meter sees them; olaf status {0} "
                         "--clusters and olaf top {0} have their ages",
                         options.device));
    const auto started = monotonic_ns();
    if (options.verbose)
        note(options.device + ": measuring");
    for (auto next = started;;) {
        next += options.for_ns.value_or(options.interval_ns);
        const auto interrupted = OLAF_TRY(stop.until(next));
        const auto reading = OLAF_TRY(meter.read());
        reader(reading, started);
        if (interrupted || options.for_ns)
            return {};
    }
}

} // namespace olaf
