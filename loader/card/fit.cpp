// SPDX-License-Identifier: BSD-2-Clause
#include "fit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace olaf {
namespace {

constexpr std::uint32_t lane_step = 16; ///< as make_config() rounds lanes up
constexpr std::uint64_t most_40_bits = (std::uint64_t{1} << 40) - 1;

/// "it has 8 places, and --queue asks for 9"; "" where it is enough.
std::string more_than(std::uint64_t asked, std::uint64_t has, const char *what, const char *option) {
    return asked <= has ? "" : fmt::format("it has {} {}, and {} asks for {}", has, what, option, asked);
}

std::string size_obstacle(DatapathConfig &config, const Asked &asked, const CardCapabilities &can) {
    if (!asked.clusters)
        config.max_clusters = std::max(
            1U, std::min({config.max_clusters, can.clusters, can.slots / config.max_segments}));
    if (!asked.queue || !config.queue_capacity)
        config.queue_capacity =
            std::min(2 * config.max_clusters * config.max_segments, can.places);
    if (!asked.lanes)
        config.max_lanes = std::min(config.max_lanes, can.lanes / lane_step * lane_step);
    const auto lanes = (config.max_lanes + lane_step - 1) / lane_step * lane_step;
    const auto slots = std::uint64_t{config.max_clusters} * config.max_segments;
    for (const auto &obstacle :
         {more_than(*config.queue_capacity, can.places, "places", "--queue"),
          more_than(config.max_clusters, can.clusters, "clusters", "--max-clusters"),
          more_than(slots, can.slots, "slots", "--max-clusters x --max-segments"),
          more_than(lanes, can.lanes, "lanes", "--max-lanes")})
        if (!obstacle.empty())
            return obstacle;
    return "";
}

} // namespace

std::string fit_to_card(DatapathConfig &config, const Asked &asked, const CardCapabilities &can) {
    if (config.deliver == OLAF_DELIVER_UPSTREAM && !can.has(OLAF_CARD_FEATURE_ROUTING))
        return "it sends nothing to an upstream server (--upstream)";
    if (config.window.most != 0 && !can.has(OLAF_CARD_FEATURE_WINDOW))
        return "it has no window of unacknowledged departures (--window)";
    if (config.allow_list && !can.has(OLAF_CARD_FEATURE_STRICT))
        return "it keeps no list of allowed sources (--allow)";
    if (config.strict && !can.has(OLAF_CARD_FEATURE_STRICT))
        return "it binds no workers to their addresses (--strict)";
    if (config.round_slots != 0 && !can.has(OLAF_CARD_FEATURE_JOBS))
        return "it has no jobs (--round-slots)";
    if (asked.workers && !can.has(OLAF_CARD_FEATURE_ACK_COPIES))
        return "it copies no ACKs to workers (--max-workers)";
    if (config.rate_bps != 0 && !can.has(OLAF_CARD_FEATURE_RATE))
        return "it paces nothing (--rate)";
    if (ns_per_byte_q24(config.rate_bps) > most_40_bits)
        return "its pace has 40 bits, and --rate is too slow for them";
    if (config.activity_window_ns > most_40_bits)
        return fmt::format("its activity window has 40 bits, {} s at most (--activity-window)",
                           most_40_bits / 1'000'000'000);
    return size_obstacle(config, asked, can);
}

std::string rule_obstacle(const olaf_rule &rule, const CardCapabilities &can) {
    if (rule.reward_threshold >= 0 && !can.has(OLAF_CARD_FEATURE_REWARD_FILTER))
        return "the card has no reward filter";
    return "";
}

} // namespace olaf
