// SPDX-License-Identifier: BSD-2-Clause
// Events as people and programs read them, and as blocks of pcapng.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <nlohmann/json.hpp>

#include "loader/observe/events.hpp"
#include "loader/observe/pcapng.hpp"
#include "loader/observe/rows.hpp"
#include "loader/text/counters.hpp"
#include "loader/text/names.hpp"
#include "olaf/queue.h"

namespace olaf::test::event_test {
namespace {

// Events as people and programs read them, and which of them a filter lets through.

/// Cluster 3's update of worker 7, generated 1,000 ns before it left.
Event departure() {
    Event event{};
    event.record.kind = OLAF_EVENT_DEPARTURE;
    event.record.detail = OLAF_LEFT_DRAIN;
    event.record.time_ns = 5'000;
    event.record.tai_offset_ns = 1'000'000;
    event.record.generated_ns = 1'004'000;
    event.record.first_arrived_ns = 4'200;
    event.record.arrived_ns = 4'900;
    event.record.cluster = 3;
    event.record.worker = 7;
    event.record.sequence = 9;
    event.record.count = 4;
    event.record.queue_length = 2;
    event.record.frame_bytes = 114;
    event.record.sampled = 1;
    return event;
}

Event drop(std::uint8_t detail, std::uint8_t cause = 0) {
    Event event{};
    event.record.kind = OLAF_EVENT_DROP;
    event.record.detail = detail;
    event.record.cause = cause;
    return event;
}

TEST(Event, AgesAreDifferencesOfItsTimes) {
    const auto event = departure();
    EXPECT_EQ(event.tai_ns(), 1'005'000);
    EXPECT_EQ(event.age_ns(), 1'000);
    EXPECT_EQ(event.engine_age_ns(), 100u);
    EXPECT_EQ(event.wait_ns(), 800u);
}

TEST(Event, AnAgeIsNegativeIfTheWorkersClockIsAhead) {
    auto event = departure();
    event.record.generated_ns = 1'006'000;
    EXPECT_EQ(event.age_ns(), -1'000);
    event.record.generated_ns = ~0ULL; // any 64 bits may come
    EXPECT_EQ(event.age_ns(), 1'005'001);
}

TEST(Event, WhatIsNotKnownHasNoValue) {
    EXPECT_FALSE(drop(OLAF_DROPPED_MALFORMED).age_ns());
    EXPECT_FALSE(drop(OLAF_DROPPED_FULL).wait_ns());
    EXPECT_TRUE(drop(OLAF_DROPPED_FULL).age_ns());
    auto refused = drop(OLAF_DROPPED_NOT_ALLOWED);
    refused.record.count = 1;
    EXPECT_TRUE(refused.age_ns());
    refused.record.count = 0; // a message of a job
    EXPECT_FALSE(refused.age_ns());
}

TEST(Event, IsReadWithItsFrameAndNoFurther) {
    auto record = departure().record;
    record.captured_bytes = 4;
    std::uint8_t bytes[sizeof record + 4];
    std::memcpy(bytes, &record, sizeof record);
    std::memcpy(bytes + sizeof record, "olaf", 4);
    const auto event = read_event(bytes, sizeof bytes);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->record.cluster, 3u);
    EXPECT_EQ(event->frame.size(), 4u);
    EXPECT_EQ(event->frame[3], 'f');
    EXPECT_EQ(read_event(bytes, sizeof bytes - 1)->frame.size(), 3u); // a record that lies
    EXPECT_FALSE(read_event(bytes, sizeof record - 1));
}

TEST(Event, TextIsOneLineWithUnitsAndTheWordsOfTheOtherViews) {
    EXPECT_EQ(
        event_text(departure()),
        "0.001005000s departure drain      cluster 3 segment 0 worker 7 sequence 9 updates 4 "
        "version 0 age by generation 1.00us by arrival 100ns waited 800ns queue 2 frame 114B");
    auto ahead = departure();
    ahead.record.generated_ns = 1'007'000;
    EXPECT_NE(event_text(ahead).find("age by generation -2.00us"), std::string::npos);
    EXPECT_NE(
        event_text(drop(OLAF_DROPPED_MALFORMED, OLAF_MALFORMED_COUNT)).find("malformed:count"),
        std::string::npos);
}

TEST(Event, JsonHasTheSameAndNullForWhatIsNotKnown) {
    const auto json = nlohmann::json::parse(event_json(departure()));
    EXPECT_EQ(json["event"], "departure");
    EXPECT_EQ(json["action"], "drain");
    EXPECT_EQ(json["age_ns"], 1'000);
    EXPECT_EQ(json["wait_ns"], 800);
    EXPECT_TRUE(json["cause"].is_null());
    const auto refused =
        nlohmann::json::parse(event_json(drop(OLAF_DROPPED_NOT_ALLOWED, OLAF_NOT_ALLOWED_SOURCE)));
    EXPECT_EQ(refused["cause"], "source");
    EXPECT_TRUE(refused["wait_ns"].is_null());
    EXPECT_TRUE(nlohmann::json::parse(
                    event_json(drop(OLAF_DROPPED_MALFORMED, OLAF_MALFORMED_TYPE)))["cluster"]
                    .is_null());
}

TEST(Event, EveryKindAndDetailHasANameOfItsOwn) {
    auto names = event_names();
    const auto count = names.size();
    EXPECT_EQ(count, std::size_t{OLAF_EVENT_KINDS} + OLAF_JOINED_ACTIONS + OLAF_LEFT_WAYS +
                         OLAF_DROPPED_REASONS + OLAF_LOST_PLACES);
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::unique(names).size(), 0u);
    olaf_event unknown{};
    unknown.kind = 200;
    EXPECT_EQ(kind_name(unknown), "unknown");
    EXPECT_EQ(action_name(unknown), "unknown");
}

TEST(Filter, NoneLetsEverythingThrough) {
    EXPECT_TRUE(passes({}, departure()));
    EXPECT_TRUE(passes({}, drop(OLAF_DROPPED_MALFORMED)));
}

TEST(Filter, EachOneMustLetItThrough) {
    const auto event = departure();
    EXPECT_TRUE(passes({.clusters = {{0, 1}, {3, 4}}}, event));
    EXPECT_FALSE(passes({.clusters = {{0, 2}, {4, 9}}}, event));
    EXPECT_TRUE(passes({.workers = {1, 7}}, event));
    EXPECT_FALSE(passes({.workers = {1}}, event));
    EXPECT_TRUE(passes({.actions = {"drop", "drain"}}, event));
    EXPECT_TRUE(passes({.actions = {"departure"}}, event));
    EXPECT_FALSE(passes({.actions = {"riding"}}, event));
    EXPECT_TRUE(passes({.min_age_ns = 1'000}, event));
    EXPECT_FALSE(passes({.min_age_ns = 1'001}, event));
    EXPECT_FALSE(passes({.clusters = {{3, 3}}, .workers = {1}}, event));
}

TEST(Filter, SaysWhyItLetsNothingThrough) {
    EXPECT_EQ(doubts({}, 1024), std::vector<std::string>{});
    EXPECT_EQ(doubts({.clusters = {{0, 9}, {1000, 2000}}}, 1024), std::vector<std::string>{});
    const auto beyond = doubts({.clusters = {{0, 0}, {1024, 1024}, {3000, 4000}}}, 1024);
    ASSERT_EQ(beyond.size(), 2u);
    EXPECT_NE(beyond[0].find("cluster 1024 is beyond the queue's limit, 0 ... 1023"),
              std::string::npos)
        << beyond[0];
    EXPECT_EQ(doubts({.workers = {1}, .actions = {"loss", "malformed", "transmit"}}, 8).size(), 1u);
    EXPECT_EQ(doubts({.workers = {1}, .actions = {"loss", "drop"}}, 8).size(), 0u);
    EXPECT_EQ(doubts({.actions = {"loss"}}, 8).size(), 0u);
}

TEST(Filter, ByClusterKeepsOutWhatHasNone) {
    EXPECT_FALSE(passes({.clusters = {{0, 0}}}, drop(OLAF_DROPPED_MALFORMED)));
    EXPECT_FALSE(passes({.min_age_ns = 0}, drop(OLAF_DROPPED_MALFORMED)));
}

// Blocks of pcapng, byte by byte where a reader would stumble.

std::uint32_t word(const std::string &block, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, block.data() + at, sizeof value);
    return value;
}

void expect_framed(const std::string &block, std::uint32_t type) {
    ASSERT_GE(block.size(), 12u);
    EXPECT_EQ(block.size() % 4, 0u);
    EXPECT_EQ(word(block, 0), type);
    EXPECT_EQ(word(block, 4), block.size());
    EXPECT_EQ(word(block, block.size() - 4), block.size());
}

TEST(Pcapng, EveryBlockIsFramedByItsLength) {
    expect_framed(pcapng::section_header("olaf"), 0x0a0d0d0a);
    expect_framed(pcapng::interface_description("eth0", 2048), 1);
    expect_framed(pcapng::interface_statistics(0, 1, 2, 3), 5);
    EXPECT_EQ(word(pcapng::section_header("olaf"), 8), 0x1a2b3c4du);
}

TEST(Pcapng, APacketHasItsTimeItsBytesAndItsReason) {
    const std::vector<std::uint8_t> bytes{1, 2, 3, 4, 5};
    const auto block = pcapng::packet({.time_ns = 0x123456789abcdef0,
                                       .interface = 1,
                                       .outbound = true,
                                       .length = 900,
                                       .bytes = bytes,
                                       .comment = "why"});
    expect_framed(block, 6);
    EXPECT_EQ(word(block, 8), 1u);
    EXPECT_EQ(word(block, 12), 0x12345678u); // the high half first
    EXPECT_EQ(word(block, 16), 0x9abcdef0u);
    EXPECT_EQ(word(block, 20), 5u);
    EXPECT_EQ(word(block, 24), 900u);
    EXPECT_EQ(block.substr(28, 5), std::string("\1\2\3\4\5"));
    EXPECT_EQ(word(block, 36), 1u | 3u << 16); // a comment of three bytes
    EXPECT_EQ(block.substr(40, 3), "why");
    EXPECT_EQ(word(block, 44), 2u | 4u << 16); // flags
    EXPECT_EQ(word(block, 48), 2u);            // outbound
    EXPECT_EQ(word(block, 52), 0u);            // end of options
}

} // namespace
} // namespace olaf::test::event_test
