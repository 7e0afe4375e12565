// SPDX-License-Identifier: BSD-2-Clause
// The CartPole example, from its physics to its results.
#include <gtest/gtest.h>

#include <future>
#include <sstream>

#include "actor.hpp"
#include "environment.hpp"
#include "examples/training/results.hpp"
#include "examples/training/worker.hpp"
#include "policy.hpp"
#include "round_training.hpp"
#include "rules.hpp"
#include "simulation.hpp"
#include "tests/patience.hpp"
#include "wire.hpp"

namespace olaf::cartpole {
namespace {

using namespace std::chrono_literals;
using namespace training;

// Reference states: the equations of Gym's CartPole-v1, evaluated in double
// precision by a separate Python script.

void expect_state(const State &actual, const State &expected) {
    for (int i = 0; i < kObservations; ++i)
        EXPECT_NEAR(actual[i], expected[i], 1e-5F) << "component " << i;
}

TEST(CartPoleEnvironment, FirstPushFromRestIsAsComputedByHand) {
    // temp = 10/1.1; spin' = −temp / (0.5 · (4/3 − 0.1/1.1)); x'' = temp − 0.05 · spin' / 1.1
    Environment environment;
    environment.reset(State::Zero());
    EXPECT_EQ(environment.step(1), Status::running);
    expect_state(environment.state(), {0, 0.195121951F, 0, -0.292682927F});
    environment.reset(State::Zero());
    environment.step(0);
    expect_state(environment.state(), {0, -0.195121951F, 0, 0.292682927F});
}

TEST(CartPoleEnvironment, FollowsTheReferenceTrajectory) {
    Environment environment;
    environment.reset(State(0.01F, -0.02F, 0.03F, 0.04F));
    for (const int action : {1, 0, 0, 1})
        EXPECT_EQ(environment.step(action), Status::running);
    expect_state(environment.state(),
                 {0.008349148515F, -0.021626799199F, 0.034320397067F, 0.075911698947F});
    for (const int action : {1, 1, 0, 1})
        environment.step(action);
    expect_state(environment.state(),
                 {0.022168385081F, 0.366824086005F, 0.018297291024F, -0.470071374785F});
    EXPECT_EQ(environment.steps(), 8);
}

TEST(CartPoleEnvironment, PoleFallsAfterNinePushesToTheRight) {
    Environment environment;
    environment.reset(State::Zero());
    for (int step = 1; step < 9; ++step)
        ASSERT_EQ(environment.step(1), Status::running) << "step " << step;
    EXPECT_EQ(environment.step(1), Status::terminated);
    EXPECT_LT(environment.state()[2], -Environment::kAngleLimit);
}

TEST(CartPoleEnvironment, EndsWhereTheTrackEnds) {
    Environment environment;
    environment.reset(State(2.39F, 0.4F, 0, 0));
    EXPECT_EQ(environment.step(0), Status::running); // 2.398: the old velocity moves the cart
    environment.reset(State(2.39F, 0.6F, 0, 0));
    EXPECT_EQ(environment.step(0), Status::terminated); // 2.402
    environment.reset(State(-2.39F, -0.6F, 0, 0));
    EXPECT_EQ(environment.step(1), Status::terminated);
}

TEST(CartPoleEnvironment, CutsOffAtFiveHundredSteps) {
    // A hand-made controller: push to where the pole is falling, leaning back to the centre.
    Environment environment;
    environment.reset(State(0.01F, 0, 0.01F, 0));
    Status status = Status::running;
    while (status == Status::running) {
        const State &s = environment.state();
        status = environment.step(0.05F * s[0] + 0.1F * s[1] + s[2] + 0.3F * s[3] > 0 ? 1 : 0);
    }
    EXPECT_EQ(status, Status::truncated);
    EXPECT_EQ(environment.steps(), kMaxEpisode);
}

TEST(CartPoleEnvironment, StartsNearUprightAndRepeatsBySeed) {
    Random first{7, 1, 2}, again{7, 1, 2}, other{7, 2, 1};
    Environment environment;
    const State state = environment.reset(first);
    EXPECT_LE(state.cwiseAbs().maxCoeff(), 0.05F);
    EXPECT_EQ(environment.reset(again), state);
    EXPECT_NE(environment.reset(other), state);
}

// Weights far from the start, where every term of the gradient matters.
Parameters some_parameters(Random &random) {
    Parameters parameters;
    for (float &parameter : parameters)
        parameter = 0.5F * random.normal();
    return parameters;
}

Batch some_batch(Random &random, int steps) {
    Batch batch;
    for (int step = 0; step < steps; ++step) {
        batch.states.push_back({random.uniform(-2, 2), random.uniform(-2, 2),
                                random.uniform(-0.2F, 0.2F), random.uniform(-2, 2)});
        batch.actions.push_back(random.chance(0.5F) ? 1 : 0);
        batch.advantages.push_back(random.normal());
        batch.returns.push_back(random.uniform(0, 1));
    }
    return batch;
}

TEST(CartPolePolicy, FitsOneFrame) {
    // 1500 − 20 IP − 8 UDP − 48 header = 178 lanes; two parameters a lane and the checksum.
    EXPECT_LE((kParameters + 1) / 2 + 1, 178);
}

TEST(CartPolePolicy, GradientIsTheDerivativeOfTheObjective) {
    Random random{3};
    const Parameters parameters = some_parameters(random);
    const Batch batch = some_batch(random, 20);
    for (const Objective &weights :
         {Objective{.value = 0, .entropy = 0}, Objective{.value = 1, .entropy = 0},
          Objective{.value = 0.5F, .entropy = 0.3F}}) {
        const Parameters analytic = gradient(parameters, batch, weights);
        for (int i = 0; i < kParameters; ++i) {
            constexpr float kStep = 1e-2F;
            Parameters above = parameters, below = parameters;
            above[i] += kStep;
            below[i] -= kStep;
            const double numeric =
                (objective(above, batch, weights) - objective(below, batch, weights)) /
                (static_cast<double>(above[i]) - below[i]);
            ASSERT_NEAR(analytic[i], numeric, 2e-4 + 1e-2 * std::abs(numeric))
                << "parameter " << i << " entropy " << weights.entropy;
        }
    }
}

TEST(CartPolePolicy, DecidesAsTheObjectiveSeesIt) {
    // The objective of one step with advantage 1 is the log-probability of its action.
    Random random{4};
    const Parameters parameters = some_parameters(random);
    Batch batch = some_batch(random, 1);
    batch.advantages[0] = 1;
    const Decision decision = decide(parameters, batch.states[0]);
    batch.actions[0] = 1;
    EXPECT_NEAR(objective(parameters, batch, {.value = 0, .entropy = 0}),
                std::log(decision.push_right), 1e-5);
    batch.advantages[0] = 0;
    batch.returns[0] = decision.value + 2;
    EXPECT_NEAR(objective(parameters, batch, {.value = 1, .entropy = 0}), -2, 1e-5);
}

TEST(CartPolePolicy, StaysFiniteWhenCertain) {
    Random random{5};
    const Parameters parameters = 100 * some_parameters(random);
    const Batch batch = some_batch(random, 50);
    EXPECT_TRUE(gradient(parameters, batch, {}).allFinite());
    EXPECT_TRUE(std::isfinite(objective(parameters, batch, {})));
}

TEST(CartPolePolicy, ClipsTheNormAndKeepsTheDirection) {
    Parameters vector = Parameters::Zero();
    vector[0] = 3;
    vector[1] = -4;
    EXPECT_FLOAT_EQ(clip_norm(vector, 0.5F), 5);
    EXPECT_FLOAT_EQ(vector[0], 0.3F);
    EXPECT_FLOAT_EQ(vector[1], -0.4F);
    EXPECT_FLOAT_EQ(clip_norm(vector, 1), 0.5F);
    EXPECT_FLOAT_EQ(vector[0], 0.3F) << "already short enough";
}

TEST(CartPoleActor, OneEpisodeIsOneUpdate) {
    Random random{6};
    const Parameters parameters = initial_parameters(random);
    Actor actor({}, Random{6, 1});
    for (int update = 0; update < 20; ++update) {
        const Experience experience = actor.experience(parameters);
        EXPECT_EQ(experience.mean_reward, static_cast<float>(experience.steps));
        EXPECT_GE(experience.steps, 8); // no pole falls faster
        EXPECT_TRUE(experience.gradient.allFinite());
        EXPECT_LE(experience.gradient.norm(), ActorOptions{}.clip * 1.0001F);
    }
}

TEST(CartPoleActor, PlaysWholeEpisodesUntilEnoughSteps) {
    Random random{8};
    const Parameters parameters = initial_parameters(random);
    Actor actor({.min_steps = 300, .objective = {}}, Random{8, 1});
    const Experience experience = actor.experience(parameters);
    EXPECT_GE(experience.steps, 300);
    EXPECT_LT(experience.mean_reward, 200);
}

Contribution contribution(const Parameters &gradient, std::uint32_t count) {
    return {.mean_gradient = {gradient.data(), kParameters},
            .slice = {.begin = 0, .end = kParameters},
            .count = count};
}

TEST(CartPoleAdam, FirstStepIsTheRateInTheGradientsDirection) {
    Parameters weights = Parameters::Zero();
    Parameters gradient = Parameters::Constant(0.2F);
    gradient[1] = -0.4F;
    const Rule rule = adam_rule(0.01);
    EXPECT_TRUE(rule(contribution(gradient, 1), {weights.data(), kParameters}));
    EXPECT_NEAR(weights[0], 0.01F, 1e-5F);
    EXPECT_NEAR(weights[1], -0.01F, 1e-5F);
}

TEST(CartPoleAdam, AnAggregateMovesAsFarAsItsUpdates) {
    const Parameters gradient = Parameters::Constant(0.1F);
    Parameters singly = Parameters::Zero(), at_once = Parameters::Zero();
    const Rule single_rule = adam_rule(0.01), aggregate_rule = adam_rule(0.01);
    for (int update = 0; update < 4; ++update)
        single_rule(contribution(gradient, 1), {singly.data(), kParameters});
    aggregate_rule(contribution(gradient, 4), {at_once.data(), kParameters});
    EXPECT_NEAR(at_once[0], singly[0], 1e-4F);
    // Both remember the same: the next update moves them alike.
    single_rule(contribution(-gradient, 1), {singly.data(), kParameters});
    aggregate_rule(contribution(-gradient, 1), {at_once.data(), kParameters});
    EXPECT_NEAR(at_once[0], singly[0], 1e-4F);
}

TEST(CartPoleAdam, RejectsAPartOfAModel) {
    const Parameters gradient = Parameters::Ones();
    Parameters weights = Parameters::Zero();
    EXPECT_FALSE(adam_rule(0.01)(contribution(gradient, 1), {weights.data(), 10}));
    EXPECT_TRUE(weights.isZero());
}

TEST(CartPoleWire, NoGradientEverSaturates) {
    Parameters gradient = Parameters::Zero();
    gradient[0] = ActorOptions{}.clip; // the worst case: all of the norm in one element
    gradient[1] = -ActorOptions{}.clip;
    for (const auto &[name, format] : kFormatNames) {
        const Packing packing = packing_for(format);
        ASSERT_TRUE(validate(packing)) << name;
        std::vector<std::uint64_t> lanes(lanes_for(format, kParameters));
        const auto report = pack(packing, {gradient.data(), kParameters}, lanes);
        ASSERT_TRUE(report) << name;
        EXPECT_EQ(report->clipped, 0U) << name;
    }
}

// Does it learn? In virtual time, so a second of training takes milliseconds.

constexpr int kSeeds = 5;

// 9 clusters of 3 workers share a link that carries 30 % of their updates: a FIFO
// queue loses the rest and makes what it delivers wait; one that folds loses nothing.
constexpr Path kIdle = {.delay_s = 0.002, .ack_everyone = true};
constexpr Path kFifo = {.loss = 0.7F, .delay_s = 0.3, .ack_everyone = true};
constexpr Path kFolding = {.delay_s = 0.01, .departure_s = 0.033, .ack_everyone = true};

SimulationOptions over(const Path &path, std::uint64_t seed) {
    return {.seed = seed, .stop_at_target = true, .path = path, .actor = {}};
}

class Learning : public testing::TestWithParam<Path> {};

TEST_P(Learning, ReachesTheTargetWithinAMinute) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const SimulationResult result = simulate(over(GetParam(), seed));
        EXPECT_TRUE(result.reached_s) << "seed " << seed << ", at " << result.final_mean;
    }
}

