// SPDX-License-Identifier: BSD-2-Clause
// The commands, each with its options as plain data. A command prints its result on stdout and
// what a person should know besides on stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/attachment/options.hpp"
#include "loader/datapath/members.hpp"
#include "loader/observe/options.hpp"
#include "loader/text/units.hpp"
#include "olaf/result.hpp"

namespace olaf {

struct GlobalOptions {
    std::string netns; ///< "": the one we are in
    bool json = false;
    bool verbose = false;
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

// These only read: killing one at any moment leaves the queue as it was.
Result<void> trace(const TraceOptions &options, const GlobalOptions &global);
Result<void> top(const TopOptions &options, const GlobalOptions &global);
Result<void> report(const ReportOptions &options, const GlobalOptions &global);
Result<void> serve(const ServeOptions &options, const GlobalOptions &global);

} // namespace olaf
