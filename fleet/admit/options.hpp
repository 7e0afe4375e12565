// SPDX-License-Identifier: BSD-2-Clause
// What `olaf admit` was asked. `olaf` reads the command line and hands this on as JSON to the
// program olaf-admit, which alone needs Z3.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace olaf {

/// "ID:INTERVAL[±JITTER]:BYTES"
struct AdmitCluster {
    std::uint32_t id = 0;
    std::uint64_t interval_ns = 0, jitter_ns = 0, bytes = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AdmitCluster, id, interval_ns, jitter_ns, bytes)

/// "RATE[:PLACES[:IDS[:DELAY]]]"
struct AdmitHop {
    std::uint64_t rate_bps = 0;
    std::uint64_t places = 0;       ///< 0: as many as there can be
    std::vector<std::uint32_t> ids; ///< empty: every cluster
    std::uint64_t delay_ns = 100'000;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AdmitHop, rate_bps, places, ids, delay_ns)

/// "peak<=500ms", "fairness<=100ms", "loss=0"
struct AdmitObjective {
    std::string kind;
    std::uint64_t most_ns = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AdmitObjective, kind, most_ns)

struct AdmitOptions {
    std::vector<AdmitCluster> clusters;
    std::vector<AdmitHop> hops;
    AdmitObjective objective;
    std::uint64_t mtu = 1500;
    std::uint64_t seed = 0;
    std::uint64_t time_limit_ns = 10'000'000'000;
    bool json = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AdmitOptions, clusters, hops, objective, mtu, seed,
                                   time_limit_ns, json)

} // namespace olaf
