// SPDX-License-Identifier: BSD-2-Clause
// Departures by ACKs: how many may be under way, which ACK ends which flight, and what becomes
// of those that get none. TearDown counts every flight: each ends once.
#include <bpf/bpf.h>

#include "window_test.hpp"

namespace olaf::test::window_test {
namespace {

class WindowOf : public WindowTest, public testing::WithParamInterface<std::uint32_t> {
  protected:
    WindowOf() : WindowTest(windowed_queue({.most = GetParam()})) {}
};

TEST_P(WindowOf, NDepartAndTheRestWaitsForAcks) {
    std::vector<Update> departed;
    for (std::uint32_t i = 0; i < GetParam(); i++) {
        const auto update = fresh(i);
        EXPECT_EQ(offer(update), update) << i;
        departed.push_back(update);
    }
    EXPECT_EQ(queue.window().in_flight, GetParam());
    const auto first = fresh(0), second = fresh(1);
    EXPECT_FALSE(offer(first));
    EXPECT_FALSE(offer(second));
    for (int i = 0; i < 5; i++)
        EXPECT_FALSE(offer(fresh(0, 2))); // folds; nothing is due
    EXPECT_EQ(queue.totals().departed_riding, 0u);

    acknowledge(departed.front());
    EXPECT_EQ(queue.window().in_flight, GetParam() - 1);
    const auto left = offer(fresh(1));
    ASSERT_TRUE(left); // one ACK, one departure, the oldest
    EXPECT_EQ(left->cluster, 0u);
    EXPECT_EQ(left->count, 6u);
    EXPECT_FALSE(offer(fresh(1)));
    EXPECT_EQ(queue.window().in_flight, GetParam());
    acknowledge(*left); // the echo of the aggregate
    EXPECT_EQ(queue.window().in_flight, GetParam() - 1);
    EXPECT_EQ(queue.window().unmatched, 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, WindowOf, testing::Values(1, 2, 8));

class Window3 : public WindowTest {
  protected:
    Window3() : WindowTest(windowed_queue({.most = 3})) {}
};

struct Echo {
    const char *name;
    void (*change)(Ack &);
    bool matches;
};

class Echoes : public Window3, public testing::WithParamInterface<Echo> {};

TEST_P(Echoes, EndTheFlightOrDoNothing) {
    const Update update{.cluster = 3, .worker = 5, .sequence = 7, .generated_ns = 1ull << 60,
                        .segment = 1, .segments = 2};
    ASSERT_TRUE(offer(update));
    auto ack = ack_of(update);
    GetParam().change(ack);
    for (int times = 1; times <= 3; times++) { // and no duplicate does anything more
        answer_with(ack);
        const auto window = queue.window();
        EXPECT_EQ(window.in_flight, GetParam().matches ? 0u : 1u);
        EXPECT_EQ(window.acked, GetParam().matches ? 1u : 0u);
        const auto asked = times - static_cast<int>(queue.ack_counters().foreign); // of no cluster
        EXPECT_EQ(window.unmatched, static_cast<unsigned>(asked) - window.acked);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Table, Echoes,
    testing::Values(Echo{"Exact", [](Ack &) {}, true},
                    Echo{"EveryWorker", [](Ack &ack) { ack.worker = OLAF_EVERY_WORKER; }, true},
                    Echo{"OtherCluster", [](Ack &ack) { ack.cluster = 2; }, false},
                    Echo{"NoCluster", [](Ack &ack) { ack.cluster = 0xffffffff; }, false},
                    Echo{"OtherWorker", [](Ack &ack) { ack.worker = 6; }, false},
                    Echo{"OtherSequence", [](Ack &ack) { ack.sequence = 8; }, false},
                    Echo{"OtherTime", [](Ack &ack) { ack.generated_ns ^= 1ull << 33; }, false},
                    Echo{"OtherSegment", [](Ack &ack) { ack.segment = 0; }, false},
                    Echo{"WeightsInOneSegment",
                         [](Ack &ack) { ack.segment = 0, ack.segments = 1; }, true}),
    [](const auto &info) { return std::string(info.param.name); });

TEST_F(Window3, AnAckReleasesOlderFlightsOfItsClusterAlone) {
    const auto first = fresh(1), other = fresh(2), last = fresh(1, 2);
    for (const auto &update : {first, other, last})
        ASSERT_TRUE(offer(update));
    acknowledge(last);
    auto window = queue.window();
    EXPECT_EQ(window.in_flight, 1u);
    EXPECT_EQ(window.acked, 1u);
    EXPECT_EQ(window.released, 1u);
    acknowledge(first); // it was only late: nothing more is freed
    window = queue.window();
    EXPECT_EQ(window.in_flight, 1u);
    EXPECT_EQ(window.late, 1u);
    acknowledge(first);
    EXPECT_EQ(queue.window().unmatched, 1u);
    acknowledge(other);
    EXPECT_EQ(queue.window().in_flight, 0u);
}

TEST_F(Window3, YoungerFlightsOfTheClusterStay) {
    const auto first = fresh(1), second = fresh(1);
    ASSERT_TRUE(offer(first));
    ASSERT_TRUE(offer(second));
    acknowledge(first);
    EXPECT_EQ(queue.window().in_flight, 1u);
    EXPECT_EQ(queue.window().released, 0u);
}

TEST_F(Window3, AlikeUpdatesNeedAnAckEach) {
    const auto update = fresh(1);
    ASSERT_TRUE(offer(update));
    ASSERT_TRUE(offer(update));
    acknowledge(update);
    EXPECT_EQ(queue.window().in_flight, 1u);
    acknowledge(update);
    EXPECT_EQ(queue.window().in_flight, 0u);
    EXPECT_EQ(queue.window().released, 0u);
}

TEST_F(Window3, OneLostAckIsForgivenAndTheOthersStay) {
    be_up_for(20'000'000'000);
    const auto lost = fresh(1), second = fresh(2), third = fresh(3);
    for (const auto &update : {lost, second, third})
        ASSERT_TRUE(offer(update));
    acknowledge(second); // the server lives
    ASSERT_TRUE(offer(fresh(4)));
    queue.age_flights(20'000'000'000);
    auto window = queue.window();
    window.answered_ns = time_before_ns(0); // and answers still
    queue.set_window(window);
    EXPECT_TRUE(offer(fresh(5)));
    window = queue.window();
    EXPECT_EQ(window.forgiven, 3u);
    EXPECT_EQ(window.silent, 0u);
    EXPECT_EQ(window.rtt.backoff, 0u);
    acknowledge(lost);
    window = queue.window();
    EXPECT_EQ(window.late, 1u);
    EXPECT_EQ(window.in_flight, 1u);
    EXPECT_GT(window.rtt.smoothed_ns, 1'700'000'000u) << "a late ACK is a sample like any other";
}

TEST_F(Window3, ASilentServerGetsOneAtATimeEachLaterThanTheOneBefore) {
    for (std::uint32_t i = 0; i < 3; i++)
        ASSERT_TRUE(offer(fresh(i)));
    EXPECT_FALSE(offer(fresh(4)));
    queue.age_flights(1'100'000'000); // the timeout before any sample is a second
    ASSERT_TRUE(offer(fresh(5)));     // carries what waited away
    auto window = queue.window();
    EXPECT_EQ(window.silent, 1u);
    EXPECT_EQ(window.forgiven, 3u);
    EXPECT_EQ(window.in_flight, 1u);
    EXPECT_FALSE(offer(fresh(6))) << "one at a time";
    queue.age_flights(1'100'000'000);
    EXPECT_FALSE(offer(fresh(6))) << "doubled";
    queue.age_flights(1'000'000'000);
    const auto probe = offer(fresh(6));
    ASSERT_TRUE(probe);
    EXPECT_EQ(queue.window().rtt.backoff, 2u);

    acknowledge(*probe); // it is back: all at once
    window = queue.window();
    EXPECT_EQ(window.silent, 0u);
    EXPECT_EQ(window.rtt.backoff, 0u);
    for (int i = 0; i < 3; i++)
        EXPECT_TRUE(offer(fresh(7)));
    EXPECT_FALSE(offer(fresh(7)));
}

TEST_F(Window3, ALateAckEndsTheSilenceAndFreesNothing) {
    std::vector<Update> sent;
    for (std::uint32_t i = 0; i < 3; i++) {
        sent.push_back(fresh(i));
        ASSERT_TRUE(offer(sent.back()));
    }
    queue.age_flights(1'100'000'000);
    ASSERT_TRUE(offer(fresh(5)));
    acknowledge(sent[1]);
    const auto window = queue.window();
    EXPECT_EQ(window.in_flight, 1u);
    EXPECT_EQ(window.silent, 0u);
    EXPECT_EQ(window.late, 1u);
}

TEST_F(Window3, PositionsWrap) {
    auto window = queue.window();
    window.next = window.oldest = window.acked = UINT64_MAX - 40;
    queue.set_window(window);
    std::vector<Update> flying;
    for (int i = 0; i < 100; i++) {
        flying.push_back(fresh(static_cast<std::uint32_t>(i) % 8));
        ASSERT_TRUE(offer(flying.back())) << i;
        if (flying.size() == 3) {
            acknowledge(flying.front());
            flying.erase(flying.begin());
        }
    }
    EXPECT_EQ(queue.window().in_flight, 2u);
    EXPECT_EQ(queue.window().unmatched, 0u);
}

TEST_F(Window3, AFlightThatThousandsHaveOvertakenIsGivenUp) {
    const auto lost = fresh(7);
    ASSERT_TRUE(offer(lost));
    for (int i = 0; i < OLAF_FLIGHTS + 10; i++) {
        const auto update = fresh(static_cast<std::uint32_t>(i) % 7);
        ASSERT_TRUE(offer(update)) << i;
        acknowledge(update);
    }
    EXPECT_EQ(queue.window().in_flight, 0u);
    EXPECT_EQ(queue.window().forgiven, 1u);
    acknowledge(lost); // its place is another's now
    EXPECT_EQ(queue.window().unmatched, 1u);
}

TEST_F(Window3, DetachWaitsForTheServerWhileItAnswersAndNotLonger) {
    for (std::uint32_t i = 0; i < 5; i++)
        offer(fresh(i));
    ASSERT_EQ(queue.waiting().size(), 2u);
    const olaf_control control{.emptying_until_ns = UINT64_MAX, .held_until_ns = 0, .figures_from_ns = 0};
    const std::uint32_t zero = 0;
    ASSERT_EQ(bpf_map_update_elem(queue.queue().map_fd("olaf_control"), &zero, &control, 0), 0);
    run_tc(queue.queue().program_fd("olaf_drain_tick"), Bytes(60, 0)); // nobody's token
    Ack none;
    answer_with(none);
    EXPECT_EQ(queue.waiting().size(), 2u);
    EXPECT_EQ(queue.window().in_flight, 3u);
}

class Window1Paced : public WindowTest {
  protected:
    Window1Paced() : WindowTest([] {
        auto config = windowed_queue({.most = 1});
        config.rate_bps = 1'000'000'000;
        return config;
    }()) {}
};

TEST_F(Window1Paced, ADepartureWaitsForRateAndWindowBoth) {
    const auto update = fresh(1);
    queue.link_busy();
    EXPECT_FALSE(offer(update));
    queue.link_free();
    const auto left = offer(fresh(2));
    EXPECT_EQ(left, update);
    queue.link_free();
    EXPECT_FALSE(offer(fresh(3)));
    queue.link_busy();
    acknowledge(*left);
    EXPECT_FALSE(offer(fresh(4)));
    queue.link_free();
    EXPECT_TRUE(offer(fresh(4)));
}

class WindowAuto : public WindowTest {
  protected:
    WindowAuto() : WindowTest(windowed_queue({.automatic = true, .most = 16})) {}
};

TEST_F(WindowAuto, BeginsWithFewAndNeverPassesItsMost) {
    std::uint32_t most = 0;
    std::vector<Update> flying;
    for (int i = 0; i < 3000; i++) {
        while (const auto left = offer(fresh(static_cast<std::uint32_t>(i) % 8)))
            flying.push_back(*left);
        if (i == 0) {
            EXPECT_EQ(flying.size(), 4u);
        }
        most = std::max(most, queue.window().in_flight);
        ASSERT_FALSE(flying.empty());
        acknowledge(flying.front());
        flying.erase(flying.begin());
    }
    EXPECT_GE(most, 4u);
    EXPECT_LE(most, 16u);
    EXPECT_NE(queue.window().pilot.trial.size, 0u);
}

class NoWindow : public WindowTest {
  protected:
    NoWindow() : WindowTest(windowed_queue({})) {}
};

TEST_F(NoWindow, NothingIsKept) {
    const auto update = fresh(1);
    ASSERT_TRUE(offer(update));
    acknowledge(update);
    EXPECT_EQ(queue.window().next, 0u);
    EXPECT_EQ(queue.window().unmatched, 0u);
}

} // namespace
} // namespace olaf::test::window_test
