// SPDX-License-Identifier: BSD-2-Clause
// `olaf report`: looks on for a while, then writes down what there was to see.
#include <fmt/format.h>

#include <csignal>

#include "commands.hpp"
#include "loader/attachment/saved.hpp"
#include "loader/host/host.hpp"
#include "loader/host/notes.hpp"
#include "loader/observe/report.hpp"
#include "loader/text/json.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Whose report this is, and how it was asked for.
ReportOrigin origin_of(const Recording &recording, const ReportOptions &options) {
    const auto &attachment = recording.last.attachment;
    ReportOrigin origin;
    origin.host = host_name();
    // What attach would choose by itself can't be told any more where the output has gone.
    if (const auto words = options_of(attachment)) {
        origin.attached_with = "olaf attach " + attachment.device;
        for (const auto &word : *words)
            origin.attached_with += " " + word;
    }
    origin.reported_with = fmt::format(
        "olaf report {} --for {} --clock {}", options.device, duration_text(options.for_ns),
        options.clock == AgeClock::arrival ? "arrival" : "generated");
    return origin;
}

} // namespace

Result<Recording> report(const ReportOptions &options) {
    OLAF_TRY(require_privileges("listen to the queue of", options.device));
    OLAF_TRY(require_gnuplot());
    const auto attachment = OLAF_TRY(kernel_attachment(options.device, "events"));
    const auto folder = OLAF_TRY(ReportFolder::open(options.directory));
    const auto &directory = folder->fresh();
    const auto signals = OLAF_TRY(Signals::hold({SIGINT, SIGTERM, SIGHUP}));
    if (options.verbose)
        note(fmt::format("olaf: recording {} for {}; an interrupt ends it early", options.device,
                         duration_text(options.for_ns)));
    auto recording = OLAF_TRY(record_queue(attachment, options.for_ns, signals));
    recording.about = origin_of(recording, options);
    const auto summary = json_text(report_json(recording, options.clock), 2) + "\n";
    OLAF_TRY(write_file(directory / "report.json", summary));
    OLAF_TRY(write_data(directory, recording, options.clock));
    const auto pictures = OLAF_TRY(draw_pictures(directory, recording, options.clock));
    OLAF_TRY(write_page(directory, recording, pictures));
    OLAF_TRY(folder->publish());
    return recording;
}

} // namespace olaf
