// SPDX-License-Identifier: BSD-2-Clause
// The LunarLander example, from its physics to what it learns.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <limits>
#include <numeric>

#include "environment.hpp"
#include "learner.hpp"
#include "network.hpp"
#include "ppo.hpp"
#include "rules.hpp"
#include "wire.hpp"

#include <olaf/parameter_server.hpp>

namespace olaf::lunar_lander {
namespace {

// Of the scaled velocities: a metre a second sideways is 10 m, half the width, times 20 ms.
constexpr float kAcross = 10.0F / 50;
constexpr float kDown = 20.0F / 3 / 50;

using Pilot = std::function<int(const State &)>;

struct Flight {
    Step last;
    State state; ///< the last one
    int steps = 0;
    float reward = 0;
    bool stood_on_both = false; ///< both legs touched the ground at once
};

/// One episode to its end.
Flight fly(Environment &environment, Random &random, const Pilot &pilot) {
    Flight flight;
    environment.reset(random);
    do {
        flight.last = environment.step(pilot(environment.state()), random);
        flight.state = environment.state();
        flight.reward += flight.last.reward;
        flight.stood_on_both |= flight.state[6] > 0 && flight.state[7] > 0;
        flight.steps++;
    } while (flight.last.status == Status::running);
    return flight;
}

int do_nothing(const State &) {
    return kNothing;
}

TEST(LunarLanderEnvironment, HasThePublishedMass) {
    Environment environment;
    Random random{1};
    environment.reset(random);
    EXPECT_NEAR(environment.mass(), 4.8167F, 1e-4F);
}

// The legs swing out at first and pull the craft a little: a fortieth of a metre a second.
TEST(LunarLanderEnvironment, FallsWithTenMetresASecondSquared) {
    Environment environment;
    Random random{2};
    const State first = environment.reset(random);
    for (int step = 1; step <= 20; ++step) {
        environment.step(kNothing, random);
        EXPECT_NEAR(environment.state()[3] / kDown, first[3] / kDown - 0.2F * step, 0.025F) << step;
        EXPECT_NEAR(environment.state()[2] / kAcross, first[2] / kAcross, 0.025F) << step;
    }
}

TEST(LunarLanderEnvironment, MainEngineLiftsByItsImpulse) {
    Environment environment;
    Random random{3};
    const State first = environment.reset(random);
    // Of craft and legs, whose boxes have 4 by 16 thirtieths of a metre at 1 kg a square metre.
    const float mass = environment.mass() + 2 * (4.0F / 30) * (16.0F / 30);
    float least = 0, most = 0;
    for (int step = 1; step <= 20; ++step) {
        environment.step(kMainEngine, random);
        // A nozzle is 4 thirtieths below the middle, give or take 2.
        least += 13 * (2.0F / 30) / mass - 0.2F;
        most += 13 * (6.0F / 30) / mass - 0.2F;
        const float rise = (environment.state()[3] - first[3]) / kDown;
        EXPECT_GT(rise, least - 0.025F) << step;
        EXPECT_LT(rise, most + 0.025F) << step;
    }
    const float rise = (environment.state()[3] - first[3]) / kDown;
    EXPECT_NEAR(rise, 20 * (13 * (4.0F / 30) / mass - 0.2F), 1) << "sputtering averages out";
}

TEST(LunarLanderEnvironment, SideEnginesTurnTheCraftAndPushItAside) {
    for (const int engine : {kLeftEngine, kRightEngine}) {
        Environment environment;
        Random random{4};
        const State first = environment.reset(random);
        for (int step = 0; step < 20; ++step)
            environment.step(engine, random);
        const float turned = environment.state()[5] - first[5];
        const float drifted = environment.state()[2] - first[2];
        EXPECT_GT(engine == kLeftEngine ? turned : -turned, 0.1F);
        EXPECT_LT(engine == kLeftEngine ? drifted : -drifted, -0.01F)
            << "its jet goes to the right";
    }
}

TEST(LunarLanderEnvironment, CrashesWhereNobodyFlies) {
    Environment environment;
    Random random{5};
    const Flight flight = fly(environment, random, do_nothing);
    EXPECT_EQ(flight.last.status, Status::terminated);
    EXPECT_EQ(flight.last.reward, -100);
}

TEST(LunarLanderEnvironment, RestsOnBothLegsAndFallsAsleep) {
    Environment environment;
    Random random{6};
    const Flight flight = fly(environment, random, pilot);
    EXPECT_TRUE(flight.stood_on_both);
    EXPECT_EQ(flight.last.status, Status::terminated);
    EXPECT_EQ(flight.last.reward, 100);
}

TEST(LunarLanderEnvironment, EndsWhereItLeavesTheScreen) {
    Environment environment;
    Random random{7};
    // Leans to one side and climbs.
    const Flight flight = fly(environment, random, [](const State &state) -> int {
        const float turn = (0.4F - state[4]) * 0.5F - state[5];
        return turn > 0.05F ? kLeftEngine : turn < -0.05F ? kRightEngine : kMainEngine;
    });
    EXPECT_EQ(flight.last.status, Status::terminated);
    EXPECT_EQ(flight.last.reward, -100);
    EXPECT_GE(std::abs(flight.state[0]), 1);
}

TEST(LunarLanderEnvironment, CutsOffAtAThousandSteps) {
    Environment environment;
    Random random{8};
    // The pilot, with the pad held to be half a screen higher.
    const Flight flight = fly(environment, random, [](State state) {
        state[1] -= 0.5F;
        return pilot(state);
    });
    EXPECT_EQ(flight.last.status, Status::truncated);
    EXPECT_EQ(flight.steps, kMaxEpisode);
    EXPECT_LT(std::abs(flight.last.reward), 50);
}

TEST(LunarLanderEnvironment, RepeatsBySeed) {
    const auto trajectory = [](std::uint64_t seed) {
        Environment environment;
        Random random{seed, 1, 2};
        std::vector<float> values;
        environment.reset(random);
        for (int step = 0; step < 50; ++step) {
            environment.step(step % kActions, random);
            values.insert(values.end(), environment.state().begin(), environment.state().end());
        }
        return values;
    };
    EXPECT_EQ(trajectory(9), trajectory(9));
    EXPECT_NE(trajectory(9), trajectory(10));
}

float mean_reward(const Pilot &pilot) {
    Environment environment;
    Random random{10};
    constexpr int episodes = 1000;
    float sum = 0;
    for (int episode = 0; episode < episodes; ++episode)
        sum += fly(environment, random, pilot).reward;
    return sum / episodes;
}

// What these three score in the published environment, within what seeds change: were a constant
// wrong, one of them would be elsewhere.
TEST(LunarLanderEnvironment, ScoresWhatThePublishedOneScores) {
    const float by_rules = mean_reward(pilot);
    EXPECT_GE(by_rules, 215);
    EXPECT_LE(by_rules, 245);
    const float idle = mean_reward(do_nothing);
    EXPECT_GE(idle, -165);
    EXPECT_LE(idle, -130);
    Random coin{11};
    const float at_random = mean_reward([&](const State &) {
        return std::min(kActions - 1, static_cast<int>(coin.uniform() * kActions));
    });
    EXPECT_GE(at_random, -230);
    EXPECT_LE(at_random, -170);
    RecordProperty("rewards", std::to_string(by_rules) + " " + std::to_string(idle) + " " +
                                  std::to_string(at_random));
}

Parameters some_parameters(Random &random) {
    Parameters parameters = initial_parameters(random);
    for (float &parameter : parameters)
        parameter += 0.1F * random.normal();
    return parameters;
}

/// Steps of a policy that isn't quite the one of these parameters.
Batch some_batch(const Parameters &parameters, Random &random, int steps) {
    Batch batch(steps);
    for (int step = 0; step < steps; ++step) {
        for (float &value : batch.states.col(step))
            value = random.uniform(-1, 1);
        Decision decision = decide(parameters, batch.states.col(step), random);
        decision.log_probability += random.uniform(-0.05F, 0.05F);
        batch.steps.push_back({.decision = decision,
                               .advantage = random.normal(),
                               .expected_return = random.uniform(-1, 1)});
    }
    return batch;
}

std::vector<int> all_of(const Batch &batch) {
    std::vector<int> steps(batch.steps.size());
    std::iota(steps.begin(), steps.end(), 0);
    return steps;
}

TEST(LunarLanderNetwork, FitsOneJumboFrame) {
    EXPECT_EQ(kParameters, 2205);
    // 9,000 − 20 IP − 8 UDP − 48 header: two parameters a lane, and the checksum.
    EXPECT_LE((kParameters + 1) / 2 + 1, (9000 - 76) / 8);
}

TEST(LunarLanderNetwork, StartsOrthogonalAndUndecided) {
    Random random{11};
    const Parameters parameters = initial_parameters(random);
    const Eigen::Map<const Eigen::Matrix<float, kHidden, kObservations, Eigen::RowMajor>> first(
        parameters.data());
    const Eigen::MatrixXf product = first.transpose() * first;
    EXPECT_LT((product - 2 * Eigen::MatrixXf::Identity(kObservations, kObservations)).norm(),
              1e-4F);
    const Outputs outputs = evaluate(parameters, State::Constant(0.5F));
    EXPECT_LT(outputs.head<kActions>().cwiseAbs().maxCoeff(), 0.1F);
}

TEST(LunarLanderNetwork, SeesAStateAloneAsInABatch) {
    Random random{12};
    const Parameters parameters = some_parameters(random);
    const States states = States::Random(kObservations, 5);
    const Forward forward(parameters, states);
    for (int column = 0; column < states.cols(); ++column)
        EXPECT_LT((forward.outputs().col(column) - evaluate(parameters, states.col(column))).norm(),
                  1e-5F);
}

TEST(LunarLanderNetwork, DrawsActionsByTheirProbability) {
    Random random{13};
    const Parameters parameters = some_parameters(random);
    const State state = State::Constant(0.3F);
    constexpr int draws = 20000;
    std::array<int, kActions> drawn{};
    std::array<float, kActions> log_probability{};
    for (int draw = 0; draw < draws; ++draw) {
        const Decision decision = decide(parameters, state, random);
        drawn[decision.action]++;
        log_probability[decision.action] = decision.log_probability;
    }
    for (int action = 0; action < kActions; ++action)
        EXPECT_NEAR(static_cast<float>(drawn[action]) / draws, std::exp(log_probability[action]),
                    0.02F);
}

TEST(LunarLanderPpo, GradientIsTheDerivativeOfTheObjective) {
    Random random{14};
    const Parameters parameters = some_parameters(random);
    const Batch batch = some_batch(parameters, random, 12);
    const std::vector<int> steps = all_of(batch);
    for (const PpoOptions &options :
         {PpoOptions{.value = 0, .entropy = 0}, PpoOptions{.value = 1, .entropy = 0},
          PpoOptions{.value = 0.5F, .entropy = 0.3F}}) {
        const Parameters analytic = gradient(parameters, batch, steps, options);
        for (int at = 0; at < kParameters; at += 7) {
            constexpr float kStep = 1e-2F;
            Parameters above = parameters, below = parameters;
            above[at] += kStep;
            below[at] -= kStep;
            const double numeric = (objective(above, batch, steps, options) -
                                    objective(below, batch, steps, options)) /
                                   (static_cast<double>(above[at]) - below[at]);
            ASSERT_NEAR(analytic[at], numeric, 3e-4 + 2e-2 * std::abs(numeric))
                << "parameter " << at << " entropy " << options.entropy;
        }
    }
}

// A step whose probability has changed beyond the clip, in the direction that its advantage asks
// for, says no more; in the other direction it does.
TEST(LunarLanderPpo, ClipEndsWhatAStepCanGain) {
    Random random{15};
    const Parameters parameters = some_parameters(random);
    const PpoOptions options = {.value = 0, .entropy = 0};
    for (const float by : {1.3F, 1 / 1.3F})
        for (const float advantage : {1.0F, -1.0F}) {
            Batch batch = some_batch(parameters, random, 2);
            // Two steps, so that their normalised advantages are the opposite of each other's. The
            // second one's ratio is beyond the clip for its own advantage.
            for (int at = 0; at < 2; ++at) {
                Batch::Step &step = batch.steps[at];
                const Outputs outputs = evaluate(parameters, batch.states.col(at));
                const auto logits = outputs.head<kActions>().array();
                const float now = logits[step.decision.action] - std::log(logits.exp().sum());
                const float ratio = at == 0 ? by : advantage < 0 ? 1.3F : 1 / 1.3F;
                step.decision.log_probability = now - std::log(ratio);
                step.advantage = at == 0 ? advantage : -advantage;
            }
            const bool gained = (by > 1) == (advantage > 0);
            EXPECT_EQ(gradient(parameters, batch, all_of(batch), options).isZero(), gained)
                << "ratio " << by << " advantage " << advantage;
        }
}

TEST(LunarLanderPpo, EqualAdvantagesMoveNoAction) {
    Random random{16};
    const Parameters parameters = some_parameters(random);
    Batch batch = some_batch(parameters, random, 8);
    for (Batch::Step &step : batch.steps)
        step.advantage = 3;
    const Parameters none = gradient(parameters, batch, all_of(batch), {.value = 0, .entropy = 0});
    EXPECT_TRUE(none.isZero());
}

/// Three steps; what is worth what comes after the last one is given.
Batch three_steps(bool ends, float value_after) {
    Batch batch(3);
    const float values[] = {0.5F, -0.2F, 0.1F};
    const float rewards[] = {1, 2, -3};
    for (int at = 0; at < 3; ++at)
        batch.steps.push_back({.decision = {.action = 0, .log_probability = 0, .value = values[at]},
                               .reward = rewards[at],
                               .ends = at == 2 && ends,
                               .value_after = at == 2 ? value_after : 0});
    return batch;
}

TEST(LunarLanderPpo, AdvantagesAreTheWrittenOutSum) {
    const PpoOptions options = {.discount = 0.9F, .trace = 0.8F};
    // An end (nothing comes), a step limit (what would have come has value), and a batch that is
    // full in the middle of an episode.
    for (const auto &[ends, after] : {std::pair(true, 0.0F), {true, 0.7F}, {false, 0.7F}}) {
        Batch batch = three_steps(ends, after);
        estimate(batch, 0, options);
        const float third = -3 + 0.9F * after - 0.1F;
        const float second = 2 + 0.9F * 0.1F + 0.2F;
        const float first = 1 + 0.9F * -0.2F - 0.5F;
        EXPECT_NEAR(batch.steps[2].advantage, third, 1e-5F);
        EXPECT_NEAR(batch.steps[1].advantage, second + 0.72F * third, 1e-5F);
        EXPECT_NEAR(batch.steps[0].advantage, first + 0.72F * second + 0.72F * 0.72F * third,
                    1e-5F);
        EXPECT_NEAR(batch.steps[0].expected_return, batch.steps[0].advantage + 0.5F, 1e-5F);
    }
}

TEST(LunarLanderPpo, NothingIsCarriedOverTheEndOfAnEpisode) {
    const PpoOptions options = {.discount = 0.9F, .trace = 0.8F};
    Batch one = three_steps(true, 0), two = three_steps(true, 0);
    for (int again = 0; again < 3; ++again)
        two.steps.push_back(one.steps[again]);
    estimate(one, 0, options);
    estimate(two, 0, options);
    EXPECT_EQ(one.steps[2].advantage, two.steps[2].advantage);
    EXPECT_EQ(one.steps[0].advantage, two.steps[0].advantage);
    EXPECT_EQ(one.steps[0].advantage, two.steps[3].advantage);
}

TEST(LunarLanderPlayer, PlaysOnFromWhereItWas) {
    Random random{17};
    const Parameters weights = initial_parameters(random);
    const PpoOptions options;
    Player at_once(Random{17, 1}), in_parts(Random{17, 1});
    Batch whole(600), parts(600);
    at_once.play(weights, whole, 600, false, options);
    for (int part = 0; part < 3; ++part)
        in_parts.play(weights, parts, 200, false, options);
    EXPECT_EQ(whole.states, parts.states);
    EXPECT_EQ(at_once.rewards, in_parts.rewards);
    EXPECT_FALSE(at_once.rewards.empty());
}

TEST(LunarLanderLearner, UpdateIsWhatItsEpochsChange) {
    Random random{18};
    const Parameters weights = initial_parameters(random);
    const training::Learner learn = learner({}, Random{18, 1});
    bool rewarded = false;
    for (int update = 0; update < 4; ++update) {
        const training::Experience experience = learn({weights.data(), kParameters});
        EXPECT_EQ(experience.steps, 512);
        EXPECT_TRUE(experience.gradient.allFinite());
        EXPECT_GT(experience.gradient.norm(), 0);
        EXPECT_LT(experience.gradient.cwiseAbs().maxCoeff(),
                  2147483648.0 / kPacking.scale / kPacking.max_count)
            << "fixed point holds it, 256 times";
        rewarded |= experience.mean_reward.has_value();
    }
    EXPECT_TRUE(rewarded);
}

TEST(LunarLanderLearner, SaysNoRewardBeforeAnEpisodeHasEnded) {
    Random random{19};
    const Parameters weights = initial_parameters(random);
    const training::Learner few = learner({.steps = 10}, Random{19, 1});
    EXPECT_FALSE(few({weights.data(), kParameters}).mean_reward);
    const training::Learner whole = learner({.steps = 10, .whole_episodes = true}, Random{19, 1});
    const training::Experience experience = whole({weights.data(), kParameters});
    EXPECT_TRUE(experience.mean_reward);
    EXPECT_GT(experience.steps, 10);
}

// One game, batches of 256: the prototype came to between −8 and 26 on five seeds.
class LunarLanderLearning : public testing::TestWithParam<std::uint64_t> {};

TEST_P(LunarLanderLearning, ImprovesWithinAHundredThousandSteps) {
    const std::uint64_t seed = GetParam();
    Parameters weights = first_weights(seed, 0);
    Player player(Random{seed, 1});
    const PpoOptions options;
    Ppo ppo(options);
    Batch batch(256);
    for (int steps = 0; steps < 100'000; steps += 256) {
        batch.steps.clear();
        player.play(weights, batch, 256, false, options);
        ppo.learn(weights, batch, player.random());
    }
    const auto last = player.rewards.end() - 100;
    EXPECT_GE(std::reduce(last, player.rewards.end()) / 100, -35);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LunarLanderLearning, testing::Values(1, 2, 3));

// Rules, by what is left of weights that were 1, after an update whose mean change is 0.5.

// Good for as long as `mean` is.
Contribution contribution(const std::vector<float> &mean, std::uint32_t count, double reward = 0) {
    return {.mean_gradient = mean,
            .slice = {.begin = 0, .end = static_cast<std::uint32_t>(mean.size())},
            .count = count,
            .mean_reward = reward};
}

float after(const Rule &rule, std::uint32_t count, double reward = 0) {
    std::vector<float> weights = {1, 1};
    rule(contribution({0.5F, 0.5F}, count, reward), weights);
    EXPECT_EQ(weights[0], weights[1]);
    return weights[0];
}

TEST(LunarLanderRules, MeanTakesOneStepForAnyNumber) {
    for (const std::uint32_t count : {1U, 3U, 256U})
        EXPECT_FLOAT_EQ(after(mean_rule(0.25), count), 1 + 0.25F * 0.5F) << count;
}

TEST(LunarLanderRules, GateAppliesTheSumOfWhatIsNearlyAsGoodAsTheAverage) {
    for (const std::uint32_t count : {1U, 3U, 256U}) {
        const float applied = 1 + 0.25F * 0.5F * static_cast<float>(count);
        const Rule gate = gated_rule(0.25);
        EXPECT_FLOAT_EQ(after(gate, count, -100), applied) << "the first one sets the average";
        EXPECT_FLOAT_EQ(after(gate, count, -149), applied);
        // The average is −102.45 by now.
        EXPECT_FLOAT_EQ(after(gate, count, -153), 1) << "more than 50 below it";
        EXPECT_FLOAT_EQ(after(gate, count, 100), applied);
    }
}

TEST(LunarLanderRules, GatherTakesOneStepForEachCompleteGather) {
    const auto waiting = std::make_shared<std::uint32_t>(0);
    const Rule gather = gather_rule(0.25, 4, waiting);
    std::vector<float> weights = {1};
    for (const float change : {1.0F, 2.0F, 3.0F}) {
        EXPECT_FALSE(gather(contribution({change}, 1), weights));
        EXPECT_EQ(weights[0], 1);
    }
    EXPECT_EQ(*waiting, 3U);
    EXPECT_TRUE(gather(contribution({6}, 1), weights));
    EXPECT_FLOAT_EQ(weights[0], 1 + 0.25F * 3) << "the mean of four";
    EXPECT_EQ(*waiting, 0U);
    // An aggregate of three, and one more.
    EXPECT_FALSE(gather(contribution({2}, 3), weights));
    EXPECT_TRUE(gather(contribution({6}, 1), weights));
    EXPECT_FLOAT_EQ(weights[0], 1 + 0.25F * 3 + 0.25F * 3);
}

TEST(LunarLanderRules, AnAggregateThatCompletesSeveralGathersTakesAllTheirSteps) {
    const auto waiting = std::make_shared<std::uint32_t>(0);
    const Rule gather = gather_rule(0.25, 4, waiting);
    std::vector<float> weights = {1};
    EXPECT_FALSE(gather(contribution({2}, 3), weights));
    EXPECT_TRUE(gather(contribution({2}, 6), weights));
    EXPECT_FLOAT_EQ(weights[0], 1 + 2 * 0.25F * 2) << "nine are two gathers";
    EXPECT_EQ(*waiting, 0U) << "the ninth is in their mean";
    EXPECT_TRUE(gather(contribution({2}, 256), weights));
    EXPECT_FLOAT_EQ(weights[0], 1 + 2 * 0.25F * 2 + 64 * 0.25F * 2);
}

TEST(LunarLanderRules, GatherKeepsSegmentsApart) {
    const auto waiting = std::make_shared<std::uint32_t>(0);
    const Rule gather = gather_rule(1, 2, waiting);
    std::vector<float> first = {1}, second = {1};
    const std::vector<float> eight = {8};
    Contribution of_second = contribution(eight, 1);
    of_second.segment = 1;
    of_second.segments = 2;
    EXPECT_FALSE(gather(contribution({2}, 1), first));
    EXPECT_FALSE(gather(of_second, second));
    EXPECT_TRUE(gather(contribution({4}, 1), first));
    EXPECT_FLOAT_EQ(first[0], 1 + 3);
    EXPECT_EQ(*waiting, 1U);
    EXPECT_TRUE(gather(of_second, second));
    EXPECT_FLOAT_EQ(second[0], 1 + 8);
}

// Workers and a server in one process, over loopback. With the queue between them they train in
// tests/evaluation.

ClusterSettings lander(Rule rule) {
    const Parameters first = first_weights(1, 0);
    return {.cluster = 0,
            .weights = {first.begin(), first.end()},
            .scale = kPacking.scale,
            .max_count = kPacking.max_count,
            .rule = std::move(rule),
            .max_series = 1000};
}

TEST(LunarLanderTraining, ServerMovesByTheSumOfAllChanges) {
    auto server = ParameterServer::make({.bind = *Address::resolve("127.0.0.1", 0), .mtu = kMtu});
    ASSERT_TRUE(server);
    ASSERT_TRUE(server->add_cluster(lander(async_sgd_rule(kRate))));
    // What its learner said is known here, and none of it is lost on the loopback.
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(kParameters);
    const training::Learner inner = learner({.steps = 128, .whole_episodes = true}, Random{20, 1});
    auto working = std::async(
        std::launch::async, training::work,
        training::WorkOptions{.connection = {.server = *server->local_address(),
                                             .elements = kParameters,
                                             .packing = kPacking,
                                             .mtu = kMtu},
                              .step_time = std::chrono::microseconds(1),
                              .iterations = 5},
        [&](std::span<const float> weights) {
            training::Experience experience = inner(weights);
            sum += experience.gradient.cast<double>();
            return experience;
        },
        std::stop_token());
    while (working.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        ASSERT_TRUE(server->receive(std::chrono::milliseconds(10)));
    while (*server->receive(std::chrono::milliseconds(10)) > 0) {
    }
    const auto report = working.get();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->iterations, 5U);
    EXPECT_EQ(report->rewards.size(), 5U);
    EXPECT_EQ(report->stats.updates, 5U);
    EXPECT_EQ(report->stats.clipped, 0U);
    EXPECT_EQ(server->cluster(0)->stats().folded, 5U);
    const Parameters first = first_weights(1, 0);
    for (int at = 0; at < kParameters; ++at)
        ASSERT_NEAR(server->cluster(0)->weights()[at], first[at] + kRate * sum[at], 1e-5) << at;
}

TEST(LunarLanderTraining, WorkerWithoutNumbersStopsAndSendsNothing) {
    auto server = ParameterServer::make({.bind = *Address::resolve("127.0.0.1", 0), .mtu = kMtu});
    ASSERT_TRUE(server);
    ASSERT_TRUE(server->add_cluster(lander(async_sgd_rule(kRate))));
    auto working = std::async(
        std::launch::async, training::work,
        training::WorkOptions{.connection = {.server = *server->local_address(),
                                             .worker = 3,
                                             .elements = kParameters,
                                             .packing = kPacking,
                                             .mtu = kMtu}},
        [](std::span<const float>) -> training::Experience {
            Parameters gradient = Parameters::Zero();
            gradient[7] = std::numeric_limits<float>::quiet_NaN();
            return {.gradient = gradient, .mean_reward = 1, .steps = 1};
        },
        std::stop_token());
    while (working.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        ASSERT_TRUE(server->receive(std::chrono::milliseconds(10)));
    const auto report = working.get();
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message().find("worker 3 of cluster 0"), std::string::npos)
        << report.error().message();
    EXPECT_EQ(server->cluster(0)->stats().folded, 0U);
}

TEST(LunarLanderTraining, WorkerOfAnotherModelIsToldSo) {
    auto server = ParameterServer::make({.bind = *Address::resolve("127.0.0.1", 0), .mtu = kMtu});
    ASSERT_TRUE(server);
    ASSERT_TRUE(server->add_cluster(lander(async_sgd_rule(kRate))));
    auto working = std::async(
        std::launch::async, training::work,
        training::WorkOptions{.connection = {.server = *server->local_address(),
                                             .elements = kParameters - 100,
                                             .packing = kPacking,
                                             .mtu = kMtu}},
        [](std::span<const float>) -> training::Experience {
            throw std::logic_error("no weights");
        },
        std::stop_token());
    while (working.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        ASSERT_TRUE(server->receive(std::chrono::milliseconds(10)));
    const auto report = working.get();
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message().find("another model"), std::string::npos)
        << report.error().message();
}

} // namespace
} // namespace olaf::lunar_lander
