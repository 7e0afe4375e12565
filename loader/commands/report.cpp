// SPDX-License-Identifier: BSD-2-Clause
// `olaf report`: looks on for a while, then writes down what there was to see.
#include <fmt/format.h>

#include <csignal>

#include "commands.hpp"
#include "loader/host/host.hpp"
#include "loader/host/notes.hpp"
#include "loader/observe/report_files.hpp"

namespace olaf {

Result<Recording> report(const ReportOptions &options) {
    if (auto good = require_privileges("listen to the queue of", options.device); !good)
        return std::unexpected(good.error());
    if (auto good = require_gnuplot(); !good)
        return std::unexpected(good.error());
    const auto attachment = live_attachment(options.device);
    if (!attachment)
        return std::unexpected(attachment.error());
    const std::filesystem::path directory = options.directory;
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error)
        return fail("make directory", options.directory, error.value());
    const auto signals = Signals::hold({SIGINT, SIGTERM, SIGHUP});
    if (!signals)
        return std::unexpected(signals.error());
    if (options.verbose)
        note(fmt::format("recording {} for {}; an interrupt ends it early", options.device,
                         duration_text(options.for_ns)));
    auto recording = record_queue(*attachment, options.for_ns, *signals);
    if (!recording)
        return std::unexpected(recording.error());
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
    return recording;
}

} // namespace olaf
