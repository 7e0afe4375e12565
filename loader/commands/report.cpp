// SPDX-License-Identifier: BSD-2-Clause
// `olaf report`: looks on for a while, then writes down what there was to see.
#include <fmt/format.h>

#include <csignal>

#include "commands.hpp"
#include "loader/attachment/saved.hpp"
#include "loader/host/host.hpp"
#include "loader/host/notes.hpp"
#include "loader/observe/report_files.hpp"
#include "loader/observe/report_folder.hpp"

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
    if (auto good = require_privileges("listen to the queue of", options.device); !good)
        return std::unexpected(good.error());
    if (auto good = require_gnuplot(); !good)
        return std::unexpected(good.error());
    const auto attachment = kernel_attachment(options.device, "events");
    if (!attachment)
        return std::unexpected(attachment.error());
    const auto folder = ReportFolder::open(options.directory);
    if (!folder)
        return std::unexpected(folder.error());
    const auto &directory = (*folder)->fresh();
    const auto signals = Signals::hold({SIGINT, SIGTERM, SIGHUP});
    if (!signals)
        return std::unexpected(signals.error());
    if (options.verbose)
        note(fmt::format("olaf: recording {} for {}; an interrupt ends it early", options.device,
                         duration_text(options.for_ns)));
    auto recording = record_queue(*attachment, options.for_ns, *signals);
    if (!recording)
        return std::unexpected(recording.error());
    recording->about = origin_of(*recording, options);
    const auto summary = report_json(*recording, options.clock).dump(2) + "\n";
    if (auto written = write_file(directory / "report.json", summary); !written)
        return std::unexpected(written.error());
    if (auto written = write_data(directory, *recording, options.clock); !written)
        return std::unexpected(written.error());
    const auto pictures = draw_pictures(directory, *recording, options.clock);
    if (!pictures)
        return std::unexpected(pictures.error());
    if (auto written = write_page(directory, *recording, *pictures); !written)
        return std::unexpected(written.error());
    if (auto published = (*folder)->publish(); !published)
        return std::unexpected(published.error());
    return recording;
}

} // namespace olaf
