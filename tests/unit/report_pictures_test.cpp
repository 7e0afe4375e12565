// SPDX-License-Identifier: BSD-2-Clause
// The pictures of `olaf report`, of recordings that a real queue makes seldom.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "loader/observe/report_files.hpp"

namespace {

class Pictures : public testing::Test {
  protected:
    Pictures() {
        std::string name = std::filesystem::temp_directory_path() / "olaf-pictures-XXXXXX";
        directory_ = ::mkdtemp(name.data());
    }
    ~Pictures() override { std::filesystem::remove_all(directory_); }

    /// Departures of one cluster at these times, each 1 ms after its update was made.
    static olaf::Recording recording(const std::vector<double> &times_s) {
        olaf::Recording made;
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
    std::vector<std::string> drawn(const olaf::Recording &recording) {
        const auto written = write_data(directory_, recording, olaf::AgeClock::arrival);
        EXPECT_TRUE(written) << written.error().message();
        const auto pictures = draw_pictures(directory_, recording, olaf::AgeClock::arrival);
        EXPECT_TRUE(pictures) << pictures.error().message();
        std::vector<std::string> names;
        for (const auto &picture : pictures ? *pictures : std::vector<olaf::Picture>{}) {
            EXPECT_GT(std::filesystem::file_size(directory_ / (picture.name + ".png")), 0u);
            names.push_back(picture.name);
        }
        return names;
    }

    std::filesystem::path directory_;
};

const std::vector<std::string> all = {"aom", "folds", "occupancy", "losses"};

TEST_F(Pictures, AreDrawnOfEvenTraffic) {
    std::vector<double> times_s;
    for (int i = 0; i < 100; i++)
        times_s.push_back(0.01 * i);
    EXPECT_EQ(drawn(recording(times_s)), all);
}

TEST_F(Pictures, AreDrawnWhereNothingLeftInTheMiddle) {
    std::vector<double> times_s;
    for (int i = 0; i < 100; i++)
        times_s.push_back(0.001 * i);
    times_s.push_back(10);
    EXPECT_EQ(drawn(recording(times_s)), all);
}

TEST_F(Pictures, AreDrawnOfOneDeparture) { EXPECT_EQ(drawn(recording({0})), all); }

TEST_F(Pictures, AreDrawnWithoutADeparture) {
    EXPECT_EQ(drawn(recording({})), (std::vector<std::string>{"occupancy", "losses"}));
}

} // namespace
