// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "loader/observe/live_json.hpp"
#include "loader/observe/report_files.hpp"
#include "print.hpp"

namespace olaf {

void print(const Recording &recording, const ReportOptions &options, bool json) {
    if (json)
        fmt::print("{}\n", report_json(recording, options.clock).dump(2));
    else
        fmt::print("{}\n", (std::filesystem::path(options.directory) / "index.html").native());
}

bool print_line(const Reading &reading, const Rows &rows) {
    fmt::print("{}\n", live_json(reading, rows).dump());
    return std::fflush(stdout) == 0;
}

void print_url(const std::string &url, bool json) {
    if (json)
        fmt::print("{{\"url\": \"{}\"}}\n", url);
    else
        fmt::print("{} (the page), {}metrics\n", url, url);
    std::fflush(stdout);
}

} // namespace olaf
