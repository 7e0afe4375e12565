// SPDX-License-Identifier: BSD-2-Clause
#include "config.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "olaf/rounds.h"
#include "olaf/try.hpp"
#include "olaf/window.h"

namespace olaf {
namespace {

#define OLAF_NAME(constant, name, folds) #name,
constexpr std::array<std::string_view, OLAF_POLICIES> policies{OLAF_POLICY_LIST(OLAF_NAME)};
#undef OLAF_NAME

constexpr std::uint32_t lane_step = 16;
constexpr std::uint64_t lowest_rate = 1'000;              // bits/s: 8 ms a byte
constexpr std::uint64_t highest_rate = 1'000'000'000'000; // ns_per_byte_q24 keeps 17 bits
constexpr std::uint64_t least_interval = 10'000, most_interval = 1'000'000'000;
constexpr std::uint64_t least_window = 1'000'000, most_window = 3'600'000'000'000;
constexpr std::uint32_t most_slots = OLAF_MAX_SLOTS;
/// Entries besides Qmax, for updates that are being copied out: about one a CPU.
constexpr std::uint32_t most_leaving = 256;
constexpr std::uint64_t least_silence = 100'000'000, most_silence = 86'400'000'000'000;

template <class T>
Result<void> in_range(std::string_view what, T value, T least, T most, std::string_view unit = {}) {
    if (value >= least && value <= most)
        return {};
    return fail("accept", fmt::format("{} {}", what, value), 0,
                fmt::format("give {} ... {}{}", least, most, unit), "out of range");
}

Result<void> check(const DatapathConfig &asked) {
    const std::uint64_t slots = std::uint64_t{asked.max_clusters} * asked.max_segments;
    const std::uint64_t members = std::uint64_t{asked.max_clusters} * asked.max_workers.value_or(1);
    for (const auto &result : {
             in_range<std::uint32_t>("port", asked.port, 1, 65535),
             in_range<std::uint32_t>("max-clusters", asked.max_clusters, 1, most_slots),
             in_range<std::uint32_t>("max-segments", asked.max_segments, 1, 65535),
             in_range<std::uint64_t>("max-clusters x max-segments", slots, 1, most_slots),
             in_range<std::uint32_t>("max-lanes", asked.max_lanes, 1, OLAF_MAX_LANES),
             in_range<std::uint32_t>("queue", asked.queue_capacity.value_or(1), 1,
                                     OLAF_MAX_PLACES / 2),
             in_range("rate", asked.rate_bps == 0 ? lowest_rate : asked.rate_bps, lowest_rate,
                      highest_rate, " bit/s"),
             in_range<std::uint32_t>("window", asked.window.most, 0, OLAF_MAX_WINDOW),
             in_range("drain-interval", asked.drain_interval_ns, least_interval, most_interval,
                      " ns"),
             in_range<std::uint32_t>("max-workers", asked.max_workers.value_or(1), 1, 65536),
             in_range<std::uint64_t>("max-clusters x max-workers", members, 1, OLAF_MOST_MEMBERS),
             in_range<std::uint32_t>("round-slots", asked.round_slots, 0, OLAF_MAX_ROUND_SLOTS),
             in_range("member-timeout", asked.member_timeout_ns, least_silence, most_silence,
                      " ns"),
             in_range("activity-window", asked.activity_window_ns, least_window, most_window,
                      " ns"),
         })
        if (!result)
            return result;
    if (asked.policy >= OLAF_POLICIES)
        return fail("accept", fmt::format("policy {}", int{asked.policy}), EINVAL);
    if (asked.deliver != OLAF_DELIVER_LOCAL && asked.egress_ifindex == 0)
        return fail("deliver", "updates", 0, "name one", "no output device");
    if (asked.deliver == OLAF_DELIVER_UPSTREAM &&
        (asked.upstream.family == 0 || asked.source.family != asked.upstream.family))
        return fail("deliver", "updates upstream", 0, {}, "no address, or two families");
    return {};
}

Result<std::uint64_t> draw_secret() {
    std::uint64_t secret = 0;
    while (secret == 0)
        if (::getrandom(&secret, sizeof secret, 0) != sizeof secret)
            return fail("draw", "the token's secret", errno);
    return secret;
}

std::uint32_t flags_of(const DatapathConfig &asked) {
    return (asked.skb_mode ? OLAF_CONFIG_SKB_MODE : 0u) |
           (asked.allow_list ? OLAF_CONFIG_ALLOW_LIST : 0u) |
           (asked.strict ? OLAF_CONFIG_STRICT : 0u) |
           (asked.tags_hidden ? OLAF_CONFIG_TAGS_HIDDEN : 0u) |
           (asked.output_sums ? OLAF_CONFIG_OUTPUT_SUMS : 0u) |
           (asked.verify ? OLAF_CONFIG_VERIFY : 0u) |
           (asked.back_by_redirect ? OLAF_CONFIG_BACK_BY_REDIRECT : 0u) |
           (asked.window.automatic ? OLAF_CONFIG_WINDOW_AUTO : 0u) |
           (asked.deliver == OLAF_DELIVER_FORWARD && asked.bridge ? OLAF_CONFIG_BRIDGE : 0u) |
           (asked.output_program ? 0u : OLAF_CONFIG_NO_OUTPUT_PROGRAM) |
           (asked.meter ? 0u : OLAF_CONFIG_NO_METER);
}

} // namespace

Result<olaf_config> make_config(const DatapathConfig &asked) {
    OLAF_TRY(check(asked));

    olaf_config config{};
    config.layout = OLAF_LAYOUT;
    config.flags = flags_of(asked);
    config.deliver = asked.deliver;
    config.ifindex = asked.ifindex;
    config.egress_ifindex = asked.egress_ifindex;
    config.egress_mtu = asked.deliver == OLAF_DELIVER_LOCAL ? 0 : asked.egress_mtu;
    config.drain_ifindex = asked.drain_ifindex;
    config.kick_ifindex = asked.kick_ifindex;
    config.port_be = htons(asked.port);
    std::ranges::copy(asked.mac, config.mac);
    std::ranges::copy(asked.drain_mac, config.drain_mac);
    config.frame_overhead = asked.frame_overhead;
    config.max_clusters = asked.max_clusters;
    config.max_segments = asked.max_segments;
    config.max_lanes = (asked.max_lanes + lane_step - 1) / lane_step * lane_step;
    // A slot has two buffers, so twice the slots is all that can ever wait.
    config.queue_capacity =
        asked.queue_capacity.value_or(2 * asked.max_clusters * asked.max_segments);
    config.ring_places = std::bit_ceil(2 * config.queue_capacity);
    if (asked.fifo || asked.policy == OLAF_POLICY_FIFO)
        config.fifo_places = fifo_places(config);
    config.default_policy = asked.policy;
    config.ns_per_byte_q24 = ns_per_byte_q24(asked.rate_bps);
    config.rate_bps = asked.rate_bps;
    config.window = asked.window.most;
    config.round_slots = asked.round_slots;
    config.round_lines = std::min<std::uint32_t>(std::bit_ceil(asked.round_lines), OLAF_MAX_LINES);
    config.drain_interval_ns = asked.drain_interval_ns;
    config.activity_window_ns = asked.activity_window_ns;
    config.upstream_family = asked.upstream.family;
    config.upstream_port_be = htons(asked.upstream_port);
    std::ranges::copy(asked.upstream.words_be, config.upstream_addr_be);
    std::ranges::copy(asked.source.words_be, config.source_addr_be);
    config.own4_be = asked.own4.words_be[0];
    std::ranges::copy(asked.own6.words_be, config.own6_be);

    config.member_timeout_ns = asked.member_timeout_ns;
    config.max_workers = asked.max_workers.value_or(usual_workers(asked.max_clusters));

    config.token_secret = asked.token_secret;
    if (config.token_secret == 0) {
        config.token_secret = OLAF_TRY(draw_secret());
    }
    return config;
}

std::uint32_t fifo_places(const olaf_config &config) {
    return std::min(config.ring_places, std::bit_ceil(config.queue_capacity + most_leaving));
}

std::uint32_t lanes_within(std::uint32_t mtu, std::uint32_t ip_bytes) {
    constexpr std::uint32_t udp_bytes = 8;
    const std::uint32_t headers = ip_bytes + udp_bytes + sizeof(olaf_header);
    const std::uint32_t fit = mtu > headers ? (mtu - headers) / 8 : 0;
    return std::min<std::uint32_t>(fit, OLAF_MAX_LANES);
}

std::uint32_t lanes_of_mtu(std::uint32_t mtu) {
    const std::uint32_t lanes = lanes_within(mtu);
    const std::uint32_t rounded = (lanes + lane_step - 1) / lane_step * lane_step;
    return std::clamp<std::uint32_t>(rounded, lane_step, OLAF_MAX_LANES);
}

std::uint32_t packet_bytes(std::uint32_t lanes, std::uint32_t family) {
    constexpr std::uint32_t ipv4_bytes = 20, ipv6_bytes = 40, udp_bytes = 8;
    return (family == 4 ? ipv4_bytes : ipv6_bytes) + udp_bytes + sizeof(olaf_header) + 8 * lanes;
}

std::uint32_t usual_workers(std::uint32_t max_clusters) {
    return std::min<std::uint32_t>(OLAF_DEFAULT_MAX_WORKERS, OLAF_USUAL_MEMBERS / max_clusters);
}

std::uint64_t ns_per_byte_q24(std::uint64_t rate_bps) {
    if (rate_bps == 0)
        return 0;
    constexpr std::uint64_t one_bit_per_second = (std::uint64_t{8'000'000'000} << 24);
    return std::max<std::uint64_t>((one_bit_per_second + rate_bps / 2) / rate_bps, 1);
}

std::uint32_t entry_bytes(std::uint32_t max_lanes) {
    return OLAF_ENTRY_BYTES(max_lanes);
}

std::uint64_t largest_frame_ns(const olaf_config &config) {
    return static_cast<std::uint64_t>(static_cast<double>(config.ns_per_byte_q24) / 0x1p24 *
                                      (entry_bytes(config.max_lanes) + config.frame_overhead));
}

std::string_view policy_name(std::uint32_t policy) {
    return policy < policies.size() ? policies[policy] : "?";
}

std::optional<olaf_policy> policy_by_name(std::string_view name) {
    const auto found = std::ranges::find(policies, name);
    if (found == policies.end())
        return {};
    return static_cast<olaf_policy>(found - policies.begin());
}

std::string policy_names(std::string_view between) {
    return fmt::format("{}", fmt::join(policies, between));
}

Window window_of(const olaf_config &config) {
    return {.automatic = (config.flags & OLAF_CONFIG_WINDOW_AUTO) != 0, .most = config.window};
}

olaf_rule default_rule(olaf_policy policy) {
    return {.policy = policy, .max_count = OLAF_DEFAULT_MAX_COUNT, .reward_threshold = -1};
}

bool operator==(const olaf_rule &a, const olaf_rule &b) {
    return a.policy == b.policy && a.max_count == b.max_count &&
           a.reward_threshold == b.reward_threshold;
}

} // namespace olaf
