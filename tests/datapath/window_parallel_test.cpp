// SPDX-License-Identifier: BSD-2-Clause
// Departures and ACKs on every CPU at once: never more in flight than the window, and every
// flight ends once. OLAF_STEPS / 2 frames a thread.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "window_test.hpp"

namespace olaf::test::window_parallel_test {
namespace {

std::uint64_t frames_a_thread() {
    const char *text = std::getenv("OLAF_STEPS");
    return (text ? std::strtoull(text, nullptr, 0) : 200'000) / 2;
}

unsigned threads() { return std::max(2u, std::thread::hardware_concurrency()); }

void pin_to(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu % std::max(1u, std::thread::hardware_concurrency()), &set);
    sched_setaffinity(0, sizeof set, &set);
}

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
    for (unsigned t = 0; t < threads(); t++)
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
} // namespace olaf::test::window_parallel_test
