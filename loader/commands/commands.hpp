// SPDX-License-Identifier: BSD-2-Clause
// The commands as functions, for `olaf` and for other programs. Each takes its options as plain
// data and returns what it did or found, or hands it over as it happens: printing is the caller's.
// What a person should know besides is told by note() (host/notes.hpp). They work in the network
// namespace of the calling thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loader/attachment/attachment.hpp"
#include "loader/attachment/meter.hpp"
#include "loader/attachment/options.hpp"
#include "loader/datapath/jobs.hpp"
#include "loader/datapath/members.hpp"
#include "loader/observe/options.hpp"
#include "loader/observe/recording.hpp"
#include "loader/observe/status_text.hpp"
#include "loader/observe/trace.hpp"
#include "loader/observe/verdict.hpp"
#include "loader/text/units.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// A queue that is live.
struct Attached {
    std::string device;
    Record record;
    std::uint64_t memory_bytes = 0; ///< of its maps
};
Result<Attached> attach(const AttachOptions &options);

/// What attach would do.
struct AttachPlan {
    struct Hook {
        std::string program, hook, device; ///< "olaf_egress", "TC egress", "in"
    };
    Attached would; ///< as attach would say it; its memory is that of the maps
    std::vector<Hook> programs;
    std::string drain_a, drain_b;            ///< the veth pair that it would make
    std::vector<std::string> clsact;         ///< devices that it would put a qdisc clsact on
    std::vector<std::string> existing_clsact; ///< that have one already
};
/// Loads the programs and makes the maps, to be sure that it could, and lets them go again. Fails
/// where attach would; changes nothing.
Result<AttachPlan> plan_attach(const AttachOptions &options);

struct DetachOptions {
    std::string device;
    bool force = false;   ///< drop what can't leave
    bool verbose = false; ///< note how many wait
};
struct Detached {
    std::string device;
    std::uint64_t updates_dropped = 0; ///< none without force
    std::uint64_t results_dropped = 0; ///< of jobs: owed to members that can't be reached
    std::uint64_t chunks_dropped = 0;  ///< of jobs: not complete
};
Result<Detached> detach(const DetachOptions &options);

struct ResetOptions {
    std::string device;
};
struct Reset {
    std::string device;
    std::uint64_t updates_waiting = 0; ///< they count as having arrived just now
};
/// Starts all figures of a queue anew. No update is lost by it.
Result<Reset> reset(const ResetOptions &options);

/// Everything about one queue. Of one that isn't alive the counters are right all the same.
struct QueueStatus {
    Attachment attachment;
    std::optional<QueueReading> reading; ///< nothing: a leftover, of which nothing else is known
    HostState host;

    [[nodiscard]] QueueVerdict verdict() const;
};
Result<QueueStatus> status(const std::string &device);
/// Every queue of this network namespace, and what is left of others.
Result<std::vector<QueueStatus>> status_of_all();

/// The queues of one network namespace.
struct NamespaceStatus {
    std::string netns; ///< name of `ip netns`, or "of process PID", or "number N, which nobody is in"
    std::vector<QueueStatus> queues;
};
/// Those that have a queue, or what is left of one.
Result<std::vector<NamespaceStatus>> status_everywhere();

struct ClusterOptions {
    enum class Action { set, remove, list } action = Action::list;
    std::string device;
    std::optional<Range> clusters; ///< nothing: all, for list
    std::optional<olaf_policy> policy;
    std::optional<std::int64_t> reward_threshold; ///< Q47.16, -1: off
    std::optional<std::uint32_t> max_count;
    std::vector<WorkerAddress> workers; ///< to register in each of the clusters
};
Result<void> change_clusters(const ClusterOptions &options); ///< set, remove

/// Clusters that have a rule or members of their own, and those that were asked for.
struct ClusterListing {
    struct Row {
        std::uint32_t cluster = 0;
        olaf_rule rule{};
        std::vector<KnownMember> members;
    };
    std::vector<Row> rows;
    olaf_rule usual{};        ///< of the others
    std::uint32_t others = 0; ///< how many these are
};
Result<ClusterListing> list_clusters(const ClusterOptions &options);

