// SPDX-License-Identifier: BSD-2-Clause
// A worker's process is killed in the middle of a round. Its job has a deadline: the others get that
// sum with the part of the dead where it had come, the next ones without it, as PARTIAL, and whole
// ones once it is no member any more.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <bit>
#include <csignal>
#include <numeric>

#include "round_members.hpp"
#include "round_tree.hpp"

namespace olaf::test::rounds_killed_test {
namespace {

// A member has contributed to `pool` chunks of a round when the others still have to.
constexpr unsigned pool = 8, rounds_before = 4, whole_rounds = 5;
static_assert(pool < member_chunks);

/// Long enough for others to get results before these give way to newer ones.
const std::vector<std::string> with_deadline = {"--pool", std::to_string(pool), "--deadline",
                                                "100ms"};

struct Scene {
    const Netns &netns;
    std::vector<unsigned> workers; ///< of them the last one dies
    std::function<CollectiveOptions(unsigned worker)> options;
    std::function<nlohmann::json()> job; ///< of the node that the dead one contributes to
    std::function<void()> take_out;      ///< when some sums lacked it
    std::function<void()> check_books;
};

unsigned bits(const std::vector<unsigned> &workers) {
    return std::accumulate(workers.begin(), workers.end(), 0u,
                           [](unsigned sum, unsigned worker) { return sum | 1u << worker; });
}

/// Sums some rounds, contributes to the next one what it may without the others, and waits to be
/// killed.
void stop_midway(const Scene &scene) {
    const Inside inside(scene.netns);
    const unsigned worker = scene.workers.back();
    auto collective = Collective::make(scene.options(worker)).value();
    bool goes_on = collective.join().has_value();
    for (unsigned round = 0; round < rounds_before && goes_on; round++) {
        auto vector = member_part(worker, round);
        goes_on = collective.allreduce(std::span(vector)).has_value();
    }
    auto vector = member_part(worker, rounds_before);
    if (goes_on && collective.allreduce_async(std::span(vector)) && collective.poll())
        for (;;)
            pause();
}

struct Sum {
    SumReport report;
    std::vector<unsigned> workers; ///< in each chunk, a bit each

    [[nodiscard]] std::ptrdiff_t chunks_without(unsigned some) const {
        return std::ranges::count_if(workers, [=](unsigned in) { return (in & some) != some; });
    }
};

/// One vector, and exactly who is in its sum, which is what the report says.
Sum sum(Collective &collective, unsigned worker, unsigned round) {
    auto vector = member_part(worker, round);
    const auto report = collective.allreduce(std::span(vector));
    if (!report)
        throw std::runtime_error(report.error().message());
    Sum sum{.report = *report, .workers = {}};
    constexpr std::size_t in_chunk = member_elements / member_chunks;
    for (std::size_t i = 0; i < member_elements; i++) {
        const auto in = ranks_in(vector, i, round);
        EXPECT_NE(in, ~0u) << "element " << i << " of round " << round << ": " << vector[i];
        if (i % in_chunk == 0)
            sum.workers.push_back(in);
        EXPECT_EQ(in, sum.workers.back()) << "element " << i << " of round " << round;
    }
    const auto least = std::ranges::min(sum.workers, {}, [](auto in) { return std::popcount(in); });
    EXPECT_EQ(report->least_count, std::popcount(least)) << "round " << round;
    EXPECT_EQ(report->late, sum.chunks_without(1u << worker)) << "round " << round;
    return sum;
}

/// What the workers that live on have in common: each round begins when all have the last one's sum.
class Living {
  public:
    explicit Living(const Scene &scene)
        : scene_(scene), dead_(1u << scene.workers.back()), all_(bits(scene.workers)),
          together_(static_cast<std::ptrdiff_t>(scene.workers.size()) - 1),
          dying_([&scene] { stop_midway(scene); }) {}

    void run(Collective &collective, unsigned worker) {
        const bool is_first = worker == scene_.workers.front();
        const Leaving leaving{*this, is_first};
        for (unsigned round = 0; round < rounds_before; round++)
            sum(collective, worker, round);
        together_.arrive_and_wait();
        if (is_first)
            kill();
        together_.arrive_and_wait();
        expect_midway(sum(collective, worker, rounds_before));
        for (unsigned round = rounds_before + 1; !over_; round++) {
            const auto next = sum(collective, worker, round);
            expect_without_the_dead(next, round);
            if (is_first)
                decide(next);
            together_.arrive_and_wait();
        }
    }

  private:
    /// However a worker ends, nobody waits for it, nor without end for the first one's decision.
    struct Leaving {
        Living &living;
        bool is_first;
        ~Leaving() {
            living.over_ = living.over_ || is_first;
            living.together_.arrive_and_drop();
        }
    };

