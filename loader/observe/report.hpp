// SPDX-License-Identifier: BSD-2-Clause
// The files of a report.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "olaf/result.hpp"
#include "recording.hpp"

namespace olaf {

// Where a report is written: it appears there when it is whole, in the place of an older one.

class ReportFolder {
  public:
    /// Makes the folder if need be. What is in it stays as it is.
    static Result<std::unique_ptr<ReportFolder>> open(const std::filesystem::path &path);
    /// Leaves nothing of a report that wasn't published.
    ~ReportFolder();
    ReportFolder(const ReportFolder &) = delete;
    ReportFolder &operator=(const ReportFolder &) = delete;

    /// To write the new report to.
    [[nodiscard]] const std::filesystem::path &fresh() const { return fresh_; }
    /// Puts it in the place of the old one, of which no file stays. Files that are no report's
    /// stay.
    Result<void> publish();

  private:
    explicit ReportFolder(std::filesystem::path path);
    std::filesystem::path path_, fresh_;
};

// What `olaf report` writes, file by file. All in one directory, which has only what is here.

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
