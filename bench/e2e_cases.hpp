// SPDX-License-Identifier: BSD-2-Clause
// The programs under test of the end-to-end benchmark, each between the
// generator and the sink.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "traffic.hpp"

namespace olaf::bench {

constexpr int cpu = 0; // everything under test runs there; the observer doesn't
constexpr std::uint32_t clusters = 9;
constexpr std::uint32_t workers = 3; // per cluster, so that one of three leaves
constexpr std::uint32_t queue_capacity = 8;

/// Where updates are when no frame is under way.
struct Ledger {
    std::uint64_t taken = 0;    ///< updates that the program under test accepted
    std::uint64_t waiting = 0;  ///< folded, not yet sent
    std::uint64_t dropped = 0;  ///< by decision, superseded ones included
    std::uint64_t departed = 0; ///< that it sent
};

class Contender {
  public:
    virtual ~Contender() = default;
    [[nodiscard]] virtual bench_config config() const = 0;
    /// After each slice: `input` updates/s came, `output` frames/s left. True if that is not the
    /// ratio wanted: the settings are changed, the slice doesn't count.
    virtual bool calibrate(double input, double output) {
        (void)input, (void)output;
        return false;
    }
    [[nodiscard]] virtual Ledger ledger() const = 0;
    /// Does it send anything?
    [[nodiscard]] virtual bool forwards() const { return true; }
};

struct E2eCase {
    std::string name;
    std::unique_ptr<Contender> (*make)(const Network &network);
};

std::vector<E2eCase> e2e_cases();

} // namespace olaf::bench
