// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "network.hpp"
#include "support.hpp"

namespace olaf::bench {

/// Counts what reaches the device under test, for programs that keep no count themselves.
class Arrivals {
  public:
    explicit Arrivals(const Network &network) : dut_(network.dut), start_(now()) {}
    [[nodiscard]] std::uint64_t count() const { return now() - start_; }

  private:
    [[nodiscard]] std::uint64_t now() const { return must(counters(dut_)).received; }

    Network::Device dut_;
    std::uint64_t start_;
};

} // namespace olaf::bench
