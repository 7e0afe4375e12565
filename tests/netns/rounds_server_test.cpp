// SPDX-License-Identifier: BSD-2-Clause
// A parameter server as a node's parent: workers give gradients and get weights.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cmath>
#include <thread>

#include <olaf/bounded_staleness.hpp>
#include <olaf/round_server.hpp>

#include "rounds.hpp"

namespace olaf::test::rounds_server_test {
namespace {

constexpr std::uint16_t port = 7000;
constexpr const char *here = "10.0.0.1";

/// A job of floats as integers, with a server as its node's parent.
JobSetting below_server_at(const std::string &address, JobSetting setting) {
    setting.set =
        joined({"--parent", address, "--rank", "0", "--max-count", std::to_string(setting.workers)},
               setting.set);
    setting.format = "";
    return setting;
}

/// The server is where the workers are.
struct BelowAServer : RoundsBed {
    explicit BelowAServer(unsigned workers, const std::vector<std::string> &set = {},
                          unsigned lanes = job_lanes)
        : RoundsBed(
              below_server_at(std::string(here) + ":7000",
                              {.workers = workers, .set = set, .lanes = lanes, .starts = false})) {
        host.sysctl("ipv4/conf/in/forwarding", "1"); // the way to the parent
        start();
    }
};

RoundServer serve_in(const Netns &netns, const std::string &address, unsigned workers,
                     std::vector<float> weights, RoundRule rule) {
    const Inside inside(netns);
    auto made = RoundServer::make({.bind = Address::resolve(address, port).value(),
                                   .job = rounds_job,
                                   .children = 1,
                                   .workers = workers,
                                   .lanes = job_lanes},
                                  std::move(weights), std::move(rule));
    if (!made)
        throw std::runtime_error(made.error().message());
    return std::move(*made);
}

// ---- behind the node's own device, under loss ----

constexpr unsigned workers = 4, rounds = 10;
constexpr std::size_t elements = 126 * 12 + 17;

// Whole numbers, so that sums and weights are exact.
std::vector<float> gradient(unsigned rank, unsigned round) {
    std::vector<float> vector(elements);
    for (std::size_t i = 0; i < elements; i++)
        vector[i] = static_cast<float>((i * 31 + rank * 7 + round) % 201) - 100.0F;
    return vector;
}

// Twice the sum is added to weights that began at 1.
void learn(std::span<const float> sum, std::span<float> weights) {
    for (std::size_t i = 0; i < weights.size(); i++)
        weights[i] += 2 * sum[i];
}

std::vector<std::vector<float>> weights_of_rounds() {
    std::vector<std::vector<float>> all;
    std::vector<float> weights(elements, 1.0F);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned rank = 0; rank < workers; rank++)
            learn(gradient(rank, round), weights);
        all.push_back(weights);
    }
    return all;
}

TEST(RoundsServer, AsANodesParentGivesEveryWorkerTheExactWeightsDespiteLoss) {
    BelowAServer bed(workers);
    std::atomic<unsigned> calls = 0;
    RoundServer parent = serve_in(bed.worker, here, workers, std::vector<float>(elements, 1.0F),
                                  [&calls](const RoundSum &sum, std::span<float> weights) {
                                      calls++;
                                      EXPECT_EQ(sum.count, workers);
                                      learn(sum.sum, weights);
                                  });
    std::jthread serving([&](const std::stop_token &stop) {
        const auto served = parent.serve(stop);
        EXPECT_TRUE(served) << served.error().message();
    });
    bed.lose(5); // Both the workers' and the server's: all are behind this device.
    const auto expected = weights_of_rounds();
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < rounds; round++) {
            auto vector = gradient(rank, round);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            ASSERT_EQ(vector, expected[round]) << "round " << round;
        }
        const auto finished = collective.finish(std::chrono::seconds(20));
        EXPECT_TRUE(finished) << finished.error().message();
    });
    serving.request_stop();
    serving.join();
    EXPECT_EQ(calls, rounds * 13U) << "once a piece and round";
    const auto weights = parent.weights();
    EXPECT_EQ(std::vector<float>(weights.begin(), weights.end()), expected.back());
    EXPECT_GT(parent.stats().repeated, 0U) << "nothing was lost";
    EXPECT_EQ(parent.stats().clipped + parent.stats().rejected.total(), 0U);
}