INSTANTIATE_TEST_SUITE_P(Paths, Learning, testing::Values(kIdle, kFifo, kFolding),
                         [](const auto &path) {
                             return path.index == 0 ? "idle" : path.index == 1 ? "fifo" : "folding";
                         });

TEST(CartPoleLearning, FoldingBeatsLosing) {
    double fifo = 0, folding = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        fifo += simulate(over(kFifo, seed)).reached_s.value_or(60);
        folding += simulate(over(kFolding, seed)).reached_s.value_or(60);
    }
    EXPECT_LT(folding, fifo / 2);
}

// 16 bits take as many updates to the target as 32, with the scale that the gradients' own largest
// element asks for.
TEST(CartPoleLearning, SixteenBitsLearnInAsManyUpdatesAsThirtyTwo) {
    constexpr std::uint64_t seeds = 20; // runs differ by half their mean
    unsigned wide = 0, narrow = 0;
    float largest = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SimulationOptions options = over(kFolding, seed);
        options.packing = packing_for(Format::i32x2);
        const SimulationResult result = simulate(options);
        EXPECT_TRUE(result.reached_s) << "seed " << seed;
        wide += result.folded;
        largest = std::max(largest, result.largest_element);
    }
    Packing packing = packing_for(Format::i16x4);
    packing.scale = fitting_scale(packing, largest, 1).value();
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SimulationOptions options = over(kFolding, seed);
        options.packing = packing;
        const SimulationResult result = simulate(options);
        EXPECT_TRUE(result.reached_s) << "seed " << seed;
        EXPECT_EQ(result.clipped, 0U) << "seed " << seed;
        narrow += result.folded;
    }
    EXPECT_LT(narrow, 1.25 * wide);
}

