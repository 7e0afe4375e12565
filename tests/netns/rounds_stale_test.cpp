// SPDX-License-Identifier: BSD-2-Clause
// iSwitch's staleness bound, over rounds with a threshold: what a slow worker computed on weights more
// than S versions old is in no sum, and what is at most as old is.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include <olaf/bounded_staleness.hpp>
#include <olaf/round_server.hpp>

#include "rounds.hpp"

namespace olaf::test::rounds_stale_test {
namespace {

constexpr unsigned lanes = 64;
constexpr std::uint16_t port = 7000;
constexpr std::uint32_t bound = 2;

// A gradient says who computed it, on which version. Its last element is the largest, so that all
// have the same exponent and none is clipped.
std::vector<float> gradient_of(unsigned workers, unsigned rank, std::uint32_t version) {
    std::vector<float> gradient(2 * workers + 1);
    gradient[rank] = static_cast<float>(version);
    gradient[workers + rank] = 1;
    gradient.back() = 4096;
    return gradient;
}

/// The root: sees how old each gradient of a sum is.
class Root {
  public:
    Root(const Netns &netns, unsigned workers, std::uint32_t oldest)
        : workers_(workers), oldest_(oldest), server_(make(netns)),
          serving_([this](const std::stop_token &stop) {
              const auto served = server_.serve(stop);
              EXPECT_TRUE(served) << served.error().message();
          }) {}

    /// Waits until so many rounds are over.
    void wait_for(std::uint32_t rounds) const {
        for (std::uint32_t now = rounds_; now < rounds; now = rounds_)
            rounds_.wait(now);
    }
    [[nodiscard]] unsigned taken(unsigned rank) const { return taken_[rank]; }

  private:
    RoundServer make(const Netns &netns) {
        const Inside inside(netns);
        auto made = RoundServer::make(
            {.bind = Address::resolve("10.0.0.1", port).value(),
             .job = rounds_job,
             .children = 1,
             .workers = workers_,
             .lanes = lanes},
            std::vector<float>(2 * workers_ + 1),
            [this](const RoundSum &sum, std::span<float>) { look_at(sum); });
        if (!made)
            throw std::runtime_error(made.error().message());
        return std::move(*made);
    }

    void look_at(const RoundSum &sum) {
        for (unsigned rank = 0; rank < workers_; rank++) {
            if (std::lround(sum.sum[workers_ + rank]) == 0)
                continue;
            taken_[rank]++;
            const auto version = static_cast<std::uint32_t>(std::lround(sum.sum[rank]));
            EXPECT_LE(sum.round - version, oldest_) << "of worker " << rank;
        }
        rounds_ = sum.round + 1;
        rounds_.notify_all();
    }

    unsigned workers_;
    std::uint32_t oldest_;
    std::atomic<unsigned> taken_[8] = {};
    std::atomic<std::uint32_t> rounds_ = 0;
    RoundServer server_;
    std::jthread serving_;
};

class RoundsStale : public testing::Test {
  protected:
    Testbed bed{{.way = Way::local}};

    void start(unsigned workers, unsigned threshold) {
        bed.host.sysctl("ipv4/conf/in/forwarding", "1"); // the way to the parent
        bed.attach({"--round-slots", "64"});
        set_job(bed, workers, lanes,
                {"--threshold", std::to_string(threshold), "--parent",
                 "10.0.0.1:" + std::to_string(port), "--rank", "0", "--max-count",
                 std::to_string(workers)});
    }

    void run(unsigned workers,
             const std::function<void(BoundedStaleness &, unsigned rank)> &work) const {
        for_each_worker(
            bed, workers,
            [&](Collective &collective, unsigned rank) {
                BoundedStaleness training(collective, std::vector<float>(2 * workers + 1), bound);
                work(training, rank);
            },
            [](CollectiveOptions &options) { options.lanes = lanes; });
    }
};

BoundedStaleness::Outcome commit(BoundedStaleness &training, unsigned workers, unsigned rank,
                                 std::uint32_t version) {
    const auto outcome = training.commit(gradient_of(workers, rank, version), version);
    if (!outcome)
        throw std::runtime_error(outcome.error().message());
    return *outcome;
}

// One contribution completes a round, so the fast worker needs nobody. It goes on only as far as the
// slow one lets it, which so knows how old its own gradient will be.
TEST_F(RoundsStale, ASlowWorkersGradientCountsUpToTheBoundAndNotBeyond) {
    constexpr unsigned workers = 2, fast = 0, slow = 1;
    constexpr std::uint32_t behind[] = {1, 2, 3, 1, 6, 2, 12, 1};
    start(workers, 1);
    const Root root(bed.worker, workers, bound);
    std::atomic<std::uint32_t> gate = 0; // the fast worker commits on versions below it
    std::atomic<bool> over = false;
    run(workers, [&](BoundedStaleness &training, unsigned rank) {
        if (rank == fast) {
            while (!over) {
                if (const std::uint32_t now = gate; now <= training.version() && !over)
                    gate.wait(now);
                else
                    commit(training, workers, fast, training.version());
            }
            return;
        }
        for (const std::uint32_t versions : behind) {
            const std::uint32_t version = training.version();
            gate = version + versions;
            gate.notify_all();
            root.wait_for(version + versions);
            const auto stats = training.stats();
            const bool counts = versions <= bound;
            EXPECT_EQ(commit(training, workers, slow, version),
                      counts ? BoundedStaleness::Outcome::committed
                             : BoundedStaleness::Outcome::too_stale)
                << versions << " versions behind";
            EXPECT_EQ(training.stats().committed - stats.committed, counts ? 1U : 0U);
            EXPECT_GE(training.version() + 1, version + versions) << "it has no newer weights";
        }
        EXPECT_EQ(training.stats().stalest, bound);
        EXPECT_GT(training.stats().skipped, 0U) << "it doesn't hear how far the other is";
        over = true;
        gate = UINT32_MAX;
        gate.notify_all();
    });
    EXPECT_EQ(root.taken(slow), 5U);
}

// Nobody's speed is controlled here. Workers go on until all have seen the last round.
TEST_F(RoundsStale, NoGradientBeyondTheBoundIsInAnySumWhileWorkersRace) {
    constexpr unsigned workers = 4, threshold = 2;
    constexpr std::uint32_t last = 100;
    start(workers, threshold);
    const Root root(bed.worker, workers, bound);
    std::atomic<unsigned> there = 0;
    const auto over = [&] { return there == workers; };
    for_each_worker(
        bed, workers,
        [&](Collective &collective, unsigned rank) {
            BoundedStaleness training(collective, std::vector<float>(2 * workers + 1), bound);
            for (bool counted = false; !over();) {
                const std::uint32_t version = training.version();
                if (rank == 3 && !counted) // as slow as several rounds
                    root.wait_for(std::min(version + version % 5, last));
                const auto outcome =
                    training.commit(gradient_of(workers, rank, version), version);
                ASSERT_TRUE(outcome || over()) << outcome.error().message();
                if (!counted && training.version() >= last) {
                    counted = true;
                    there++;
                }
            }
        },
        [&](CollectiveOptions &options) {
            options.lanes = lanes;
            options.interrupted = over; // who waits then would wait for ever
        });
    unsigned taken = 0;
    for (unsigned rank = 0; rank < workers; rank++)
        taken += root.taken(rank);
    EXPECT_GE(taken, threshold * last);
}

} // namespace
} // namespace olaf::test::rounds_stale_test
