// SPDX-License-Identifier: BSD-2-Clause
// Olaf's fold path: the link is busy, each cluster has an update waiting, every
// further one is folded into it. Parse, policy, lock, counters, clock included.
#include <optional>

#include "fold_cases.hpp"
#include "queue.hpp"
#include "vary.hpp"

namespace olaf::bench {

namespace {

constexpr std::uint32_t checked_runs = 10'000;

struct Olaf {
    Queue queue;
    std::optional<Vary> vary;
};

/// Two workers' updates of each cluster: the first waits, the second is folded into it, so that
/// no further one replaces it.
void fill(const Queue &queue, std::uint32_t lanes) {
    for (std::uint32_t cluster = 0; cluster < queue.options().clusters; ++cluster) {
        for (const std::uint32_t worker : {0u, 1u})
            must(test_run(queue.program(), olaf_frame(cluster, worker, lanes), 1));
    }
}

/// Every lane of every waiting entry is exactly `count` times one update's, and nothing is missing.
void check(const Olaf &olaf, const std::string &name, int program, const Frame &frame,
           std::uint32_t lanes) {
    const auto &queue = olaf.queue;
    const auto before = queue.totals();
    must(test_run(program, frame, checked_runs));
    const auto after = queue.totals();
    require(after.aggregated - before.aggregated == checked_runs, name + ": every run folded");
    std::uint64_t updates = 0;
    for (std::uint32_t cluster = 0; cluster < queue.options().clusters; ++cluster) {
        const auto waiting = queue.waiting(cluster);
        require(waiting.lanes.size() == lanes, name + ": an update waits");
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            const std::uint64_t one = lane == lanes - 1 ? checksum(lanes) + cluster
                                      : lane == 0       ? bench_lane(0) + cluster
                                                        : bench_lane(lane);
            require(waiting.lanes[lane] == one * waiting.count,
                    name + ": lane " + std::to_string(lane));
        }
        updates += waiting.count;
    }
    require(updates == after.in, name + ": all updates wait");
}

} // namespace

FoldCase olaf_case(const std::string &name, std::uint32_t clusters, std::uint32_t lanes,
                   bool varied, bool verify) {
    auto queue = must(Queue::make({.clusters = clusters,
                                   .capacity = clusters,
                                   .max_lanes = lanes,
                                   .rate_bps = 1'000'000'000,
                                   .link_busy = true,
                                   .verify = verify}));
    fill(queue, lanes);
    auto olaf = std::make_shared<Olaf>(std::move(queue), std::nullopt);
    FoldCase fold{
        .program = olaf->queue.program(), .frame = olaf_frame(0, 0, lanes), .owner = olaf};
    if (verify && !varied)
        fold.frame = with_udp_checksum(std::move(fold.frame));
    if (varied) {
        olaf->vary = must(Vary::make(olaf->queue.program(),
                                     {.config = config_for(false, clusters, 2), .frags = true}));
        fold.program = olaf->vary->program();
    }
    fold.check = [name, olaf = olaf.get(), program = fold.program, frame = fold.frame, lanes] {
        check(*olaf, name, program, frame, lanes);
    };
    return fold;
}

} // namespace olaf::bench
