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

namespace olaf {
namespace {

/// Sawtooths in one picture: more can't be told apart.
constexpr std::size_t most_sawtooths = 9;
/// Falls of the busiest cluster that a picture has room for.
constexpr double falls_shown = 40;

// Okabe and Ito's colours: told apart with any colour vision, and in grey.
constexpr auto style =
    R"(set terminal pngcairo size 1200,{height} font "DejaVu Sans,13" background "white"
set datafile separator ","
set border 3 lw 1.2 lc rgb "#444444"
set tics nomirror out
set grid ytics lc rgb "#dddddd" lw 1
set style fill transparent solid 0.18 noborder
set termoption noenhanced
blue = "#0072B2"
vermilion = "#D55E00"
set key off
set output "{name}.png"
)";

// The sawtooths share both scales, so that they can be compared.
constexpr auto sawtooth_head =
    R"(stats [{from}:{to}] "sawtooth.csv" using 2:($3 * 1e3) name "age" nooutput
highest = age_records > 0 && age_max_y > 0 ? 1.05 * age_max_y : 1
set multiplot layout {rows},1 margins 0.09,0.98,{bottom},0.98 spacing 0,0.012
set xrange [{from}:{to}]
set yrange [0:highest]
power = 10 ** floor(log10(highest / 2))
set ytics power * (highest / 2 < 2 * power ? 1 : highest / 2 < 5 * power ? 2 : 5)
set format x ""
)";
constexpr auto sawtooth_panel =
    R"({x_axis}set label 1 "cluster {cluster}" at graph 0.004,0.85 left front
plot "sawtooth.csv" using ($1 == {cluster} ? $2 : NaN):($3 * 1e3) with filledcurves y1=0 lc rgb blue, \
     "sawtooth.csv" using ($1 == {cluster} ? $2 : NaN):($3 * 1e3) with lines lw 1.6 lc rgb blue
)";
constexpr auto folds = R"(set xlabel "updates folded into one departure"
set ylabel "part of the departures"
set yrange [0:1.02]
set logscale x 2
set xrange [0.9:*]
plot "folds.csv" using 1:3 every ::1 with steps lw 3 lc rgb blue, \
     "folds.csv" using 1:3 every ::1 with points pt 7 ps 0.7 lc rgb blue
)";
constexpr auto occupancy = R"(set xlabel "time, s"
set ylabel "updates that wait"
set xrange [0:{seconds}]
set yrange [0:{capacity}]
set arrow from graph 0,first {full} to graph 1,first {full} nohead dt (6,4) lw 1.5 lc rgb vermilion
set label 1 "Qmax {full}" at graph 0.995,first {full} right offset 0,0.6 textcolor rgb vermilion
plot "occupancy.csv" using 1:2 every ::1 with fillsteps lc rgb blue, \
     "occupancy.csv" using 1:2 every ::1 with steps lw 1.5 lc rgb blue
)";
constexpr auto losses = R"(set ylabel "messages"
set yrange [0:{top}]
set style fill solid 0.8 noborder
set boxwidth 0.6
set xtics rotate by -20
set offsets 0.5,0.5,0,0
plot "losses.csv" using 0:2:xtic(1) every ::1 with boxes lc rgb vermilion, \
     "losses.csv" using 0:2:2 every ::1 with labels offset 0,0.7
)";

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
    return fmt::format(style, fmt::arg("name", name), fmt::arg("height", height));
}

/// The busiest clusters of the recording, by id.
std::vector<std::uint32_t> busiest(const Recording &recording) {
    auto rows = recording.rows.clusters;
    std::erase_if(rows, [](const ClusterRow &row) { return row.recent.departed == 0; });
    std::ranges::sort(rows, std::ranges::greater{},
                      [](const ClusterRow &row) { return row.recent.departed; });
    rows.resize(std::min(rows.size(), most_sawtooths));
    std::vector<std::uint32_t> ids;
    for (const auto &row : rows)
        ids.push_back(row.cluster);
    std::ranges::sort(ids);
    return ids;
}

/// The middle of the recording, as long as its teeth can be told apart.
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
    auto script = head("aom", height) +
                  fmt::format(sawtooth_head, fmt::arg("from", from), fmt::arg("to", to),
                              fmt::arg("rows", clusters.size()), fmt::arg("bottom", 75.0 / height));
    for (const auto cluster : clusters)
        script +=
            fmt::format(sawtooth_panel, fmt::arg("cluster", cluster),
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
    for (const auto &[reason, messages] : losses_by_reason(recording))
        most_lost = std::max(most_lost, messages);
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
                            head("folds", 420) + folds);
            !done)
            return std::unexpected(done.error());
    }
    if (auto done =
            add({"occupancy", "Occupancy of the queue", "Updates that wait."},
                head("occupancy", 380) +
                    fmt::format(occupancy, fmt::arg("capacity", top), fmt::arg("full", capacity),
                                fmt::arg("seconds", std::max(recording.seconds, 1e-3))));
        !done)
        return std::unexpected(done.error());
    if (auto done =
            add({"losses", "Messages lost, by reason", "None is lost for another reason."},
                head("losses", 380) +
                    fmt::format(losses, fmt::arg("top", 1.15 * static_cast<double>(most_lost))));
        !done)
        return std::unexpected(done.error());
    return pictures;
}

} // namespace olaf
