// SPDX-License-Identifier: BSD-2-Clause
// Screens of `olaf top`, and its numbers.
#include <gtest/gtest.h>

#include <array>

#include "loader/observe/top.hpp"
#include "loader/text/human.hpp"

namespace olaf::test::top_screen_test {
namespace {

// `olaf top` on grids of any size, and its order of rows.

ClusterRow row(std::uint32_t cluster, std::uint64_t age_ns, double in_per_s) {
    ClusterRow row;
    row.cluster = cluster;
    row.in_per_s = in_per_s;
    row.aom.segments = 1;
    row.aom.generated.age_ns = age_ns;
    row.aom.arrival.age_ns = 1'000'000 - age_ns;
    return row;
}

struct Scene {
    Reading reading;
    Rows rows;
    AomHistory history;

    explicit Scene(std::uint32_t clusters) {
        reading.attachment.device = "in";
        reading.attachment.record.config.queue_capacity = 8;
        reading.snapshot.levels.queue_length = 6;
        rows.seconds = 1;
        for (std::uint32_t id = 0; id < clusters; id++) {
            rows.clusters.push_back(row(id, 1'000 * (id + 1), id));
            history[id] = {1, 2, 3};
        }
    }
    [[nodiscard]] std::vector<std::string> draw(int lines, int columns, TopView view = {}) const {
        std::vector<std::string> text;
        for (const auto &line : draw_top(reading, rows, history, view, lines, columns)) {
            std::string flat;
            for (const auto &piece : line) {
                EXPECT_GE(piece.column, 0);
                flat.resize(std::max(flat.size(), static_cast<std::size_t>(piece.column)), ' ');
                flat.replace(static_cast<std::size_t>(piece.column), piece.text.size(), piece.text);
            }
            EXPECT_LE(static_cast<int>(flat.size()), columns) << flat;
            text.push_back(flat);
        }
        return text;
    }
};

TEST(Top, FitsAnySize) {
    const Scene scene(30);
    for (int lines = 1; lines < 40; lines++)
        for (int columns = 20; columns < 200; columns += 7)
            EXPECT_EQ(scene.draw(lines, columns, {.unicode = false}).size(),
                      static_cast<std::size_t>(lines));
}

TEST(Top, ShowsAllColumnsAndASparklineAt80By24) {
    const auto screen = Scene(3).draw(24, 80, {.sort_column = 0, .unicode = false});
    EXPECT_NE(screen[0].find("olaf top in"), std::string::npos);
    EXPECT_EQ(screen[1], "working     0 clusters active, 6 of 8 places taken");
    EXPECT_NE(screen[2].find("###"), std::string::npos);
    EXPECT_NE(screen[2].find("6/8"), std::string::npos);
    for (const auto &column : top_columns())
        EXPECT_NE(screen[5].find(column.title), std::string::npos) << column.title;
    EXPECT_EQ(screen[6].find("      0  1.00us"), 0u) << screen[6];
    EXPECT_NE(screen[6].find(",=#"), std::string::npos);
    EXPECT_NE(screen[23].find("q quit"), std::string::npos);
}

TEST(Top, ShowsJobsAboveTheTable) {
    Scene scene(3);
    scene.rows.jobs = {
        {.job = 7,
         .state = "running",
         .heard = 3,
         .children = 4,
         .contributions_per_s = 4800,
         .chunks_per_s = 1200,
         .open = 5,
         .up = 2,
         .late = 1,
         .stale = 9,
         .group = {}},
        {.job = 8, .state = "running", .heard = 2, .children = 2, .group = "239.1.2.3"}};
    const auto screen = scene.draw(24, 120, {.unicode = false});
    EXPECT_EQ(screen[4],
              "job 7       running, 3 of 4 members, 1.20k/s sums of 4.80k/s contributions, "
              "5 + 2 up open, 1 late, 9 stale");
    EXPECT_NE(screen[5].find(" 0 stale, sums to 239.1.2.3"), std::string::npos) << screen[5];
    for (std::uint32_t job = 9; job < 40; job++)
        scene.rows.jobs.push_back({.job = job, .state = "halted"});
    const auto full = scene.draw(24, 80, {.unicode = false});
    EXPECT_NE(full[23].find("q quit"), std::string::npos) << "the table has half of the screen";
}

TEST(Top, SortsByAnyColumnBothWays) {
    std::vector<ClusterRow> rows{row(0, 5, 1), row(1, 9, 3), row(2, 9, 2)};
    const auto order = [&](const char *key, bool reversed, AgeClock clock) {
        sort_rows(rows, column_by_key(key), reversed, clock);
        std::string ids;
        for (const auto &one : rows)
            ids += std::to_string(one.cluster);
        return ids;
    };
    EXPECT_EQ(order("aom", false, AgeClock::generated), "120"); // equal ones by cluster
    EXPECT_EQ(order("aom", true, AgeClock::generated), "012");
    EXPECT_EQ(order("aom", false, AgeClock::arrival), "012");
    EXPECT_EQ(order("in", false, AgeClock::generated), "120");
    EXPECT_EQ(order("cluster", false, AgeClock::generated), "012");
    EXPECT_EQ(order("cluster", true, AgeClock::generated), "210");
}

TEST(Top, ScrollsAndSaysWhatIsBelow) {
    const Scene scene(30);
    const auto screen = scene.draw(24, 80, {.sort_column = 0, .first_row = 10, .unicode = false});
    EXPECT_EQ(screen[6].find("     10 "), 0u) << screen[6];
    EXPECT_NE(screen[23].find("3 more below"), std::string::npos) << screen[23];
}

TEST(Top, SaysThatNothingHasCome) {
    EXPECT_EQ(Scene(0).draw(24, 80, {.unicode = false})[6], "no update yet");
}

TEST(Top, SaysWhatIsWrongAndEveryReasonForWhichSomethingDidNotArrive) {
    Scene scene(3);
    auto &reading = scene.reading;
    reading.losses.emplace();
    reading.host.output = "out";
    reading.host.output_obstacle = "out is down";
    reading.snapshot.counters.received = 100;
    reading.snapshot.counters.departures_unfit = 3;
    reading.losses->frames[OLAF_LOST_DEVICE] = 4;
    reading.losses->updates[OLAF_LOST_DEVICE] = 5;
    reading.snapshot.counters.not_allowed[OLAF_NOT_ALLOWED_COUNT] = 6;
    std::string all;
    for (const auto &line : scene.draw(40, 120, {.unicode = false}))
        all += line + "\n";
    for (const auto *text :
         {"blocked     out is down: nothing leaves; 6 messages wait", "-> ip link set out up",
          "failed      3 messages: unfit", "lost behind 4 frames: device of the output",
          "            5 updates: device of the output", "refused     6 messages: count above"})
        EXPECT_NE(all.find(text), std::string::npos) << text << "\n" << all;
}

TEST(Top, LeavesTheTableHalfOfASmallScreen) {
    Scene scene(30);
    auto &counters = scene.reading.snapshot.counters;
    counters.received = 100'000;
    counters.departures_unfit = counters.malformed[0] = counters.not_allowed[0] = 1;
    scene.reading.snapshot.slots.dropped_full = 1;
    std::string all;
    for (const auto &line : scene.draw(12, 80, {.unicode = false}))
        all += line + "\n";
    EXPECT_NE(all.find("more        olaf status tells"), std::string::npos) << all;
    EXPECT_NE(all.find("27 more below"), std::string::npos) << all;
}

// Numbers for people: three digits, never wider than their column.

TEST(Human, DurationsHaveThreeDigitsAndAUnit) {
    EXPECT_EQ(human_duration(0), "0");
    EXPECT_EQ(human_duration(870), "870ns");
    EXPECT_EQ(human_duration(999.6), "1.00us");
    EXPECT_EQ(human_duration(12'345), "12.3us");
    EXPECT_EQ(human_duration(999'960), "1.00ms");
    EXPECT_EQ(human_duration(4.56e9), "4.56s");
    EXPECT_EQ(human_duration(3590e9), "3590s");
    EXPECT_EQ(human_duration(7200e9), "2.00h");
    EXPECT_EQ(human_duration(-5), "0");
}

TEST(Human, CountsHaveToo) {
    EXPECT_EQ(human_count(0), "0");
    EXPECT_EQ(human_count(870), "870");
    EXPECT_EQ(human_count(12.54), "12.5");
    EXPECT_EQ(human_count(12'345), "12.3k");
    EXPECT_EQ(human_count(4'560'000), "4.56M");
}

TEST(Human, NothingIsWiderThanAColumn) {
    for (double value = 1; value < 1e15; value *= 1.01) {
        EXPECT_LE(human_duration(value).size(), 6u) << value;
        EXPECT_LE(human_count(value).size(), 5u) << value;
    }
}

TEST(Sparkline, GoesFromNothingToTheHighestShown) {
    const std::array values{0.0, 1.0, 2.0, 4.0};
    EXPECT_EQ(sparkline(values, 6, false), "  _,~#");
    EXPECT_EQ(sparkline(values, 2, true), "▅█");
    EXPECT_EQ(sparkline({}, 3, true), "   ");
    EXPECT_EQ(sparkline(std::array{0.0, 0.0}, 2, false), "__");
    EXPECT_EQ(sparkline(values, 0, false), "");
}

TEST(Bar, IsAsFullAsThePartAndNoFuller) {
    EXPECT_EQ(bar(0.5, 4, false), "##..");
    EXPECT_EQ(bar(0, 4, false), "....");
    EXPECT_EQ(bar(7, 4, true), "████");
}

} // namespace
} // namespace olaf::test::top_screen_test