// With so few steps to a unit that rounding to nearest leaves almost nothing of a gradient.
TEST(CartPoleLearning, ErrorFeedbackAndStochasticRoundingLearnWhereRoundingToNearestDoesNot) {
    SimulationOptions options = over(kFolding, 1);
    options.duration_s = 30;
    options.packing = {.format = Format::i16x4, .scale = 16, .max_count = 256};
    EXPECT_FALSE(simulate(options).reached_s);
    options.rounding = {.error_feedback = true};
    EXPECT_TRUE(simulate(options).reached_s);
    options.rounding = {.stochastic = true};
    EXPECT_TRUE(simulate(options).reached_s);
}

TEST(CartPoleLearning, RefusesAPackingThatHoldsNoSums) {
    SimulationOptions options = over(kIdle, 1);
    options.packing = {.format = Format::f32x2};
    EXPECT_THROW(simulate(options), std::runtime_error);
}

TEST(CartPoleLearning, KeepsWhatItLearned) {
    SimulationOptions options = over(kIdle, 1);
    options.stop_at_target = false;
    options.duration_s = 20;
    EXPECT_GT(simulate(options).mean_after, 440);
}

TEST(CartPoleLearning, RepeatsBySeed) {
    SimulationOptions options = over(kFolding, 3);
    options.duration_s = 2;
    const SimulationResult first = simulate(options);
    const SimulationResult second = simulate(options);
    EXPECT_EQ(first.steps, second.steps);
    EXPECT_EQ(first.final_mean, second.final_mean);
    EXPECT_LT(first.received, first.folded) << "some updates were folded";
}

