// SPDX-License-Identifier: BSD-2-Clause
// What `olaf plan` was asked for. `olaf` reads the command line and hands this on as JSON to the
// program olaf-plan, which alone needs Clp.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace olaf {

struct PlanOptions {
    std::string topology; ///< a FILE, or the words of a generator
    std::string strategy = "auto";
    std::string root;
    std::uint64_t workers = 0; ///< 0: all hosts of a generator
    std::uint64_t bytes = 100'000'000;
    std::string sub_models; ///< a number, or a file of sizes; "": one
    std::uint64_t lanes = 0;
    std::string format = "i32x2";
    std::uint64_t pool = 64;
    std::uint64_t seed = 0;
    std::uint64_t time_limit_ns = 10'000'000'000;
    bool compare = false;
    bool print_topology = false;
    std::string picture; ///< a file; "": none
    bool json = false;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanOptions, topology, strategy, root, workers, bytes,
                                   sub_models, lanes, format, pool, seed, time_limit_ns, compare,
                                   print_topology, picture, json)

/// The words of --strategy: PlanOptions::strategy.
inline constexpr auto plan_strategies = "auto|flat|fit|rack|grow|kary|goat|goat-max|smallest-ip";

} // namespace olaf
