// SPDX-License-Identifier: BSD-2-Clause
// The pictures of `olaf report`, drawn by gnuplot from the data files next to them.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "loader/host/fd.hpp"
#include "olaf/try.hpp"
#include "report.hpp"
#include "report_scripts.hpp"

namespace olaf {
namespace {

/// Sawtooths in one picture: more can't be told apart.
constexpr std::size_t most_sawtooths = 9;
/// Falls of the busiest cluster that a picture has room for.
constexpr double falls_shown = 40;

/// What a process wrote to a file, its first line that says something.
std::string first_line(int fd) {
    std::string text(4096, '\0');
    const auto bytes = ::pread(fd, text.data(), text.size(), 0);
    std::istringstream lines(text.substr(0, bytes > 0 ? static_cast<std::size_t>(bytes) : 0));
    for (std::string line; std::getline(lines, line);)
        if (const auto start = line.find_first_not_of(" \t^"); start != line.npos)
            return line.substr(start);
    return "";
}

/// Runs a script in the directory. gnuplot's own words are a reason if it fails, and else nobody's.
Result<void> run_gnuplot(const std::filesystem::path &directory, const std::string &script) {
    const Fd words(::memfd_create("gnuplot", MFD_CLOEXEC));
    if (!words)
        return fail("run", "gnuplot", errno);
    const pid_t child = ::fork();
    if (child < 0)
        return fail("run", "gnuplot", errno);
    if (child == 0) {
        if (::chdir(directory.c_str()) != 0 || ::dup2(words.get(), STDERR_FILENO) < 0 ||
            ::dup2(words.get(), STDOUT_FILENO) < 0)
            ::_exit(127);
        ::execlp("gnuplot", "gnuplot", "-d", script.c_str(), nullptr);
        ::_exit(127);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return {};
    const auto said = first_line(words.get());
    return fail("draw", script, 0, "", "gnuplot failed" + (said.empty() ? "" : ": " + said));
}

/// One picture, in each theme. `body` makes the script behind the head.
Result<void> draw(const std::filesystem::path &directory, const std::string &name, int height,
                  const std::function<std::string(const report_script::Theme &)> &body) {
    for (const auto &theme : report_script::themes) {
        const auto source = directory / (name + theme.suffix + ".gp");
        const auto head =
            fmt::format(report_script::style, fmt::arg("width", 2 * report_script::width),
                        fmt::arg("height", 2 * height), fmt::arg("back", theme.back),
                        fmt::arg("text", theme.text), fmt::arg("faint", theme.faint),
                        fmt::arg("line", theme.line), fmt::arg("blue", theme.blue),
                        fmt::arg("fill", theme.fill), fmt::arg("warn", theme.warn),
                        fmt::arg("file", name + theme.suffix + ".png"));
        OLAF_TRY(write_file(source, head + body(theme)));
        OLAF_TRY(run_gnuplot(directory, source.filename().native()));
        std::error_code ignored;
        std::filesystem::remove(source, ignored);
    }
    return {};
}

/// A string of gnuplot's that nothing in it can leave.
std::string quoted(const std::string &text) {
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? "''" : c == '\n' ? " " : std::string(1, c);
    return out + "'";
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

using Drawn = Result<void>;

/// Draws into one directory, and keeps account.
class Pictures {
  public:
    Pictures(const std::filesystem::path &directory, const Recording &recording, AgeClock clock)
        : directory_(directory), recording_(recording),
          since_(clock == AgeClock::arrival ? "arrived here" : "were generated"),
          device_(recording.last.attachment.device) {}

    Drawn sawtooths(const std::vector<std::uint32_t> &clusters) {
        const auto [from, to] = window(recording_);
        const int height = 130 + 110 * static_cast<int>(clusters.size());
        const auto title = fmt::format("Age-of-Model on {}, since updates {}", device_, since_);
        auto script =
            fmt::format(report_script::sawtooth_head, fmt::arg("from", from), fmt::arg("to", to),
                        fmt::arg("rows", clusters.size()), fmt::arg("bottom", 75.0 / height),
                        fmt::arg("top", 1 - 50.0 / height), fmt::arg("headline", 1 - 22.0 / height),
                        fmt::arg("title", quoted(title)));
        for (const auto cluster : clusters)
            script +=
                fmt::format(report_script::sawtooth_panel, fmt::arg("cluster", cluster),
                            fmt::arg("x_axis", cluster == clusters.back()
                                                   ? "set format x \"%g\"\nset xlabel 'time, s'\n"
                                                   : ""));
        script += "unset multiplot\n";
        return add({"aom", title,
                    fmt::format("The {} busiest clusters, in a part of the recording: each fall is "
                                "a departure.",
                                clusters.size())},
                   height, [&](const auto &) { return script; });
    }

    Drawn folds() {
        const auto title = fmt::format("Updates folded into a departure on {}", device_);
        const auto first = recording_.folds.begin()->first, last = recording_.folds.rbegin()->first;
        const double left = 0.8 * first, right = 1.25 * last;
        const auto script = fmt::format(
            report_script::folds, fmt::arg("title", quoted(title)), fmt::arg("left", left),
            fmt::arg("right", right), fmt::arg("ticks", steps(std::log2(right / left) / 24)),
            fmt::arg("first", first), fmt::arg("last", last),
            fmt::arg("first_part", 100.0 * static_cast<double>(recording_.folds.begin()->second) /
                                       static_cast<double>(recording_.events)));
        return add({"folds", title, "The paper's figure 6."}, 440,
                   [&](const auto &) { return script; });
    }

    Drawn occupancy() {
        const auto title = fmt::format("Messages that wait on {}", device_);
        const auto capacity = recording_.last.attachment.record.config.queue_capacity;
        std::uint64_t longest = 1;
        for (const auto &look : recording_.occupancy)
            longest = std::max(longest, look.length);
        // A ring that never gets near Qmax would be a line at the bottom.
        const bool far = longest * 4 < capacity;
        const auto script = fmt::format(
            report_script::occupancy,
            fmt::arg("title",
                     quoted(far ? fmt::format("{}, of at most {}", title, capacity) : title)),
            fmt::arg("capacity", far ? 2 * longest : capacity + capacity / 10 + 1),
            fmt::arg("full", capacity), fmt::arg("seconds", std::max(recording_.seconds, 1e-3)));
        return add({"occupancy", title, fmt::format("The queue holds at most {}.", capacity)}, 400,
                   [&](const auto &) { return script; });
    }

    Drawn losses() {
        const auto title = fmt::format("Lost on {}, by reason", device_);
        std::string rows;
        std::uint64_t most = 0;
        int count = 0;
        for (const auto &[reason, messages, unit] : losses_by_reason(recording_))
            if (messages > 0) {
                rows += fmt::format("{},{}\n", reason, messages);
                most = std::max(most, messages);
                count++;
            }
        return add({"losses", title,
                    count == 0 ? "Every reason is at 0." : "Reasons that are at 0 aren't shown."},
                   count == 0 ? 150 : 130 + 38 * count, [&](const auto &theme) {
                       if (count == 0)
                           return fmt::format(report_script::nothing_lost,
                                              fmt::arg("title", quoted(title)));
                       return fmt::format(report_script::losses, fmt::arg("title", quoted(title)),
                                          fmt::arg("rows", rows), fmt::arg("count", count),
                                          fmt::arg("line", theme.line),
                                          fmt::arg("top", 1.12 * static_cast<double>(most)));
                   });
    }

    std::vector<Picture> take() { return std::move(pictures_); }

  private:
    Drawn add(Picture picture, int height,
              const std::function<std::string(const report_script::Theme &)> &body) {
        pictures_.push_back(std::move(picture));
        return draw(directory_, pictures_.back().name, height, body);
    }

    /// Numbers of folded updates that there were, those left out that are too near to the one
    /// before; `near` is a distance in powers of two.
    [[nodiscard]] std::string steps(double near) const {
        std::string ticks;
        double before = -1;
        for (const auto &[folded, departures] : recording_.folds) {
            const double here = std::log2(folded);
            if (!ticks.empty() && here - before < near)
                continue;
            ticks += fmt::format("{}{}", ticks.empty() ? "" : ", ", folded);
            before = here;
        }
        return ticks;
    }

    const std::filesystem::path &directory_;
    const Recording &recording_;
    const char *since_;
    const std::string device_;
    std::vector<Picture> pictures_;
};

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
    Pictures pictures(directory, recording, clock);
    const auto clusters = busiest(recording);
    if (!clusters.empty())
        OLAF_TRY(pictures.sawtooths(clusters));
    if (!recording.folds.empty())
        OLAF_TRY(pictures.folds());
    OLAF_TRY(pictures.occupancy());
    OLAF_TRY(pictures.losses());
    return pictures.take();
}

} // namespace olaf
