// SPDX-License-Identifier: BSD-2-Clause
#include "simulation.hpp"

#include "examples/training/learning_curve.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <stdexcept>

namespace olaf::cartpole {
namespace {

template <class T> T value_of(Result<T> result) {
    if (!result)
        throw std::runtime_error(result.error().message());
    return std::move(*result);
}

/// An update on its way, possibly of several folded ones: sums, as on the wire.
struct Update {
    Parameters gradient = Parameters::Zero();
    std::vector<std::uint64_t> lanes = {}; // what travels in its place, in fixed point
    unsigned worker = 0;
    unsigned count = 0;
    float reward = 0;
    unsigned version = ~0U;

    void fold(const Update &other) {
        gradient += other.gradient;
        lanes.resize(other.lanes.size());
        for (std::size_t lane = 0; lane < lanes.size(); ++lane)
            lanes[lane] += other.lanes[lane];
        worker = other.worker;
        count += other.count;
        reward += other.reward;
        version = std::min(version, other.version);
    }
};

struct Worker {
    Actor actor;
    std::optional<Encoder> encoder;
    Parameters weights;
    unsigned version = 0;
};

class Simulation {
  public:
    explicit Simulation(const SimulationOptions &options)
        : options_(options), network_{options.seed, 1000}, curve_(options.target),
          rule_(make_rule(options.rule, options.rate)) {
        Random initial{options.seed};
        weights_ = initial_parameters(initial);
        for (unsigned id = 0; id < options.workers; ++id) {
            workers_.push_back(
                {Actor(options.actor, Random{options.seed, id}), encoder_of(id), weights_});
            at(options.interval_s * network_.uniform(), [this, id] { work(id); });
        }
        if (options.path.departure_s > 0)
            at(options.path.departure_s, [this] { depart(); });
    }

    SimulationResult run() {
        while (!events_.empty() && events_.top().time <= options_.duration_s) {
            const Event event = events_.top();
            events_.pop();
            now_ = event.time;
            event.action();
            if (options_.stop_at_target && curve_.reached())
                break;
        }
        result_.reached_s = curve_.reached();
        result_.final_mean = curve_.mean();
        result_.mean_staleness /= std::max(result_.received, 1U);
        result_.mean_after /= std::max(after_, 1U);
        return result_;
    }

  private:
    struct Event {
        double time;
        unsigned order; // of scheduling: breaks ties, so that runs repeat
        std::function<void()> action;
        bool operator<(const Event &other) const {
            return std::tie(other.time, other.order) < std::tie(time, order);
        }
    };

    void at(double time, std::function<void()> action) {
        events_.push({time, order_++, std::move(action)});
    }

    void work(unsigned id) {
        Worker &worker = workers_[id];
        const Experience experience = worker.actor.experience(worker.weights);
        result_.steps += experience.steps;
        result_.largest_element =
            std::max(result_.largest_element, experience.gradient.cwiseAbs().maxCoeff());
        send({experience.gradient, pack(worker, experience.gradient), id, 1,
              *experience.mean_reward, worker.version});
        // Real workers drift apart; without jitter they would send in lockstep.
        at(now_ + options_.interval_s * network_.uniform(0.9F, 1.1F), [this, id] { work(id); });
    }

    std::optional<Encoder> encoder_of(unsigned id) const {
        if (!options_.packing)
            return {};
        Rounding rounding = options_.rounding;
        rounding.seed = rounding.seed.value_or(options_.seed) << 16 | id;
        return value_of(Encoder::make(*options_.packing, rounding, kParameters));
    }

    /// The lanes of a gradient; none where gradients travel as they are.
    std::vector<std::uint64_t> pack(Worker &worker, const Parameters &gradient) {
        if (!worker.encoder)
            return {};
        std::vector<std::uint64_t> lanes(lanes_for(options_.packing->format, kParameters));
        result_.clipped +=
            value_of(worker.encoder->pack(0, {gradient.data(), kParameters}, lanes)).clipped;
        return lanes;
    }

    Parameters average_of(const Update &update) const {
        if (!options_.packing)
            return update.gradient / static_cast<float>(update.count);
        Parameters average;
        const double factor = 1 / (options_.packing->scale * update.count);
        if (const auto unpacked = unpack(options_.packing->format, factor, update.lanes,
                                         {average.data(), kParameters});
            !unpacked)
            throw std::runtime_error(unpacked.error().message());
        return average;
    }

    void send(const Update &update) {
        ++result_.sent;
        if (network_.chance(options_.path.loss))
            return;
        if (options_.path.departure_s <= 0)
            return deliver(update);
        // A queue never folds more than the format has room for: what is full is closed.
        if (options_.packing && waiting_.count == options_.packing->max_count) {
            deliver(waiting_);
            waiting_ = {};
        }
        waiting_.fold(update);
    }

    void depart() {
        if (waiting_.count > 0)
            deliver(waiting_);
        waiting_ = {};
        at(now_ + options_.path.departure_s, [this] { depart(); });
    }

    void deliver(const Update &update) {
        const double delay = options_.path.delay_s * network_.uniform(0.5F, 1.5F);
        at(now_ + delay, [this, update] { serve(update); });
    }

    void serve(const Update &update) {
        const auto count = static_cast<float>(update.count);
        const Parameters average = average_of(update);
        const float reward = update.reward / count;
        ++result_.received;
        result_.folded += update.count;
        result_.mean_staleness += version_ - update.version;
        const Contribution contribution = {
            .mean_gradient = {average.data(), kParameters},
            .slice = {.begin = 0, .end = kParameters},
            .count = update.count,
            .mean_reward = reward,
            .worker = update.worker,
            .model_version = update.version,
        };
        if (rule_(contribution, {weights_.data(), kParameters}))
            ++version_;
        curve_.add(now_, reward, update.count);
        if (curve_.reached()) {
            result_.mean_after += curve_.mean();
            ++after_;
        }
        at(now_ + options_.path.ack_delay_s,
           [this, sender = update.worker, weights = weights_, version = version_] {
               for (unsigned id = 0; id < workers_.size(); ++id)
                   if (options_.path.ack_everyone || id == sender)
                       pick_up(workers_[id], weights, version);
           });
    }

    static void pick_up(Worker &worker, const Parameters &weights, unsigned version) {
        if (version < worker.version)
            return; // overtaken by newer weights
        worker.weights = weights;
        worker.version = version;
    }

    SimulationOptions options_;
    Random network_;
    training::LearningCurve curve_;
    Rule rule_;
    Parameters weights_;
    unsigned version_ = 0;
    std::vector<Worker> workers_;
    Update waiting_;
    std::priority_queue<Event> events_;
    unsigned order_ = 0;
    double now_ = 0;
    unsigned after_ = 0; // updates received since the target was reached
    SimulationResult result_;
};

} // namespace

SimulationResult simulate(const SimulationOptions &options) {
    return Simulation(options).run();
}

} // namespace olaf::cartpole
