// SPDX-License-Identifier: BSD-2-Clause
// The window that a node above grants: how it is learnt and kept, with several CPUs, and what kicks it on.
#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "random_updates.hpp"
#include "testbed.hpp"
#include "tests/effort.hpp"
#include "window_test.hpp"

namespace olaf::test::window_test {
namespace {

// ---- Departures by ACKs: how many may be under way, which ACK ends which flight, and what becomes
// of those that get none. TearDown counts every flight: each ends once.

/// The rule of bpf/ack/ack_window.bpf.h, in plain words: every departure is a flight, and an ACK ends one.
class Flights {
  public:
    explicit Flights(std::uint32_t most) : most_(most) {}

    [[nodiscard]] bool has_room() {
        advance();
        return in_flight < (silent ? 1 : most_);
    }
    void depart(const Update &update) {
        flights_.push_back({.update = update, .departed = ++moment_});
        in_flight++;
    }
    void answer(const Ack &ack) {
        const auto first = find(ack, oldest_, [](const Flight &f) { return f.open; });
        const auto begin = flights_.size() - std::min<std::size_t>(flights_.size(), OLAF_FLIGHTS);
        const auto found = first ? first : find(ack, begin, [](const Flight &f) { return !f.acked; });
        if (!found) {
            unmatched++;
            return;
        }
        auto &flight = flights_[*found];
        if (first) {
            acked++;
            in_flight--;
            release_before(*first, ack);
        } else {
            late++;
        }
        flight.open = false;
        flight.acked = true;
        answered_ = ++moment_;
        silent = false;
        backoff = 0;
        advance();
    }
    /// All that is in flight has been for longer than any timeout.
    void expire() {
        for (auto &flight : flights_)
            flight.expired = true;
    }

    std::uint64_t in_flight = 0, acked = 0, released = 0, forgiven = 0, late = 0, unmatched = 0;
    std::uint32_t backoff = 0;
    bool silent = false; ///< nothing was answered for a whole timeout

  private:
    struct Flight {
        Update update;
        std::uint64_t departed = 0;
        bool open = true, acked = false, expired = false;
    };

    template <class May>
    std::optional<std::size_t> find(const Ack &ack, std::size_t from, May may) const {
        for (; from < flights_.size(); from++) {
            const auto &[u, departed, open, acked, expired] = flights_[from];
            if (may(flights_[from]) && u.cluster == ack.cluster && u.sequence == ack.sequence &&
                u.generated_ns == ack.generated_ns &&
                (u.segment == ack.segment || u.segments != ack.segments) &&
                (u.worker == ack.worker || ack.worker == OLAF_EVERY_WORKER))
                return from;
        }
        return {};
    }
    /// What went the same way before it is processed, or lost.
    void release_before(std::size_t end, const Ack &ack) {
        for (auto i = oldest_; i < end; i++)
            if (auto &f = flights_[i];
                f.open && f.update.cluster == ack.cluster && f.update.segment == ack.segment) {
                f.open = false;
                released++;
                in_flight--;
            }
    }
    /// Gives up what has expired: one by one while the server answers others, else all.
    void advance() {
        for (; oldest_ < flights_.size(); oldest_++) {
            auto &flight = flights_[oldest_];
            if (!flight.open)
                continue;
            if (!flight.expired)
                return;
            if (answered_ < flight.departed) {
                forgiven += in_flight;
                in_flight = 0;
                silent = true;
                backoff++; // the next timeout is longer
                for (; oldest_ < flights_.size(); oldest_++)
                    flights_[oldest_].open = false;
                return;
            }
            flight.open = false;
            forgiven++;
            in_flight--;
        }
    }

