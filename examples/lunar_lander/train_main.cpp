// SPDX-License-Identifier: BSD-2-Clause
// olaf-lunar-lander-train: the same learning in one process, without a network: does it land, after
// how many steps, and what does that cost?
#include "learner.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <ctime>
#include <numeric>

using namespace olaf::lunar_lander;

namespace {

struct Options {
    int envs = 16;
    int steps = 1024;
    long total = 2'000'000;
    std::uint64_t seed = 1;
    float target = 200;
    // The published setting for this game (rl-zoo), where one policy learns from all environments.
    PpoOptions ppo = {.discount = 0.999F, .adam = {.rate = 3e-4F}};
};

void define(CLI::App &app, Options &options) {
    app.option_defaults()->always_capture_default();
    app.add_option("--envs", options.envs, "games played by turns")->check(CLI::Range(1, 1024));
    app.add_option("--steps", options.steps, "of each between two times of learning")
        ->check(CLI::Range(1, 1 << 20));
    app.add_option("--total", options.total, "steps in all, at most")->check(CLI::PositiveNumber);
    app.add_option("--seed", options.seed, "of everything random");
    app.add_option("--target", options.target, "mean reward of 100 episodes to end at");
    app.add_option("--discount", options.ppo.discount, "of later rewards, per step");
    app.add_option("--rate", options.ppo.adam.rate, "Adam's");
    app.add_option("--minibatch", options.ppo.minibatch, "steps")->check(CLI::PositiveNumber);
}

/// Seconds of CPU time that the process has taken.
double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The mean of the last 100 episodes; none while there are fewer.
class Window {
  public:
    void add(std::deque<float> &rewards) {
        last_.insert(last_.end(), rewards.begin(), rewards.end());
        rewards.clear();
        if (last_.size() > kEpisodes)
            last_.erase(last_.begin(), last_.end() - kEpisodes);
    }
    [[nodiscard]] bool full() const { return last_.size() == kEpisodes; }
    [[nodiscard]] float mean() const {
        return std::reduce(last_.begin(), last_.end()) / static_cast<float>(last_.size());
    }

  private:
    static constexpr std::ptrdiff_t kEpisodes = 100;
    std::deque<float> last_;
};

bool train(const Options &options) {
    Parameters weights = first_weights(options.seed, 0);
    std::vector<Player> players;
    for (int id = 0; id < options.envs; ++id)
        players.emplace_back(Random{options.seed, 0, static_cast<std::uint64_t>(id), 2});
    Random order{options.seed, 1};
    Ppo ppo(options.ppo);
    const int round = options.envs * options.steps;
    Batch batch(round);
    Window window;
    double playing = 0, learning = 0;
    for (long steps = round; steps <= options.total; steps += round) {
        const double begun = cpu_seconds();
        batch.steps.clear();
        for (Player &player : players) {
            player.play(weights, batch, options.steps, false, options.ppo);
            window.add(player.rewards);
        }
        const double played = cpu_seconds();
        ppo.learn(weights, batch, order);
        playing += played - begun;
        learning += cpu_seconds() - played;
        const auto million = static_cast<double>(steps) / 1e6;
        fmt::print("{} steps: mean reward {:.1f}, {:.0f} steps/s of play, {:.1f} µs/step of "
                   "learning, {:.1f} s of CPU a million steps\n",
                   steps, window.mean(), 1e6 * million / playing, learning / million,
                   (playing + learning) / million);
        if (window.full() && window.mean() >= options.target)
            return true;
    }
    return false;
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    CLI::App app{"Learn LunarLander in one process; exits with 0 once the target is reached"};
    define(app, options);
    CLI11_PARSE(app, argc, argv);
    if (train(options))
        return 0;
    fmt::print(stderr, "the mean reward of 100 episodes has not reached {:.0f} in {} steps\n",
               options.target, options.total);
    return 1;
}
