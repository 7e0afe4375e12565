// SPDX-License-Identifier: BSD-2-Clause
#include "round_training.hpp"

#include "actor.hpp"
#include "rules.hpp"

#include "examples/training/learning_curve.hpp"

#include <olaf/round_server.hpp>

#include <future>

namespace olaf::cartpole {
namespace {

constexpr float kLongest = 500; // steps of an episode
constexpr auto kLookUpEvery = std::chrono::milliseconds(50);

using Clock = std::chrono::steady_clock;

std::vector<float> first_vector(const RoundJob &job) {
    const Parameters weights = first_weights(job.seed, job.job);
    std::vector<float> vector(weights.begin(), weights.end());
    vector.push_back(0);
    return vector;
}

// What the server makes of sums.
class Learner {
  public:
    explicit Learner(float target) : curve_(target), rule_(make_rule(RuleName::adam)) {}

    void learn(const RoundSum &sum, std::span<float> weights, double seconds) {
        const auto count = static_cast<float>(sum.count);
        Parameters mean = Eigen::Map<const Parameters>(sum.sum.data());
        mean /= count;
        rule_({.mean_gradient = {mean.data(), kParameters},
               .slice = {.begin = 0, .end = kParameters},
               .count = sum.count},
              weights.first(kParameters));
        curve_.add(seconds, kLongest * sum.sum.back() / count, sum.count);
        served_.rounds++;
        served_.gradients += sum.count;
        weights.back() = over_ || curve_.reached() ? 1 : 0;
    }
    /// The next weights are the last.
    void end() { over_ = true; }
    [[nodiscard]] bool reached() const { return curve_.reached().has_value(); }
    [[nodiscard]] RoundServed served() const {
        RoundServed served = served_;
        served.mean_length = curve_.mean();
        served.reached_s = curve_.reached();
        return served;
    }

  private:
    training::LearningCurve curve_;
    Rule rule_;
    RoundServed served_;
    bool over_ = false;
};

// The last element says so.
bool is_over(std::span<const float> weights) {
    return weights.back() > 0.5F;
}

// What a worker computes, in a thread of its own.
struct Computed {
    std::vector<float> gradient; // and the mean length
    std::uint32_t version = 0;   // of the weights that it was computed on
};

Computed compute(Actor &actor, const Parameters &weights, std::uint32_t version) {
    const Experience experience = actor.experience(weights);
    Computed computed = {.gradient = {experience.gradient.begin(), experience.gradient.end()},
                         .version = version};
    computed.gradient.push_back(*experience.mean_reward / kLongest);
    return computed;
}

Result<void> train(BoundedStaleness &training, Actor &actor, const RoundWorking &working) {
    const auto ended = [&] { return is_over(training.weights()) || working.over(); };
    Computed computed;
    while (!ended()) {
        const Parameters weights = Eigen::Map<const Parameters>(training.weights().data());
        auto next = std::async(std::launch::async, compute, std::ref(actor), std::cref(weights),
                               training.version());
        Result<void> sent;
        if (!computed.gradient.empty())
            if (const auto committed = training.commit(computed.gradient, computed.version);
                !committed)
                sent = std::unexpected(committed.error());
        computed = next.get(); // before `weights` goes
        if (!sent)
            return working.over() ? Result<void>{} : sent;
    }
    return {};
}

} // namespace

Result<RoundServed> serve_rounds(const RoundServing &serving) {
    const auto start = Clock::now();
    Learner learner(serving.target);
    auto server = RoundServer::make(
        {.bind = serving.bind,
         .job = serving.job.job,
         .children = serving.children,
         .workers = serving.job.workers,
         .lanes = kRoundLanes,
         .run = serving.job.run},
        first_vector(serving.job), [&](const RoundSum &sum, std::span<float> weights) {
            const std::chrono::duration<double> passed = Clock::now() - start;
            learner.learn(sum, weights, passed.count());
        });
    if (!server)
        return std::unexpected(server.error());
    if (const auto address = server->local_address(); !address)
        return std::unexpected(address.error());
    else if (serving.bound)
        serving.bound(*address);
    while (!learner.reached() && !serving.over())
        if (const auto received = server->receive(kLookUpEvery); !received)
            return std::unexpected(received.error());
    learner.end();
    for (auto heard = Clock::now(); Clock::now() - heard < serving.silence;) {
        const auto received = server->receive(kLookUpEvery);
        if (!received)
            return std::unexpected(received.error());
        if (*received > 0)
            heard = Clock::now();
    }
    return learner.served();
}

Result<RoundWorked> work_in_rounds(const RoundWorking &working) {
    auto collective = Collective::make({.node = working.node,
                                        .job = working.job.job,
                                        .rank = working.rank,
                                        .workers = working.job.workers,
                                        .run = working.job.run,
                                        .lanes = kRoundLanes,
                                        .interrupted = working.over});
    if (!collective)
        return std::unexpected(collective.error());
    if (const auto started = collective->start(); !started)
        return std::unexpected(started.error());
    BoundedStaleness training(*collective, first_vector(working.job), working.staleness, is_over);
    Actor actor({}, Random{working.job.seed, working.rank, 2});
    if (const auto trained = train(training, actor, working); !trained)
        return std::unexpected(trained.error());
    return RoundWorked{.stats = training.stats(),
                       .version = training.version(),
                       .trained = is_over(training.weights())};
}

} // namespace olaf::cartpole