    std::uint32_t most_;
    std::vector<Flight> flights_;
    std::size_t oldest_ = 0;
    std::uint64_t moment_ = 0, answered_ = 0;
};

constexpr std::uint64_t for_long = 20'000'000'000;

struct Paced {
    std::uint32_t window;
    std::uint64_t rate_bps; ///< 0: none
};

class WindowOf : public WindowTest, public testing::WithParamInterface<Paced> {
  protected:
    WindowOf()
        : WindowTest([] {
              auto config = windowed_queue({.most = GetParam().window});
              config.rate_bps = GetParam().rate_bps;
              return config;
          }()),
          expected(GetParam().window) {
        be_up_for(for_long);
        auto window = queue.window();
        window.next = window.oldest = window.acked = first; // positions wrap
        queue.set_window(window);
    }

    /// A timeout that no interruption of this test is as long as, whatever was measured.
    void be_patient() {
        auto window = queue.window();
        window.rtt.smoothed_ns = 4'000'000'000;
        window.rtt.variation_ns = 0;
        window.expires_ns = 0; // it is looked at again
        queue.set_window(window);
    }
    /// What leaves waits for the rate, too, if there is one.
    void offer_some(bool link_free) {
        link_free ? queue.link_free() : queue.link_busy();
        const bool room = expected.has_room();
        const auto left = offer(some_update());
        ASSERT_EQ(left.has_value(), room && link_free);
        if (left) {
            expected.depart(*left);
            sent.push_back(*left);
        }
    }
    /// The ACK of something that departed lately, or of nothing: one thing in it is another.
    Ack some_ack() {
        const auto back = sent.empty() ? 0 : 1 + random.below(std::min<std::size_t>(sent.size(), 12));
        auto ack = ack_of(sent.empty() ? Update{} : sent[sent.size() - back]);
        switch (random.below(12)) {
        case 0:
            ack.worker = OLAF_EVERY_WORKER;
            break;
        case 1:
            ack.worker ^= 1;
            break;
        case 2:
            ack.sequence ^= 1;
            break;
        case 3:
            ack.generated_ns ^= 1ull << 33;
            break;
        case 4:
            ack.segment ^= 1;
            break;
        case 5:
            ack.segment = 0, ack.segments = 1; // weights that are cut otherwise
            break;
        case 6:
            ack.cluster ^= 1;
            break;
        default:
            break;
        }
        return ack;
    }
    /// Alike ones are among them.
    Update some_update() {
        return {.cluster = static_cast<std::uint32_t>(random.below(3)),
                .worker = static_cast<std::uint32_t>(random.below(2)),
                .sequence = static_cast<std::uint32_t>(random.below(4)),
                .generated_ns = (1ull << 60) + random.below(2),
                .segment = static_cast<std::uint16_t>(random.below(2)),
                .segments = 2};
    }
    void compare() const {
        const auto window = queue.window();
        EXPECT_EQ(window.in_flight, expected.in_flight);
        EXPECT_EQ(window.acked - first, expected.acked);
        EXPECT_EQ(window.released, expected.released);
        EXPECT_EQ(window.forgiven, expected.forgiven);
        EXPECT_EQ(window.late, expected.late);
        EXPECT_EQ(window.unmatched, expected.unmatched);
        EXPECT_EQ(window.silent, expected.silent);
        EXPECT_EQ(window.rtt.backoff, expected.backoff);
    }