// The server's weights are a vector as any other: nobody's gradient of another length is taken for them.
TEST(RoundsServer, WorkersWithAnotherLengthThanTheWeightsAreToldBoth) {
    BelowAServer bed(workers);
    RoundServer parent = serve_in(bed.worker, here, workers, std::vector<float>(101, 1.0F),
                                  [](const RoundSum &, std::span<float>) { FAIL() << "a sum"; });
    std::jthread serving([&](const std::stop_token &stop) { EXPECT_TRUE(parent.serve(stop)); });
    std::barrier<> all(workers);
    bed.for_each_worker([&](Collective &collective, unsigned) {
        Together together(all);
        together.wait(); // start() would be told as well
        std::vector<float> vector(100, 1.0F);
        const auto told = collective.allreduce(std::span(vector), Combine::sum);
        ASSERT_FALSE(told);
        EXPECT_TRUE(says(told.error().message(), "the sum of 100 float32 among 4 workers"));
        EXPECT_TRUE(says(told.error().message(), "the sum of 101 float32 among 4 workers"));
        EXPECT_EQ(told.error().code, 0) << "not behind a timeout";
    });
}

// The server compares sessions as a node does: nothing that a worker gives anew is learnt with old gradients.
TEST(RoundsServer, LearnsNothingFromTwoSessionsAtOnce) {
    BelowAServer bed(workers);
    RoundServer parent = serve_in(bed.worker, here, workers, std::vector<float>(elements, 1.0F),
                                  [](const RoundSum &sum, std::span<float> weights) {
                                      EXPECT_EQ(sum.count, workers);
                                      learn(sum.sum, weights);
                                  });
    std::jthread serving([&](const std::stop_token &stop) { EXPECT_TRUE(parent.serve(stop)); });
    const auto expected = weights_of_rounds();
    std::barrier<> all(workers);
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        Together together(all);
        for (unsigned round = 0; round < rounds; round++) {
            if (round == rounds / 2) {
                together.wait(); // none lacks the weights
                auto vector = gradient(rank, rounds);
                if (rank != 0) {
                    const auto told = collective.allreduce(std::span(vector));
                    ASSERT_FALSE(told);
                    EXPECT_TRUE(says(told.error().message(), "has begun anew"));
                }
                const auto started = collective.start();
                ASSERT_TRUE(started) << started.error().message();
            }
            auto vector = gradient(rank, round);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            ASSERT_EQ(vector, expected[round]) << "round " << round;
        }
    });
}

// ---- behind another device than the node's workers ----
// It is a process, whose socket may leave checksums to its device: what the node makes of such frames must
// be right, too.

struct Setting {
    const char *name;
    int family;
    bool checksum_left_to_device;
};

class RoundsTwoArmedServer : public testing::TestWithParam<Setting> {};

TEST_P(RoundsTwoArmedServer, GivesEveryWorkerTheExactWeights) {
    const auto [name, family, left_to_device] = GetParam();
    constexpr unsigned workers = 3, rounds = 5;
    constexpr std::size_t elements = 126 * 4;
    const auto address = Testbed::server_peer(family).address;
    const auto to = family == 4 ? address : "[" + address + "]";
    RoundsBed bed(below_server_at(to + ":7000", {.workers = workers,
                                                 .wiring = {.way = Way::upstream4},
                                                 .family = family,
                                                 .local = true,
                                                 .starts = false}));
    set_offloads(bed.server(), "eth0", {.tx_checksum = left_to_device});
    auto parent = serve_in(bed.server(), address, workers, std::vector<float>(elements, 1.0F),
                           [](const RoundSum &sum, std::span<float> weights) {
                               for (std::size_t i = 0; i < weights.size(); i++)
                                   weights[i] += sum.sum[i];
                           });
    bed.start();
    std::jthread serving([&](const std::stop_token &stop) { (void)parent.serve(stop); });
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < rounds; round++) {
            std::vector<float> vector(elements, static_cast<float>(rank));
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            // Ranks 0, 1 and 2 add up to 3 in each round.
            ASSERT_EQ(vector, std::vector<float>(elements, 1.0F + 3.0F * (round + 1)));
        }
    });
    serving.request_stop();
    serving.join();
    const auto job = bed.job();
    EXPECT_GT(job["up"]["sent"], 0);
    EXPECT_EQ(job["parent"]["device"], "out");
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsTwoArmedServer,
                         testing::Values(Setting{"Ipv4", 4, false}, Setting{"Ipv6", 6, false},
                                         Setting{"Ipv4WithChecksumsLeftToItsDevice", 4, true},
                                         Setting{"Ipv6WithChecksumsLeftToItsDevice", 6, true}),
                         by_name);