TEST(CartPoleLearningCurve, AveragesTheLastUpdatesByCount) {
    LearningCurve curve(100, 4);
    EXPECT_EQ(curve.mean(), 0);
    curve.add(1, 200, 2);
    EXPECT_EQ(curve.mean(), 200);
    EXPECT_FALSE(curve.reached()) << "half a window says nothing";
    curve.add(2, 50, 1);
    curve.add(3, 30, 1);
    EXPECT_EQ(curve.mean(), 120);
    EXPECT_EQ(curve.reached(), 3);
    curve.add(4, 30, 2); // pushes the first out
    EXPECT_EQ(curve.mean(), 35);
    EXPECT_EQ(curve.reached(), 3) << "the first time counts";
}

// A worker and a server in one process over loopback, and the files about it.

TEST(CartPoleTraining, WorkerAndServerAgreeOnWhatWasSent) {
    auto server = ParameterServer::make({.bind = *Address::resolve("127.0.0.1", 0)});
    ASSERT_TRUE(server);
    const Packing packing = packing_for(Format::i32x2);
    const Parameters first = first_weights(1, 0);
    ASSERT_TRUE(server->add_cluster({.cluster = 0,
                                     .weights = {first.begin(), first.end()},
                                     .scale = packing.scale,
                                     .max_count = packing.max_count,
                                     .rule = make_rule(RuleName::adam),
                                     .max_series = 1000}));
    std::stop_source stop;
    auto training = std::async(std::launch::async, work,
                               WorkOptions{.connection = {.server = *server->local_address(),
                                                          .elements = kParameters,
                                                          .packing = packing},
                                           .interval = 5ms},
                               learner({}, {1, 0, 0, 2}), stop.get_token());
    Progress progress(*server, 1, 400);
    while (server->cluster(0)->stats().messages < 20 && server->stats().datagrams < 1000)
        ASSERT_TRUE(server->receive(1s));
    stop.request_stop();
    if (training.wait_for(olaf::test::patience) != std::future_status::ready)
        throw olaf::test::WaitRanOut("workers that were stopped end");
    const auto report = training.get();
    while (*server->receive(10ms) > 0) {
    }
    progress.update();

    ASSERT_TRUE(report);
    EXPECT_EQ(report->stats.updates, server->cluster(0)->stats().folded);
    EXPECT_GT(report->stats.acks, 0U);
    EXPECT_EQ(report->stats.clipped, 0U);

    const std::string json =
        summary_json(progress, server->stats(), {.rule = "adam", .measure = "episode_length"});
    EXPECT_NE(json.find("\"updates_folded\": " + std::to_string(report->stats.updates)),
              std::string::npos);
    EXPECT_NE(json.find("\"time_to_target_s\": null"), std::string::npos) << json;
    EXPECT_NE(json.find("\"checksum_failures\": 0"), std::string::npos);
}