    static constexpr std::uint64_t first = UINT64_MAX - 40;
    RandomUpdates random{1, {}};
    Flights expected;
    std::vector<Update> sent;
};

TEST_P(WindowOf, EveryAckEndsTheFlightThatTheRulesSay) {
    for (int step = 0; step < 3000 && !HasFailure(); step++) {
        SCOPED_TRACE(step);
        const auto what = random.below(100);
        if (what < 55) {
            offer_some(GetParam().rate_bps == 0 || random.one_in(2));
        } else if (what < 98) {
            const auto ack = some_ack();
            expected.answer(ack);
            answer_with(ack);
            be_patient();
        } else {
            queue.age_flights(for_long);
            be_patient();
            expected.expire();
            offer_some(true);
        }
        compare();
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WindowOf,
                         testing::Values(Paced{1, 0}, Paced{2, 0}, Paced{8, 0}, Paced{1, 1'000'000'000},
                                         Paced{3, 1'000'000'000}),
                         [](const auto &info) {
                             return std::to_string(info.param.window) + (info.param.rate_bps ? "Paced" : "");
                         });

class Window3 : public WindowTest {
  protected:
    Window3() : WindowTest(windowed_queue({.most = 3})) {}
};

TEST_F(Window3, ALateAckIsASampleLikeAnyOther) {
    be_up_for(for_long);
    const auto lost = fresh(1);
    ASSERT_TRUE(offer(lost));
    queue.age_flights(for_long);
    ASSERT_TRUE(offer(fresh(2)));
    acknowledge(lost);
    EXPECT_EQ(queue.window().late, 1u);
    EXPECT_GE(queue.window().rtt.smoothed_ns, for_long);
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
    queue.order({.emptying_until_ns = UINT64_MAX, .held_until_ns = 0, .figures_from_ns = 0});
    run_tc(queue.queue().program_fd("olaf_drain_tick"), Bytes(60, 0)); // nobody's token
    Ack none;
    answer_with(none);
    EXPECT_EQ(queue.waiting().size(), 2u);
    EXPECT_EQ(queue.window().in_flight, 3u);
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

// ---- An ACK that opens the window sets off the next departure at once: the kick, on its way to the
// drain and at the drain's end; and the token's pace while the window is closed.

constexpr std::uint32_t shot = TC_ACT_SHOT, redirect = TC_ACT_REDIRECT;
constexpr std::uint64_t interval = 100'000;

/// ACKs' clones come in at the far end of the pair, forwarded departures too: tests that look at
/// one have none of the other.
olaf::DatapathConfig config_for(const Testbed &net, olaf_deliver deliver) {
    auto config = windowed_queue({.most = 2});
    config.deliver = deliver;
    config.ifindex = net.near;
    config.egress_ifindex = deliver == OLAF_DELIVER_LOCAL ? 0 : net.near;
    config.drain_ifindex = net.far;
    config.kick_ifindex = net.near;
    config.drain_interval_ns = interval;
    return config;
}

class Kick : private InTestbed,
             public WindowTest,
             public testing::WithParamInterface<olaf_deliver> {
  protected:
    Kick()
        : WindowTest(config_for(net, GetParam())), kicks(net.far),
          departures(GetParam() == OLAF_DELIVER_LOCAL ? net.near : net.far) {}

    /// Two in flight, `waiting` more in the queue.
    void fill(std::uint32_t waiting) {
        queue.set_drain_deadline(UINT64_MAX / 2);
        for (std::uint32_t i = 0; i < 2 + waiting; i++) {
            const auto update = fresh(i);
            const auto verdict = queue.offer(ipv4().carrying(update)).verdict;
            EXPECT_EQ(verdict == XDP_DROP, i >= 2);
            sent.push_back(update);
        }
    }
    Ran kicked(const Bytes &frame) { return run_tc(queue.queue().program_fd("olaf_drain_kick"), frame); }
    Ran tick(const Bytes &frame) { return run_tc(queue.queue().program_fd("olaf_drain_tick"), frame); }

    Capture kicks, departures;
    std::vector<Update> sent;
};

TEST_P(Kick, IsSentWhenSomethingWaitsAndTheAckIsUnharmed) {
    for (const auto &path : ways_back()) {
        queue.reset();
        queue.set_window({});
        sent.clear();
        fill(1);
        auto ack = ack_of(sent[0]);
        ack.lanes = lanes_of(100);
        const auto ran = queue.leave(path.carrying(ack));
        EXPECT_EQ(ran.verdict, tc_unspec);
        const auto unstamped = path.carrying(ack).bytes;
        ASSERT_EQ(ran.bytes.size(), unstamped.size());
        EXPECT_EQ(hex(std::span(ran.bytes).first(30)), hex(std::span(unstamped).first(30)));
        const auto kick = kicks.next();
        ASSERT_TRUE(kick);
        EXPECT_EQ(kick->size(), unstamped.size());
        const auto token = token_of(queue);
        EXPECT_EQ(hex(std::span(*kick).subspan(12, 14)), hex(std::span(token).subspan(12, 14)));
        EXPECT_TRUE(kicks.empty());
    }
}

TEST_P(Kick, IsNotSentByAcksThatOpenNothing) {
    fill(1);
    auto forged = ack_of(sent[0]);
    forged.generated_ns++;
    answer_with(forged);
    EXPECT_TRUE(kicks.empty());
    acknowledge(sent[0]);
    EXPECT_TRUE(kicks.next());
    acknowledge(sent[0]); // again
    EXPECT_TRUE(kicks.empty());
}

TEST_P(Kick, IsNotSentWhenNothingWaits) {
    fill(0);
    acknowledge(sent[0]);
    acknowledge(sent[1]);
    EXPECT_TRUE(kicks.empty());
    EXPECT_EQ(queue.window().in_flight, 0u);
}

TEST_P(Kick, LetsWhatIsDueLeaveAndDies) {
    fill(2);
    queue.set_window([&] {
        auto window = queue.window();
        window.in_flight--; // as after an ACK
        window.acked++;
        return window;
    }());
    EXPECT_EQ(kicked(token_of(queue)).verdict, shot);
    const auto left = departures.next();
    ASSERT_TRUE(left);
    EXPECT_EQ(parse_update(*left)->update.cluster, 2u);
    EXPECT_TRUE(departures.empty());
    EXPECT_EQ(queue.totals().departed_drain, 1u);
    EXPECT_EQ(queue.window().in_flight, 2u);
    EXPECT_EQ(queue.counters().drain_kicks, 1u);
    EXPECT_EQ(kicked(token_of(queue)).verdict, shot); // nothing is due: nothing leaves
    EXPECT_EQ(queue.totals().departed_drain, 1u);
}

TEST_P(Kick, NothingElseIsOne) {
    fill(1);
    acknowledge(sent[0]);
    for (std::size_t at = 12; at < 26; at++) {
        auto other = token_of(queue);
        other[at] ^= 0x80;
        EXPECT_EQ(kicked(other).verdict, shot) << at;
    }
    EXPECT_EQ(kicked(Bytes(20, 0)).verdict, shot);
    EXPECT_EQ(queue.counters().drain_kicks, 0u);
    EXPECT_EQ(queue.totals().departed_drain, 0u);
}

TEST_P(Kick, TheTokenIsSlowWhileOnlyAnAckOrATimeoutMakesSomethingDue) {
    queue.set_link(0, 0);
    offer(fresh(0));
    offer(fresh(1));
    const auto token = queue.offer(ipv4().carrying(fresh(2))).bytes;
    auto ran = tick(token);
    EXPECT_EQ(ran.verdict, redirect);
    EXPECT_EQ(ran.bytes.size(), 8192u);
    EXPECT_TRUE(departures.empty());
    queue.age_flights(999'000'000); // a millisecond more, or less
    ran = tick(token);
    if (ran.verdict == redirect) {
        EXPECT_LE(ran.bytes.size(), 10 * 128u);
    }
    queue.age_flights(10'000'000);
    EXPECT_EQ(tick(token).verdict, shot); // forgiven: it left, nothing waits
    EXPECT_TRUE(departures.next());
    EXPECT_EQ(queue.window().forgiven, 2u);
}

TEST_P(Kick, AnAckWhoseHeadersAreTooLongLeavesItToTheToken) {
    fill(1);
    const auto long_way = answer(ipv6()).hop_by_hop(32).destination_options(32);
    queue.leave(long_way.carrying(ack_of(sent[0])));
    EXPECT_EQ(queue.window().in_flight, 1u);
    EXPECT_TRUE(kicks.empty());
}

INSTANTIATE_TEST_SUITE_P(Deliver, Kick,
                         testing::Values(OLAF_DELIVER_LOCAL, OLAF_DELIVER_FORWARD), by_delivery);

// ---- Departures and ACKs on every CPU at once: never more in flight than the window, and every
// flight ends once. OLAF_STEPS / 2 frames a thread.

std::uint64_t frames_a_thread() { return from_environment("OLAF_STEPS", 200'000) / 2; }

/// What departed and awaits its ACK, of all threads.
class Server {
  public:
    void take(const Update &update) {
        const std::scoped_lock guard(mutex_);
        waiting_.push_back(update);
    }
    std::optional<Update> next() {
        const std::scoped_lock guard(mutex_);
        if (waiting_.empty())
            return {};
        const auto update = waiting_.front();
        waiting_.pop_front();
        return update;
    }

  private:
    std::mutex mutex_;
    std::deque<Update> waiting_;
};

class WindowParallel : public testing::TestWithParam<olaf::Window> {};

TEST_P(WindowParallel, NeverMoreInFlightThanTheWindow) {
    auto config = windowed_queue(GetParam());
    config.max_clusters = 64;
    config.queue_capacity = 32;
    Harness queue(config);
    queue.set_drain_deadline(UINT64_MAX / 2);
    Server server;
    std::atomic<bool> done = false;
    std::uint32_t highest = 0;
    std::uint64_t looks = 0;
    std::jthread watcher([&] {
        for (; !done; looks++)
            highest = std::max(highest, queue.window().in_flight);
    });
    std::vector<std::jthread> pool;
    for (unsigned t = 0; t < std::max(2u, cpus()); t++)
        pool.emplace_back([&, t] {
            pin_to(t);
            for (std::uint64_t i = 0; i < frames_a_thread(); i++) {
                const Update update{.cluster = static_cast<std::uint32_t>(i * 7 + t) % 64,
                                    .worker = t,
                                    .sequence = static_cast<std::uint32_t>(i),
                                    .generated_ns = i + 1};
                const auto ran = queue.offer(ipv4().carrying(update));
                if (ran.verdict == XDP_PASS)
                    if (const auto left = parse_update(ran.bytes))
                        server.take(left->update);
                if (i % 3 == 0)
                    continue;
                if (const auto answered = server.next())
                    queue.leave(answer(ipv4()).carrying(ack_of(*answered)));
            }
        });
    pool.clear();
    done = true;
    watcher.join();
    EXPECT_LE(highest, GetParam().most);
    EXPECT_GT(looks, 10u);
    while (const auto answered = server.next())
        queue.leave(answer(ipv4()).carrying(ack_of(*answered)));
    const auto window = queue.window();
    EXPECT_EQ(window.in_flight, 0u);
    // What a thread that wasn't run for a while had yet to answer was given up, or released by a
    // later ACK of the cluster, and then late; after OLAF_FLIGHTS departures of the others, of nobody.
    EXPECT_EQ(window.acked + window.late + window.unmatched, window.next);
    EXPECT_LE(window.unmatched, window.forgiven + window.released);
    EXPECT_LT(window.unmatched, window.next / 100);
    EXPECT_GT(window.acked, window.next / 2);
    EXPECT_EQ(queue.broken_identity(), "");
}

INSTANTIATE_TEST_SUITE_P(Sizes, WindowParallel,
                         testing::Values(olaf::Window{.most = 1}, olaf::Window{.most = 7},
                                         olaf::Window{.automatic = true, .most = 24}),
                         [](const auto &info) {
                             return (info.param.automatic ? "auto" : "fixed") +
                                    std::to_string(info.param.most);
                         });

} // namespace
} // namespace olaf::test::window_test
