// SPDX-License-Identifier: BSD-2-Clause
// The commands, each with its options as plain data. A command prints its result on stdout and
// what a person should know besides on stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/datapath/config.hpp"
#include "loader/datapath/members.hpp"
#include "loader/text/address.hpp"
#include "loader/text/units.hpp"
#include "olaf/result.hpp"

namespace olaf {

struct GlobalOptions {
    std::string netns; ///< "": the one we are in
    bool json = false;
    bool verbose = false;
};

enum class XdpMode { automatic, native, skb };

/// What isn't given is DatapathConfig's default, or with replace the running queue's.
struct AttachOptions {
    std::string device;
    bool local = false;
    std::string forward; ///< device
    std::optional<bool> bridge; ///< with forward; nothing: where the device is a bridge's
    std::optional<Endpoint> upstream;
    std::optional<std::uint16_t> port;
    std::optional<std::optional<std::uint32_t>> queue; ///< inner nothing: auto
    std::optional<Rate> rate;
    std::optional<Window> window;
    std::optional<olaf_policy> policy;
    bool fifo = false; ///< clusters may be set to policy fifo later
    std::optional<std::uint32_t> max_clusters;
    std::optional<std::uint32_t> max_segments;
    std::optional<std::optional<std::uint32_t>> max_lanes; ///< inner nothing: mtu
    XdpMode mode = XdpMode::automatic;
    std::optional<std::uint64_t> drain_interval_ns;
    std::optional<std::uint64_t> activity_window_ns;
    std::vector<olaf_prefix> allow;
    std::optional<std::uint32_t> max_workers;
    std::optional<std::uint64_t> member_timeout_ns;
    std::optional<bool> strict;
    std::optional<bool> verify;
    bool replace = false;
};
Result<void> attach(const AttachOptions &options, const GlobalOptions &global);

struct DetachOptions {
    std::string device;
    bool force = false; ///< drop what can't leave
};
Result<void> detach(const DetachOptions &options, const GlobalOptions &global);

struct StatusOptions {
    std::string device; ///< "": every one
    bool clusters = false;
};
Result<void> status(const StatusOptions &options, const GlobalOptions &global);

struct ClusterOptions {
    enum class Action { set, remove, list } action = Action::list;
    std::string device;
    std::optional<Range> clusters; ///< nothing: all, for list
    std::optional<olaf_policy> policy;
    std::optional<std::int64_t> reward_threshold; ///< Q47.16, -1: off
    std::optional<std::uint32_t> max_count;
    std::vector<WorkerAddress> workers; ///< to register in each of the clusters
};
Result<void> cluster(const ClusterOptions &options, const GlobalOptions &global);

struct MeterOptions {
    std::string device;
    std::uint32_t port = OLAF_DEFAULT_PORT;
    bool sent = false; ///< what the device sends, not what it receives
    std::optional<std::uint64_t> for_ns; ///< nothing: until interrupted
    std::uint64_t interval_ns = 1'000'000'000; ///< between two tables
    std::uint32_t max_clusters = 1024;
    std::uint32_t max_segments = 1;
};
Result<void> meter(const MeterOptions &options, const GlobalOptions &global);

struct DoctorOptions {
    std::string device; ///< "": the kernel alone
};
/// True if a queue can be attached natively.
Result<bool> doctor(const DoctorOptions &options, const GlobalOptions &global);

} // namespace olaf
