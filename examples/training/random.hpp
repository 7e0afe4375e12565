// SPDX-License-Identifier: BSD-2-Clause
// One seeded stream of random numbers. The standard distributions may differ
// between libraries, so the mapping to floats is written out: a seed gives the
// same training run everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>
#include <random>

namespace olaf::training {

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    /// A stream of its own for each combination, e.g. {seed, cluster, worker}.
    Random(std::initializer_list<std::uint64_t> parts) : Random(mix(parts)) {}

    /// In [0, 1).
    float uniform() { return static_cast<float>(engine_() >> 40) * 0x1p-24F; }
    float uniform(float low, float high) { return low + (high - low) * uniform(); }
    bool chance(float probability) { return uniform() < probability; }

    /// Standard normal, by Box and Muller.
    float normal() {
        const float radius = std::sqrt(-2.0F * std::log(1.0F - uniform()));
        return radius * std::cos(2.0F * std::numbers::pi_v<float> * uniform());
    }

  private:
    // splitmix64's finaliser: neighbouring ids must not give related streams.
    static std::uint64_t mix(std::initializer_list<std::uint64_t> parts) {
        std::uint64_t state = 0;
        for (const std::uint64_t part : parts) {
            state += part + 0x9e3779b97f4a7c15U;
            state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
            state = (state ^ (state >> 27)) * 0x94d049bb133111ebU;
            state ^= state >> 31;
        }
        return state;
    }

    std::mt19937_64 engine_;
};

} // namespace olaf::training
