// SPDX-License-Identifier: BSD-2-Clause
// What `olaf report` writes, file by file. All in one directory, which has only what is here.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recording.hpp"

namespace olaf {

/// One picture: its file's name without ".png", what it shows, and what to see in it.
struct Picture {
    std::string name, title, note;
};

/// Whether gnuplot is here to draw with: told before anything is recorded.
Result<void> require_gnuplot();

/// The summary: docs/schema/report.json.
nlohmann::ordered_json report_json(const Recording &recording, AgeClock clock);

/// departures.csv, occupancy.csv, and what the pictures are drawn from.
Result<void> write_data(const std::filesystem::path &directory, const Recording &recording,
                        AgeClock clock);

/// NAME.png each.
Result<std::vector<Picture>> draw_pictures(const std::filesystem::path &directory,
                                           const Recording &recording, AgeClock clock);

/// index.html, with the pictures inside.
Result<void> write_page(const std::filesystem::path &directory, const Recording &recording,
                        const std::vector<Picture> &pictures);

/// Writes a whole file.
Result<void> write_file(const std::filesystem::path &path, const std::string &content);

} // namespace olaf