TEST(CartPoleResults, SawtoothHasBothPointsOfAJump) {
    auto server = ParameterServer::make({.bind = *Address::resolve("127.0.0.1", 0)});
    ASSERT_TRUE(server);
    ASSERT_TRUE(
        server->add_cluster({.weights = {0, 0}, .rule = async_sgd_rule(), .max_series = 9}));
    auto worker = Worker::make({.server = *server->local_address(), .elements = 2});
    ASSERT_TRUE(worker);
    const std::vector<float> gradient = {1, 2};
    for (const double reward : {30.0, 50.0}) {
        ASSERT_TRUE(worker->push(gradient, reward, 1));
        ASSERT_EQ(server->receive(1s), 1U);
    }
    Progress progress(*server, 1, 400);
    progress.update();
    const auto &series = server->cluster(0)->series();
    const double apart = progress.seconds(series[1].time_ns);

    std::istringstream aom(aom_csv(progress));
    std::string header;
    std::getline(aom, header);
    EXPECT_EQ(header, "time_s,cluster,aom_ms");
    double time[3], age[3];
    char comma;
    int cluster;
    for (int row = 0; row < 3; ++row)
        ASSERT_TRUE(aom >> time[row] >> comma >> cluster >> comma >> age[row]);
    EXPECT_EQ(time[0], 0);
    EXPECT_EQ(time[1], time[2]);
    EXPECT_NEAR(age[1], age[0] + 1e3 * apart, 0.01) << "the peak is what the age grew to";
    EXPECT_LE(age[2], age[1]);

    std::istringstream learning(learning_csv(progress, {}));
    std::string line;
    for (int row = 0; row < 3; ++row)
        std::getline(learning, line);
    EXPECT_TRUE(line.ends_with(",0,40.00")) << line;
}