/// `olaf job`: jobs, whose members sum in rounds.
struct JobOptions {
    enum class Action { set, remove, list, reset, halt, resume, flush, leave, threshold, release, restore };
    Action action = Action::list;
    std::string device;
    std::optional<std::uint32_t> job; ///< nothing: all, for list
    std::uint32_t children = 0;
    std::uint32_t lanes = 0;                ///< checksum lane included; 0: as usual_job_lanes() says
    std::optional<std::uint32_t> threshold; ///< nothing: all children
    bool any = false;                       ///< of whomever
    std::uint32_t pool = OLAF_DEFAULT_POOL; ///< slots
    olaf_format format = OLAF_FORMAT_I32X2;
    bool checksum = true;                   ///< floats never have one
    std::optional<std::uint32_t> float_bits; ///< nothing: OLAF_DEFAULT_FLOAT_BITS
    std::optional<std::uint32_t> max_count; ///< nothing: as many as complete a chunk
    std::optional<Endpoint> parent;         ///< nothing: this node is the root
    std::optional<std::uint32_t> rank;      ///< at the parent; leave: whose
    std::vector<std::uint32_t> absent;      ///< ranks that are no members yet
    std::vector<WorkerAddress> members;     ///< to bind to their addresses
    std::uint64_t deadline_ns = 0;          ///< 0: none
    std::optional<IpAddress> group;         ///< one RESULT for all goes there; nothing: one each
    std::uint32_t group_hops = 1;           ///< TTL or hop limit of those
    std::optional<IpAddress> parent_group;  ///< that of the parent's results
    std::uint64_t training = 0;             ///< whose the job is alone, an alias; 0: whoever asks first
    std::uint64_t run_number = 0;           ///< of that training; 0: any
};
/// Lanes of a job that isn't told how many: what packets of both IP versions have room for, within that MTU,
/// and what the queue can hold.
std::uint32_t usual_job_lanes(std::uint32_t mtu, olaf_format format, const olaf_config &config);
/// What a set asks for, on a queue of that configuration: all but its slots and this host's address
/// towards the parent.
Result<olaf_job_setup> job_setup(const JobOptions &options, const olaf_config &config);

/// "7 on eth0": the job that the options name, for errors.
std::string name_of(const JobOptions &options);
Result<void> change_job(const JobOptions &options); ///< all but list and restore

/// All jobs, or the one that was asked for.
struct JobListing {
    std::vector<JobReading> jobs;
    std::uint64_t now_ns = 0; ///< when they were read, CLOCK_MONOTONIC
};
Result<JobListing> list_jobs(const JobOptions &options);

struct MeterOptions {
    std::string device;
    std::uint32_t port = OLAF_DEFAULT_PORT;
    bool sent = false;                         ///< what the device sends, not what it receives
    std::optional<std::uint64_t> for_ns;       ///< nothing: until interrupted
    std::uint64_t interval_ns = 1'000'000'000; ///< between two tables
    std::uint32_t max_clusters = 1024;
    std::uint32_t max_segments = 1;
    bool verbose = false; ///< note when it measures
};
using MeterReader = std::function<void(const Meter::Reading &reading, std::uint64_t started_ns)>;
/// Hands over a reading every interval, or one at the end of for_ns or when interrupted.
Result<void> meter(const MeterOptions &options, const MeterReader &reader);

enum class Verdict {
    good,
    hint, ///< works, but may not be what one wants
    bad,  ///< prevents a native attach, or a queue that is there from doing its work
};

struct Check {
    std::string subject;
    Verdict verdict;
    std::string finding;
    std::string remedy; ///< empty when there is nothing to do
};

struct DoctorOptions {
    std::string device; ///< "": the kernel alone
    std::string output = {}; ///< "": that of the queue that is there
    std::string card = {};   ///< file of the card's registers; "": that of the device's PCI function
};
Result<std::vector<Check>> doctor(const DoctorOptions &options);
/// Whether a queue can be attached natively; of one that is there, whether it does its work.
bool fit_to_attach(const std::vector<Check> &checks);

// These only read: killing one at any moment leaves the queue as it was. They go on until SIGINT,
// SIGTERM or SIGHUP, or until their time is over.

/// Events as they happen, until nobody reads what `output` writes.
Result<void> trace(const TraceOptions &options, TraceOutput &output);

/// The live table, on this process's terminal.
Result<void> top(const TopOptions &options);
/// What the table shows, a look at a time: until false, or until nobody reads `out_fd` any more.
using RowsReader = std::function<bool(const Reading &reading, const Rows &rows)>;
Result<void> watch(const TopOptions &options, int out_fd, const RowsReader &reader);

/// What was seen; the page and its data lie in options.directory.
Result<Recording> report(const ReportOptions &options);

/// Says where it listens once it does.
Result<void> serve(const ServeOptions &options,
                   const std::function<void(const std::string &url)> &started);

} // namespace olaf