    /// The node has all that it contributed, and nothing of the others.
    void kill() {
        await(
            [&] {
                if (!dying_.running())
                    throw std::runtime_error("it isn't midway: " + scene_.job().dump());
                return scene_.job()["chunks"]["open"] == pool;
            },
            [&] { return "the middle of a sum: " + scene_.job().dump(); });
        dying_.kill(SIGKILL);
        EXPECT_EQ(dying_.wait().status, 128 + SIGKILL);
    }
    void expect_midway(const Sum &sum) const {
        for (unsigned chunk = 0; chunk < member_chunks; chunk++)
            EXPECT_EQ((sum.workers[chunk] & dead_) != 0, chunk < pool) << "chunk " << chunk;
        EXPECT_EQ(sum.report.partial, sum.chunks_without(all_));
    }
    void expect_without_the_dead(const Sum &sum, unsigned round) const {
        for (const unsigned in : sum.workers)
            EXPECT_EQ(in & dead_, 0u) << "round " << round;
        EXPECT_GE(sum.report.partial, sum.chunks_without(all_ & ~dead_)) << "round " << round;
    }
    void decide(const Sum &sum) {
        if (sum.report.partial == 0)
            whole_++;
        else if (partial_++ == 0 && scene_.take_out)
            scene_.take_out();
        over_ = over_ || whole_ == whole_rounds;
    }

    const Scene &scene_;
    const unsigned dead_, all_;
    std::atomic<bool> over_ = false;
    unsigned partial_ = 0, whole_ = 0; // the first one's
    std::barrier<> together_;
    Process dying_; // before there are threads
};

void kill_one_midway(const Scene &scene) {
    Living living(scene);
    run_workers(
        scene.netns, static_cast<unsigned>(scene.workers.size()) - 1,
        [&](CollectiveOptions &options, unsigned number) {
            options = scene.options(scene.workers[number]);
        },
        [&](Collective &collective, unsigned number) {
            living.run(collective, scene.workers[number]);
        });
    scene.check_books();
    const auto job = scene.job();
    SCOPED_TRACE(job.dump(1));
    EXPECT_EQ(job["state"], "running");
    EXPECT_EQ(job["silent"], scene.take_out ? 0 : 1);
    EXPECT_GE(job["chunks"]["partial"], member_chunks - pool);
}

class RoundsKilled : public testing::TestWithParam<bool> {};

TEST_P(RoundsKilled, TheOthersGoOnWithoutItByTheDeadlineAndThenAreAllThereAre) {
    constexpr unsigned workers = 3, dead = 2;
    const bool by_order = GetParam();
    Testbed bed{{.way = Way::local, .place = Place::kernel}};
    bed.attach({"--round-slots", "64", "--member-timeout", by_order ? "3600s" : "2s"});
    std::vector<std::string> words{"--format", "i64x1"};
    words.insert(words.end(), with_deadline.begin(), with_deadline.end());
    set_job(bed, workers, member_lanes, words);
    Scene scene{.netns = bed.worker,
                .workers = {0, 1, dead},
                .options = [&](unsigned rank) { return member_options(bed, rank, workers); },
                .job = [&] { return job_status(bed); },
                .take_out = {},
                .check_books = [&] { expect_jobs_add_up(bed.olaf); }};
    if (by_order)
        scene.take_out = [&] {
            const auto out = bed.olaf({"job", "leave", "in", std::to_string(rounds_job), "2"});
            EXPECT_EQ(out.status, 0) << out.err;
        };
    kill_one_midway(scene);
    EXPECT_EQ(job_status(bed)["absent"], nlohmann::json::array({dead}));
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsKilled, testing::Bool(), [](const auto &info) {
    return info.param ? "WhoIsTakenOutByOrder" : "WhoIsTakenOutForItsSilence";
});

// Worker 0 is the root's, 1 and 2 are of a leaf, 3 of the other one. Only the leaf has a deadline.
TEST(RoundsKilledInATree, BelowALeafTheDeadIsMissedByAllUntilTheLeafHasNoSuchMember) {
    RoundTree tree({{0, 1, {}, {}, {"--pool", std::to_string(pool)}},
                    {0, 2, {}, {"--member-timeout", "2s"}, with_deadline},
                    {0, 1, {}, {}, {"--pool", std::to_string(pool)}}});
    for (unsigned node = 0; node < 3; node++)
        tree.start(node, member_lanes);
    kill_one_midway({.netns = tree.netns_of_workers(),
                     .workers = {0, 1, 3, 2},
                     .options =
                         [&](unsigned worker) {
                             auto options = tree.options_of(worker);
                             options.format = Format::i64x1;
                             options.lanes = member_lanes;
                             return options;
                         },
                     .job = [&] { return tree.job(1); },
                     .take_out = {},
                     .check_books = [&] { tree.expect_books_to_add_up(); }});
    EXPECT_EQ(tree.job(1)["absent"], nlohmann::json::array({1}));
    EXPECT_TRUE(tree.job(0)["absent"].empty()) << "it's the leaf's worker, and none of the root's";
}

} // namespace
} // namespace olaf::test::rounds_killed_test
