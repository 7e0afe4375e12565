// SPDX-License-Identifier: BSD-2-Clause
// From what a person says about a queue to the constants that its programs are loaded with.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "loader/text/address.hpp"
#include "loader/text/units.hpp"
#include "olaf/members.h"
#include "olaf/queue.h"
#include "olaf/result.hpp"

namespace olaf {

/// Bytes that Ethernet adds to a frame on the wire: preamble 8, FCS 4, gap 12.
inline constexpr std::uint16_t ethernet_overhead = 24;

/// A queue in human terms. The defaults make a queue that delivers to this host, unpaced.
struct DatapathConfig {
    std::uint16_t port = OLAF_DEFAULT_PORT;
    std::optional<std::uint32_t> queue_capacity{}; ///< Qmax; none: never lose one to a full one
    std::uint64_t rate_bps = 0;                    ///< 0: unlimited
    std::uint16_t frame_overhead = 0;              ///< charged to the rate on top of each frame
    Window window{}; ///< departures that may be unacknowledged
    olaf_policy policy = OLAF_POLICY_OLAF;
    std::uint32_t max_clusters = 1024;
    std::uint32_t max_segments = 1;
    std::uint32_t max_lanes = 192; ///< rounded up to a multiple of 16; see lanes_of_mtu()
    std::uint64_t drain_interval_ns = 100'000;
    std::uint64_t activity_window_ns = 1'000'000'000;

    olaf_deliver deliver = OLAF_DELIVER_LOCAL;
    std::uint32_t ifindex = 0;
    std::uint32_t egress_ifindex = 0; ///< FORWARD, UPSTREAM
    std::uint32_t egress_mtu = 0;     ///< of that device; 0: any size
    std::uint32_t drain_ifindex = 0;   ///< 0: no drain, departures only ride
    std::uint32_t kick_ifindex = 0;   ///< the drain's other end; 0: ACKs set off no departure
    std::array<std::uint8_t, 6> mac{};
    std::array<std::uint8_t, 6> drain_mac{};
    IpAddress upstream{}; ///< UPSTREAM
    std::uint16_t upstream_port = OLAF_DEFAULT_PORT;
    IpAddress source{}; ///< UPSTREAM: this host's address towards it
    IpAddress own4{};   ///< of egress_ifindex, to ask next hops from; family 0: it has none
    IpAddress own6{};

    std::optional<std::uint32_t> max_workers{}; ///< a cluster; none: as usual_workers() says
    std::uint64_t member_timeout_ns = 60'000'000'000;

    std::uint32_t round_slots = 0; ///< for the rounds of jobs; 0: no jobs
    std::uint32_t round_lines = 1; ///< lines of each job: as many as CPUs add up its chunks at once

    bool fifo = true;   ///< clusters may have policy fifo, which takes entries of its own
    bool bridge = true; ///< FORWARD: frames to other MAC addresses leave too
    bool skb_mode = false;
    bool allow_list = false;
    bool strict = false;      ///< registered workers only
    bool tags_hidden = false; ///< the device may take VLAN tags off before XDP sees them
    bool output_sums = false; ///< the output device finishes checksums
    bool verify = true;       ///< look at UDP checksums of updates, and write them
    bool output_program = true; ///< the output may get an XDP program, if its driver demands one
    bool back_by_redirect = false; ///< the device is a veth: OLAF_CONFIG_BACK_BY_REDIRECT
    bool meter = true; ///< Age-of-Model; false to measure what it costs
    std::uint64_t token_secret = 0; ///< 0: make_config() draws one
};

/// Checks the ranges and works out the fields that follow from others. ring_places and
/// queue_capacity are never 0.
Result<olaf_config> make_config(const DatapathConfig &asked);

/// Places that clusters of policy fifo take of a queue of that capacity.
std::uint32_t fifo_places(const olaf_config &config);

/// Lanes of the largest update that an MTU carries behind an IP header of so many bytes: at most
/// OLAF_MAX_LANES; 0: none.
std::uint32_t lanes_within(std::uint32_t mtu, std::uint32_t ip_bytes = 20);

/// The same for IPv4 without options, rounded up to 16.
std::uint32_t lanes_of_mtu(std::uint32_t mtu);

/// Bytes of the IP packet with a message of so many lanes, without options.
std::uint32_t packet_bytes(std::uint32_t lanes, std::uint32_t family);

/// Places for workers of a cluster: 256, or fewer where that would take more than 64 MiB.
std::uint32_t usual_workers(std::uint32_t max_clusters);

/// 2^24 x nanoseconds a byte takes; 0 for rate 0 (unlimited).
std::uint64_t ns_per_byte_q24(std::uint64_t rate_bps);

/// Whether its rate is its link's speed: then the link's own bytes are charged to it. With a rate of 0 that
/// speed wasn't known, and nothing is charged until it is.
inline bool paced_by_line(const olaf_config &config) { return config.frame_overhead != 0; }

/// Bytes of an element of olaf_entries, slack for the verifier included.
std::uint32_t entry_bytes(std::uint32_t max_lanes);

/// The time that the largest frame takes at the rate.
std::uint64_t largest_frame_ns(const olaf_config &config);

/// "olaf", "fifo", "aggregate", "newest"; "?" for a number that names no policy.
std::string_view policy_name(std::uint32_t policy);
std::optional<olaf_policy> policy_by_name(std::string_view name);
/// All of them: "olaf|fifo|aggregate|newest" with "|" between.
std::string policy_names(std::string_view between);

/// The window that a configuration has.
Window window_of(const olaf_config &config);

/// The rule of a cluster that was given none.
olaf_rule default_rule(olaf_policy policy);
bool operator==(const olaf_rule &a, const olaf_rule &b);

} // namespace olaf
