// SPDX-License-Identifier: BSD-2-Clause
#include "report_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

namespace olaf {
namespace {

namespace fs = std::filesystem;

/// Inside the report's own folder, so that files can be renamed.
constexpr auto unfinished = ".unfinished";

/// Every file that a report may have.
const std::vector<std::string> &own_files() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all{"index.html", "report.json",   "departures.csv", "folds.csv",
                                     "losses.csv", "occupancy.csv", "sawtooth.csv"};
        for (const auto *picture : {"aom", "folds", "losses", "occupancy"})
            for (const auto *theme : {".png", "-dark.png"})
                all.push_back(std::string(picture) + theme);
        return all;
    }();
    return names;
}

} // namespace

ReportFolder::ReportFolder(fs::path path) : path_(std::move(path)), fresh_(path_ / unfinished) {}

Result<std::unique_ptr<ReportFolder>> ReportFolder::open(const fs::path &path) {
    std::unique_ptr<ReportFolder> self(new ReportFolder(path));
    std::error_code error;
    fs::remove_all(self->fresh_, error); // of a report that was killed
    if (!error)
        fs::create_directories(self->fresh_, error);
    if (error)
        return fail("make directory", path.native(), error.value());
    return self;
}

ReportFolder::~ReportFolder() {
    std::error_code ignored;
    fs::remove_all(fresh_, ignored);
}

Result<void> ReportFolder::publish() {
    std::error_code error;
    // The page goes first and comes last: whoever opens it sees one report.
    for (const auto &name : own_files())
        if (fs::remove(path_ / name, error); error)
            return fail("remove the old", (path_ / name).native(), error.value());
    auto names = own_files();
    std::ranges::reverse(names);
    for (const auto &name : names) {
        fs::rename(fresh_ / name, path_ / name, error);
        if (error && error != std::errc::no_such_file_or_directory)
            return fail("write", (path_ / name).native(), error.value());
    }
    return {};
}

} // namespace olaf
