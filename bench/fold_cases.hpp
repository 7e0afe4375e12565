// SPDX-License-Identifier: BSD-2-Clause
// The programs whose cost per update is measured.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <linux/bpf.h>

#include "round_job.hpp"
#include "support.hpp"

namespace olaf::bench {

/// A loaded program and what it is run on.
struct FoldCase {
    int program = -1;
    Frame frame;
    std::uint32_t verdict = XDP_DROP;
    std::function<void()>
        check{}; ///< folds a little and compares the sums; ends the program if wrong
    std::function<void()> recheck{}; ///< ends the program if what was timed wasn't what it should be
    std::shared_ptr<void> owner{}; ///< keeps programs and maps loaded
};

struct FoldBenchmark {
    std::string name;
    std::int64_t payload_bytes = 0; ///< of one update, for a throughput
    std::function<FoldCase()> make; ///< only called when it is its turn
    std::uint32_t repeat = 1'000'000;
};

/// One program of costs.bpf.c.
FoldCase cost_case(const char *program);

/// What the memory costs: 1 KiB added into a random one of `entries`, by that program of
/// costs.bpf.c.
FoldCase memory_case(const std::string &name, std::uint32_t entries,
                     const char *program = "random_add");

/// The floor: parse and drop; with the program that varies frames in front of it if `varied`.
FoldCase drop_case(const std::string &name, bool varied);

/// XAgg's Algorithm 1 over `aggregates` fragments, in random order.
FoldCase xagg_case(const std::string &name, std::uint32_t aggregates);

/// Olaf's ingress program folding updates of `lanes` lanes into `clusters` clusters: in random
/// order if `varied`, else (clusters = 1) one frame again and again. With `verify` the queue looks at UDP
/// checksums. That one frame has one; frames that are varied have none, and are summed all the same.
FoldCase olaf_case(const std::string &name, std::uint32_t clusters, std::uint32_t lanes,
                   bool varied, bool verify = true);

/// Whole rounds of a job over a vector of as many chunks as it has slots: each run is a contribution,
/// one of them completes a chunk, and each carries a result away; by multicast one of them for all.
FoldCase rounds_case(const std::string &name, const RoundJob::Options &options);

/// XAgg's Algorithm 1 on the same stream: a frame of each chunk carries the sum away.
FoldCase rounds_xagg_case(const std::string &name, std::uint32_t children, std::uint32_t chunks);

/// Algorithm 1 in TC on the same stream, which sends a clone of each sum to every child, by that device.
FoldCase rounds_clones_case(const std::string &name, std::uint32_t children, std::uint32_t ifindex);

/// The program that makes the stream, and nothing behind it but dropping.
FoldCase rounds_floor_case(const std::string &name, bool floats = false);

/// The way back: an ACK, made unstamped again before each run. The floor: a program that lets
/// it pass.
FoldCase ack_floor_case();

/// Stamped by Olaf's egress program and, if `workers` isn't 0, copied to so many of them, out of
/// a veth whose far end drops.
FoldCase ack_case(const std::string &name, std::uint32_t workers);

} // namespace olaf::bench
