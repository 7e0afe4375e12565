// SPDX-License-Identifier: BSD-2-Clause
// Where a report is written: it appears there when it is whole, in the place of an older one.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "olaf/result.hpp"

namespace olaf {

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

} // namespace olaf
