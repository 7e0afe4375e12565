// SPDX-License-Identifier: BSD-2-Clause
// `olaf report`: looks on for a while, then writes down what there was to see.
#include <fmt/format.h>

#include <csignal>

#include "commands.hpp"
#include "loader/host/host.hpp"
#include "loader/observe/report_files.hpp"

namespace olaf {

Result<void> report(const ReportOptions &options, const GlobalOptions &global) {
    if (auto good = require_privileges("listen to the queue of", options.device); !good)
        return good;
    if (auto good = require_gnuplot(); !good)
        return good;
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
    if (!global.json)
        fmt::print(stderr, "recording {} for {}; an interrupt ends it early\n", options.device,
                   duration_text(options.for_ns));
    const auto recording = record_queue(*attachment, options.for_ns, *signals);
    if (!recording)
        return std::unexpected(recording.error());
    const auto clock = options.clock == "arrival" ? AgeClock::arrival : AgeClock::generated;
    const auto summary = report_json(*recording, clock);
    if (auto written = write_file(directory / "report.json", summary.dump(2) + "\n"); !written)
        return written;
    if (auto written = write_data(directory, *recording, clock); !written)
        return written;
    const auto pictures = draw_pictures(directory, *recording, clock);
    if (!pictures)
        return std::unexpected(pictures.error());
    if (auto written = write_page(directory, *recording, *pictures); !written)
        return written;
    if (global.json)
        fmt::print("{}\n", summary.dump(2));
    else
        fmt::print("{}\n", (directory / "index.html").native());
    return {};
}

} // namespace olaf
