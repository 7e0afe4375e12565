// SPDX-License-Identifier: BSD-2-Clause
// The same draws from the same seed, with every compiler: the standard's engines are exact, its
// distributions aren't.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace olaf::fleet {

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine(seed) {}
    /// 0 … below − 1, each as likely as any other.
    std::uint64_t below(std::uint64_t below) {
        const auto least = -below % below; // of 2^64, so that what is left is a multiple
        for (;;)
            if (const auto drawn = engine(); drawn >= least)
                return drawn % below;
    }
    /// 0 ≤ x < 1.
    double part() { return static_cast<double>(engine() >> 11) * 0x1p-53; }
    /// So many of `all`, in the order in which they stand there.
    template <class T> std::vector<T> sample(const std::vector<T> &all, std::size_t count) {
        std::vector<T> some;
        some.reserve(count);
        for (std::size_t i = 0; i < all.size() && count > 0; ++i)
            if (below(all.size() - i) < count) {
                some.push_back(all[i]);
                --count;
            }
        return some;
    }

  private:
    std::mt19937_64 engine;
};

} // namespace olaf::fleet
