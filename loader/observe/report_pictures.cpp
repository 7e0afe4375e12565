// SPDX-License-Identifier: BSD-2-Clause
// The pictures of `olaf report`, drawn by gnuplot from the data files next to them.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "report_files.hpp"
#include "report_scripts.hpp"

namespace olaf {
namespace {

/// Sawtooths in one picture: more can't be told apart.
constexpr std::size_t most_sawtooths = 9;
/// Falls of the busiest cluster that a picture has room for.
constexpr double falls_shown = 40;

/// Runs a script in the directory; gnuplot's own words if it fails.
Result<void> draw(const std::filesystem::path &directory, const std::string &name,
                  const std::string &script) {
    const auto source = directory / (name + ".gp");
    if (auto written = write_file(source, script); !written)
        return written;
    const pid_t child = ::fork();
    if (child < 0)
        return fail("run", "gnuplot", errno);
    if (child == 0) {
        if (::chdir(directory.c_str()) != 0)
            ::_exit(127);
        ::execlp("gnuplot", "gnuplot", "-d", (name + ".gp").c_str(), nullptr);
        ::_exit(127);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail("draw", name + ".png", 0, "what it says is above; the data is there",
                    "gnuplot failed");
    std::error_code ignored;
    std::filesystem::remove(source, ignored);
    return {};
}

std::string head(const std::string &name, int height) {
    return fmt::format(report_script::style, fmt::arg("name", name), fmt::arg("height", height));
}

/// The busiest clusters of the recording, by id.
std::vector<std::uint32_t> busiest(const Recording &recording) {
    auto rows = recording.rows.clusters;
    std::erase_if(rows, [](const ClusterRow &row) { return row.recent.departed == 0; });
    std::ranges::sort(rows, std::ranges::greater{},
                      [](const ClusterRow &row) { return row.recent.departed; });
    rows.resize(std::min(rows.size(), most_sawtooths));
    std::vector<std::uint32_t> ids;
    ids.reserve(rows.size());
    for (const auto &row : rows)
        ids.push_back(row.cluster);
    std::ranges::sort(ids);
    return ids;
}

/// A stretch in the middle of the recording, short enough for its teeth to be told apart.
std::pair<double, double> window(const Recording &recording) {
    std::map<std::uint32_t, double> falls;
    double most = 1;
    for (const auto &departure : recording.departures)
        most = std::max(most, ++falls[departure.cluster]);
    const double end =
        recording.departures.empty() ? recording.seconds : recording.departures.back().time_s;
    const double width = std::max(1e-6, end * std::min(1.0, falls_shown / most));
    return {(end - width) / 2, (end + width) / 2};
}

std::string sawtooths(const Recording &recording, const std::vector<std::uint32_t> &clusters) {
    const auto [from, to] = window(recording);
    const int height = 90 + 110 * static_cast<int>(clusters.size());
    auto script =
        head("aom", height) + fmt::format(report_script::sawtooth_head, fmt::arg("from", from),
                                          fmt::arg("to", to), fmt::arg("rows", clusters.size()),
                                          fmt::arg("bottom", 75.0 / height));
    for (const auto cluster : clusters)
        script +=
            fmt::format(report_script::sawtooth_panel, fmt::arg("cluster", cluster),
                        fmt::arg("x_axis", cluster == clusters.back()
                                               ? "set format x \"%g\"\nset xlabel \"time, s\"\n"
                                               : ""));
    return script + "unset multiplot\n";
}

} // namespace

Result<void> require_gnuplot() {
    const char *path = std::getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string directory; std::getline(directories, directory, ':');)
        if (::access((directory + "/gnuplot").c_str(), X_OK) == 0)
            return {};
    return fail("draw pictures with", "gnuplot", 0, "apt-get install gnuplot-nox",
                "it is not in PATH");
}

Result<std::vector<Picture>> draw_pictures(const std::filesystem::path &directory,
                                           const Recording &recording, AgeClock clock) {
    std::vector<Picture> pictures;
    const auto add = [&](Picture picture, const std::string &script) -> Result<void> {
        pictures.push_back(std::move(picture));
        return draw(directory, pictures.back().name, script);
    };
    const auto clusters = busiest(recording);
    const auto capacity = recording.last.attachment.record.config.queue_capacity;
    std::uint64_t longest = 1;
    for (const auto &look : recording.occupancy)
        longest = std::max(longest, look.length);
    // A ring that never gets near Qmax would be a line at the bottom.
    const auto top = longest * 4 < capacity ? 2 * longest : capacity + capacity / 10 + 1;
    std::uint64_t most_lost = 1;
    for (const auto &[reason, number, unit] : losses_by_reason(recording))
        most_lost = std::max(most_lost, number);
    if (!clusters.empty()) {
        if (auto done =
                add({"aom", "Age-of-Model, ms",
                     fmt::format("The {} busiest clusters, by {}, in a part of the "
                                 "recording: each fall is a departure.",
                                 clusters.size(),
                                 clock == AgeClock::arrival ? "arrival here" : "generation")},
                    sawtooths(recording, clusters));
            !done)
            return std::unexpected(done.error());
        if (auto done = add({"folds", "Updates folded into a departure",
                             "Part of the departures that have as many updates or fewer (the "
                             "paper's figure 6)."},
                            head("folds", 420) + report_script::folds);
            !done)
            return std::unexpected(done.error());
    }
    if (auto done = add({"occupancy", "Occupancy of the queue", "Messages that wait."},
                        head("occupancy", 380) +
                            fmt::format(report_script::occupancy, fmt::arg("capacity", top),
                                        fmt::arg("full", capacity),
                                        fmt::arg("seconds", std::max(recording.seconds, 1e-3))));
        !done)
        return std::unexpected(done.error());
    if (auto done = add({"losses", "Messages and frames lost, by reason", "None is lost for another reason."},
                        head("losses", 380) +
                            fmt::format(report_script::losses,
                                        fmt::arg("top", 1.15 * static_cast<double>(most_lost))));
        !done)
        return std::unexpected(done.error());
    return pictures;
}

} // namespace olaf
