// SPDX-License-Identifier: BSD-2-Clause
// `olaf report`: what it writes adds up to what the queue counted.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include "listening.hpp"

namespace olaf::test::report_test {
namespace {

std::string content(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Numbers of a CSV file behind its title, a row a line.
std::vector<std::vector<double>> numbers(const std::string &path) {
    std::istringstream lines(content(path));
    std::vector<std::vector<double>> rows;
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        std::istringstream cells(line);
        std::vector<double> row;
        for (std::string cell; std::getline(cells, cell, ',');)
            row.push_back(std::stod(cell));
        if (!row.empty())
            rows.push_back(std::move(row));
    }
    return rows;
}

class Reporting : public testing::Test {
  protected:
    /// Updates of nine clusters, faster than the link, until the object goes.
    Process traffic() {
        const auto frames = frames_of(bed, random_updates(90, 9, 8, 5));
        return Process([this, frames] {
            const PacketSocket socket(bed.worker, "eth0");
            for (;;)
                for (const auto &frame : frames) {
                    socket.send({&frame, 1});
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
        });
    }

    Scratch scratch;
    Testbed bed{{.way = Way::bridged}};
};

TEST_F(Reporting, TellsWhereUpdatesWereLostBehindTheQueue) {
    bed.attach();
    auto sender = traffic();
    Process report(bed.olaf.command(
        {"--json", "report", "in", "--for", "2s", "-o", scratch.path("lost")}));
    while (report.running()) { // a link that flaps loses what is on its way, each time
        bed.server().ip("link set eth0 down\n");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        bed.server().ip("link set eth0 up\n");
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    sender.kill();
    const auto told = report.wait();
    ASSERT_EQ(told.status, 0) << told.err;
    expect_schema("report", told.out);
    const auto losses = nlohmann::json::parse(told.out)["losses"];
    const auto status = bed.olaf.status();
    std::uint64_t behind = 0;
    for (const auto &[place, frames] : status.json.at("lost_behind").items()) {
        const auto reason = "lost_behind." + place;
        ASSERT_TRUE(losses.contains(reason)) << losses;
        EXPECT_LE(losses[reason], frames) << reason;
        behind += losses[reason].get<std::uint64_t>();
    }
    EXPECT_GT(behind, 0u) << losses;
}

/// Each is a file, and in the page in both themes.
void expect_pictures(const std::string &directory, const std::string &page) {
    std::size_t pictures = 0;
    for (const auto *name : {"aom", "folds", "occupancy", "losses"}) {
        const auto png = content(directory + "/" + name + ".png");
        EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n") << name;
        EXPECT_GT(png.size(), 5'000u) << name;
    }
    for (std::size_t at = 0; (at = page.find("data:image/png;base64,iVBOR", at)) != page.npos; at++)
        pictures++;
    EXPECT_EQ(pictures, 8u);
}

TEST_F(Reporting, WritesWhatHappened) {
    bed.attach({"--rate", "200kbit", "--queue", "4"});
    const auto directory = scratch.path("made/if/need/be");
    auto sender = traffic();
    bed.olaf.await([](const Status &s) { return s["departed"] > 0; });
    const auto told = bed.olaf({"--json", "report", "in", "--for", "1500ms", "-o", directory});
    sender.kill();
    ASSERT_EQ(told.status, 0) << told.err;
    expect_schema("report", told.out);
    const auto report = nlohmann::json::parse(told.out);
    EXPECT_EQ(report, nlohmann::json::parse(content(directory + "/report.json")));
    EXPECT_EQ(report["departures_missed"], 0);
    EXPECT_NEAR(report["seconds"].get<double>(), 1.5, 0.5);

    // Events and counters tell the same; the two readings aren't of one moment with the events.
    const auto departures = numbers(directory + "/departures.csv");
    EXPECT_EQ(departures.size(), report["departures_told"]);
    EXPECT_NEAR(static_cast<double>(departures.size()), report["messages_out"].get<double>(), 5);
    double updates = 0, lost = 0;
    for (const auto &row : departures)
        updates += row[2];
    EXPECT_NEAR(updates, report["updates_out"].get<double>(),
                5 * OLAF_DEFAULT_MAX_COUNT * 0.05 + 20);
    EXPECT_GT(report["fold_factor"].get<double>(), 1.0);
    for (const auto &[reason, messages] : report["losses"].items())
        lost += messages.get<double>();
    EXPECT_GT(report["losses"]["dropped_full"], 0) << report["losses"];
    EXPECT_EQ(lost, report["dropped"].get<double>());
    EXPECT_EQ(report["clusters"].size(), 9u);
    EXPECT_EQ(report["attached_with"], "olaf attach in --forward out --queue 4 --rate 200kbit");
    EXPECT_EQ(report["reported_with"], "olaf report in --for 1.5s --clock generated");
    for (const auto &cluster : report["clusters"]) {
        ASSERT_FALSE(cluster["by_arrival"].is_null()) << cluster;
        const auto &age = cluster["by_arrival"];
        ASSERT_FALSE(age["peak_highest_ns"].is_null()) << cluster;
        EXPECT_GE(age["peak_highest_ns"].get<double>(), age["average_ns"].get<double>() / 2);
    }

    const auto folds = numbers(directory + "/folds.csv");
    ASSERT_FALSE(folds.empty());
    EXPECT_DOUBLE_EQ(folds.back()[2], 1.0); // a CDF ends so
    EXPECT_GT(numbers(directory + "/occupancy.csv").size(), 100u);
    for (const auto &row : numbers(directory + "/sawtooth.csv"))
        EXPECT_GE(row[1], 0);

    const auto page = content(directory + "/index.html");
    EXPECT_NE(page.find("<th scope=\"row\">dropped_full</th><td>"), page.npos);
    EXPECT_NE(page.find("At the end: "), page.npos);
    expect_pictures(directory, page);
    for (const auto *told : {"Where this is from", "<th scope=\"row\">host</th>", "--rate 200kbit"})
        EXPECT_NE(page.find(told), page.npos) << told;
    EXPECT_EQ(page.find("://"), page.npos); // it fetches nothing
}

TEST_F(Reporting, EndsEarlyOnAnInterruptAndKnowsAnIdleQueue) {
    bed.attach();
    const auto directory = scratch.path("idle");
    Process report(bed.olaf.command({"report", "in", "--for", "3600s", "-o", directory}));
    report.await_output("recording in for 3600s");
    report.kill(SIGINT);
    const auto told = report.wait();
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(told.out, directory + "/index.html\n");
    EXPECT_TRUE(std::filesystem::exists(directory + "/occupancy.png"));
}

TEST_F(Reporting, SaysWhatIsMissingBeforeItRecords) {
    bed.attach();
    auto command = bed.olaf.command({"report", "in", "--for", "3600s", "-o", scratch.path("no")});
    command.insert(command.begin(), {"env", "PATH=/nowhere"});
    const auto without_gnuplot = run(command);
    EXPECT_EQ(without_gnuplot.status, 1);
    EXPECT_NE(without_gnuplot.err.find("gnuplot-nox"), std::string::npos) << without_gnuplot.err;
    const auto nowhere = bed.olaf({"report", "in", "-o", "/proc/olaf"});
    EXPECT_EQ(nowhere.status, 1);
    EXPECT_NE(nowhere.err.find("/proc/olaf"), std::string::npos) << nowhere.err;
}

} // namespace
} // namespace olaf::test::report_test
