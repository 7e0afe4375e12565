// SPDX-License-Identifier: BSD-2-Clause
// The pictures of `olaf report`, of recordings that a real queue makes seldom.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "loader/observe/report.hpp"

namespace olaf::test::report_pictures_test {
namespace {

/// A directory for the time of a test.
class InDirectory : public testing::Test {
  protected:
    InDirectory() {
        std::string name = std::filesystem::temp_directory_path() / "olaf-report-XXXXXX";
        directory_ = ::mkdtemp(name.data());
    }
    ~InDirectory() override { std::filesystem::remove_all(directory_); }

    std::filesystem::path directory_;
};

class Pictures : public InDirectory {
  protected:
    /// Departures of one cluster at these times, each 1 ms after its update was made.
    static Recording recording(const std::vector<double> &times_s) {
        Recording made;
        made.seconds = times_s.empty() ? 1 : times_s.back();
        for (const auto time_s : times_s)
            made.departures.push_back({.time_s = time_s,
                                       .cluster = 0,
                                       .count = 1,
                                       .generated_age_ns = 1'000'000,
                                       .arrival_age_ns = 1'000'000,
                                       .wait_ns = 1000});
        made.events = made.departures.size();
        if (made.events > 0) {
            made.folds[1] = made.events;
            made.rows.clusters.emplace_back().recent.departed = made.events;
        }
        made.occupancy = {{0, 0}, {made.seconds, 1}};
        return made;
    }

    /// The files drawn, by name; an empty one was not.
    std::vector<std::string> drawn(const Recording &recording) {
        const auto written = write_data(directory_, recording, AgeClock::arrival);
        EXPECT_TRUE(written) << written.error().message();
        const auto pictures = draw_pictures(directory_, recording, AgeClock::arrival);
        EXPECT_TRUE(pictures) << pictures.error().message();
        std::vector<std::string> names;
        for (const auto &picture : pictures ? *pictures : std::vector<Picture>{}) {
            for (const auto *theme : {".png", "-dark.png"})
                EXPECT_GT(std::filesystem::file_size(directory_ / (picture.name + theme)), 0u);
            names.push_back(picture.name);
        }
        return names;
    }
};

const std::vector<std::string> all = {"aom", "folds", "occupancy", "losses"};

TEST_F(Pictures, AreDrawnOfEvenTrafficAndOfOneDeparture) {
    std::vector<double> times_s;
    for (int i = 0; i < 100; i++)
        times_s.push_back(0.01 * i);
    EXPECT_EQ(drawn(recording(times_s)), all);
    EXPECT_EQ(drawn(recording({0})), all);
}

TEST_F(Pictures, AreDrawnWithoutADeparture) {
    EXPECT_EQ(drawn(recording({})), (std::vector<std::string>{"occupancy", "losses"}));
}

TEST_F(Pictures, LeaveNothingBehindAndSayNothing) {
    testing::internal::CaptureStderr();
    // Nothing left in the middle: gnuplot warns of an empty range.
    EXPECT_EQ(drawn(recording({0, 0.001, 10})), all);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    for (const auto &file : std::filesystem::directory_iterator(directory_))
        EXPECT_NE(file.path().extension(), ".gp") << file.path();
}

TEST_F(Pictures, TellWhatGnuplotSaysWhenItFails) {
    std::filesystem::create_directory(directory_ / "occupancy.png");
    const auto made = recording({});
    ASSERT_TRUE(write_data(directory_, made, AgeClock::arrival));
    testing::internal::CaptureStderr();
    const auto pictures = draw_pictures(directory_, made, AgeClock::arrival);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    ASSERT_FALSE(pictures);
    EXPECT_NE(pictures.error().message().find("gnuplot failed: "), std::string::npos)
        << pictures.error().message();
}

TEST_F(Pictures, HaveNamesThatNoDeviceCanBreakOutOf) {
    auto made = recording({0, 1});
    made.last.attachment.device = "a'`touch x`\"$b\\";
    EXPECT_EQ(drawn(made), all);
    EXPECT_FALSE(std::filesystem::exists(directory_ / "x"));
}

TEST(Peaks, AreThoseOfTheRecording) {
    Recording made;
    for (const auto &[time_s, age_ms] : {std::pair{0.10, 10}, {0.20, 30}, {0.25, 90}, {0.30, 10}})
        made.departures.push_back({.time_s = time_s,
                                   .cluster = 3,
                                   .generated_age_ns = age_ms * 1'000'000,
                                   .arrival_age_ns = 0});
    made.departures.push_back({.time_s = 0.9, .cluster = 4});
    // By generation the age falls at 0.2 s from 110 ms to 30; the third is stale; then from 130.
    EXPECT_NEAR(*recorded_peak_ns(made, 3, AgeClock::generated), 130e6, 2);
    EXPECT_NEAR(*recorded_peak_ns(made, 3, AgeClock::arrival), 100e6, 2);
    EXPECT_FALSE(recorded_peak_ns(made, 4, AgeClock::generated)); // one departure, no fall
    EXPECT_FALSE(recorded_peak_ns(made, 5, AgeClock::generated));
    // Older peaks don't count; one that the meter set meanwhile does.
    auto &aom = made.first.aom.clusters.emplace_back();
    aom.cluster = 3;
    aom.segments = 2;
    aom.generated.highest_peak_ns = 900'000'000;
    made.last.aom.clusters = made.first.aom.clusters;
    EXPECT_NEAR(*recorded_peak_ns(made, 3, AgeClock::generated), 130e6, 2);
    made.last.aom.clusters[0].generated.highest_peak_ns = 950'000'000;
    EXPECT_EQ(recorded_peak_ns(made, 3, AgeClock::generated), 950'000'000u);
}

class Folder : public InDirectory {
  protected:
    static void write(const std::filesystem::path &path) { EXPECT_TRUE(write_file(path, "new")); }
    static std::vector<std::string> files(const std::filesystem::path &path) {
        std::vector<std::string> names;
        for (const auto &file : std::filesystem::directory_iterator(path))
            names.push_back(file.path().filename());
        std::ranges::sort(names);
        return names;
    }
};

TEST_F(Folder, ReplacesAnOldReportWhollyAndNothingElse) {
    for (const auto *old : {"index.html", "aom.png", "notes.txt"})
        ASSERT_TRUE(write_file(directory_ / old, "old"));
    {
        const auto folder = ReportFolder::open(directory_);
        ASSERT_TRUE(folder);
        write((*folder)->fresh() / "index.html");
        write((*folder)->fresh() / "losses.png");
        EXPECT_TRUE(std::filesystem::exists(directory_ / "aom.png")); // until the new one is whole
        EXPECT_TRUE((*folder)->publish());
    }
    EXPECT_EQ(files(directory_),
              (std::vector<std::string>{"index.html", "losses.png", "notes.txt"}));
    EXPECT_EQ(std::filesystem::file_size(directory_ / "index.html"), 3u);
}

TEST_F(Folder, KeepsTheOldReportIfTheNewOneFails) {
    ASSERT_TRUE(write_file(directory_ / "index.html", "old one"));
    {
        const auto folder = ReportFolder::open(directory_);
        ASSERT_TRUE(folder);
        write((*folder)->fresh() / "index.html");
    }
    EXPECT_EQ(files(directory_), std::vector<std::string>{"index.html"});
    EXPECT_EQ(std::filesystem::file_size(directory_ / "index.html"), 7u);
}

} // namespace
} // namespace olaf::test::report_pictures_test