// Training in rounds over loopback sockets. Each worker is the server's own child here, so every
// sum has a gradient of each; tests/netns has it with a threshold, in a node.

constexpr std::uint32_t kWorkers = 3;

struct Trained {
    Result<RoundServed> served;
    std::vector<Result<RoundWorked>> worked;
};

Trained train(float target, std::uint32_t staleness) {
    const RoundJob job = {.workers = kWorkers};
    std::promise<Address> bound;
    auto serving = std::async(std::launch::async, [&] {
        return serve_rounds({.job = job,
                             .bind = Address::resolve("127.0.0.1", 0).value(),
                             .children = kWorkers,
                             .target = target,
                             .over = [] { return false; },
                             .bound = [&](const Address &at) { bound.set_value(at); },
                             .silence = std::chrono::milliseconds(300)});
    });
    const Address node = bound.get_future().get();
    std::vector<std::future<Result<RoundWorked>>> working;
    for (std::uint32_t rank = 0; rank < kWorkers; rank++)
        working.push_back(std::async(std::launch::async, [&, rank] {
            return work_in_rounds(
                {.job = job, .node = node, .rank = rank, .staleness = staleness, .over = [] {
                     return false;
                 }});
        }));
    Trained trained = {.served = serving.get(), .worked = {}};
    for (auto &worker : working)
        trained.worked.push_back(worker.get());
    return trained;
}

TEST(CartPoleRounds, WorkersLearnAndAllEndWithTheSameWeights) {
    const Trained trained = train(60, 1);
    ASSERT_TRUE(trained.served) << trained.served.error().message();
    EXPECT_TRUE(trained.served->reached_s);
    EXPECT_EQ(trained.served->gradients, kWorkers * trained.served->rounds);
    for (const auto &worked : trained.worked) {
        ASSERT_TRUE(worked) << worked.error().message();
        EXPECT_TRUE(worked->trained);
        EXPECT_EQ(worked->version, trained.served->rounds);
        EXPECT_EQ(worked->stats.committed, trained.served->rounds);
        EXPECT_EQ(worked->stats.stalest, 1U) << "one is computed while the last one is summed";
    }
}

// Without slack only what was computed on the newest weights counts: every other gradient.
TEST(CartPoleRounds, WithABoundOfNothingItStillGoesOn) {
    const Trained trained = train(25, 0);
    ASSERT_TRUE(trained.served) << trained.served.error().message();
    for (const auto &worked : trained.worked) {
        ASSERT_TRUE(worked) << worked.error().message();
        EXPECT_EQ(worked->stats.stalest, 0U);
        EXPECT_GE(worked->stats.too_stale + 1, worked->stats.committed);
    }
}

} // namespace
} // namespace olaf::cartpole