// ---- iSwitch's staleness bound, over rounds with a threshold ----
// What a slow worker computed on weights more than S versions old is in no sum, and what is at most as old is.

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
        : workers_(workers), oldest_(oldest),
          server_(serve_in(netns, here, workers, std::vector<float>(2 * workers + 1),
                           [this](const RoundSum &sum, std::span<float>) { look_at(sum); })),
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

BoundedStaleness::Outcome commit(BoundedStaleness &training, unsigned workers, unsigned rank,
                                 std::uint32_t version) {
    const auto outcome = training.commit(gradient_of(workers, rank, version), version);
    if (!outcome)
        throw std::runtime_error(outcome.error().message());
    return *outcome;
}

// One contribution completes a round, so the fast worker needs nobody. It goes on only as far as the
// slow one lets it, which so knows how old its own gradient will be.
TEST(RoundsStale, ASlowWorkersGradientCountsUpToTheBoundAndNotBeyond) {
    constexpr unsigned workers = 2, fast = 0, slow = 1;
    constexpr std::uint32_t behind[] = {1, 2, 3, 1, 6, 2, 12, 1};
    const BelowAServer bed(workers, {"--threshold", "1"});
    const Root root(bed.worker, workers, bound);
    std::atomic<std::uint32_t> gate = 0; // the fast worker commits on versions below it
    std::atomic<bool> over = false;
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        BoundedStaleness training(collective, std::vector<float>(2 * workers + 1), bound);
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
TEST(RoundsStale, NoGradientBeyondTheBoundIsInAnySumWhileWorkersRace) {
    constexpr unsigned workers = 4, threshold = 2;
    constexpr std::uint32_t last = 100;
    const BelowAServer bed(workers, {"--threshold", std::to_string(threshold)});
    const Root root(bed.worker, workers, bound);
    std::atomic<unsigned> there = 0;
    const auto over = [&] { return there == workers; };
    bed.for_each_worker(
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
            options.interrupted = over; // who waits then would wait for ever
        });
    unsigned taken = 0;
    for (unsigned rank = 0; rank < workers; rank++)
        taken += root.taken(rank);
    EXPECT_GE(taken, threshold * last);
}

// ---- the CartPole example as iSwitch trains ----
// Real programs, a node whose sums need two of three workers, and a bound on how old a gradient may be.

Process start(const Testbed &bed, const std::vector<std::string> &words) {
    return Process(joined({OLAF_CARTPOLE_ROUNDS}, words), {}, &bed.worker);
}

nlohmann::json summary(Process &program) {
    const Outcome outcome = program.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json{};
}

// An episode takes the longer the better its worker plays, so they race.
TEST(RoundsCartPole, WorkersLearnWithinTheBoundAndEndWhenTheServerSaysSo) {
    constexpr unsigned workers = 3, staleness = 2;
    const BelowAServer bed(workers, {"--threshold", "2"}, 132);
    Process server = start(bed, {"server", "--bind", "10.0.0.1:7000", "--target", "40"});
    std::vector<Process> programs;
    for (unsigned rank = 0; rank < workers; rank++)
        programs.push_back(start(bed, {"worker", "--node", bed.target(4).address, "--rank",
                                       std::to_string(rank), "--staleness",
                                       std::to_string(staleness)}));
    const auto served = summary(server);
    ASSERT_TRUE(served.is_object());
    EXPECT_FALSE(served.at("time_to_target_s").is_null()) << served;
    std::uint64_t committed = 0, unknown = 0;
    std::string of_workers;
    for (Process &program : programs) {
        const auto worked = summary(program);
        ASSERT_TRUE(worked.is_object());
        EXPECT_TRUE(worked.at("trained").get<bool>()) << worked;
        EXPECT_LE(worked.at("stalest").get<unsigned>(), staleness);
        committed += worked.at("committed").get<std::uint64_t>();
        unknown += worked.at("unknown").get<std::uint64_t>();
        of_workers += worked.dump() + "\n";
    }
    const auto gradients = served.at("gradients").get<std::uint64_t>();
    EXPECT_LE(committed, gradients) << served << of_workers;
    EXPECT_GE(committed + unknown, gradients) << served << of_workers;
    bed.expect_books_to_add_up();
}

} // namespace
} // namespace olaf::test::rounds_server_test
