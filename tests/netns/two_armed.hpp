// SPDX-License-Identifier: BSD-2-Clause
// A node between its workers on one device and its parent on another, with real sockets:
//
//   workers ── in[node]out ── the parent, a root with this one child
//
// Nobody told the node its parent's MAC address, and it forwards nothing.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rounds.hpp"

namespace olaf::test {

class TwoArmed {
  public:
    static constexpr unsigned lanes = 64, workers = 4, chunks = 20; ///< 63 lanes of data
    static constexpr std::size_t elements = std::size_t{63} * chunks;

    explicit TwoArmed(int family = 4, std::string mode = "native")
        : family_(family), mode_(std::move(mode)) {
        bed.host.sysctl("ipv4/ip_forward", "0");
        bed.host.sysctl("ipv6/conf/all/forwarding", "0");
        root_.attach({"--local", "--round-slots", "64"});
        must(root_({"job", "set", "eth0", std::to_string(rounds_job), "--children", "1", "--lanes",
                    std::to_string(lanes), "--format", "i64x1", "--max-count",
                    std::to_string(workers)}));
    }

    void attach() { bed.olaf.attach({"--local", "--round-slots", "64", "--mode", mode_}); }
    /// olaf job set in 7 …
    [[nodiscard]] std::vector<std::string> setting(unsigned of_lanes = lanes) const {
        return {"job", "set", "in", std::to_string(rounds_job), "--children",
                std::to_string(workers), "--lanes", std::to_string(of_lanes), "--format",
                "i64x1", "--max-count", std::to_string(workers), "--parent",
                Testbed::server_peer(family_).address, "--rank", "0"};
    }
    [[nodiscard]] Outcome try_set(unsigned of_lanes = lanes) const {
        return bed.olaf(setting(of_lanes));
    }
    void set() const { must(try_set()); }
    [[nodiscard]] nlohmann::json job() const { return job_status(bed); }
    [[nodiscard]] nlohmann::json root_job() const { return root_.status().json.at("jobs").at(0); }

    [[nodiscard]] CollectiveOptions options(unsigned rank) const {
        return {.node = Address::resolve(bed.target(family_).address).value(),
                .job = rounds_job,
                .rank = rank,
                .workers = workers,
                .format = Format::i64x1,
                .lanes = lanes};
    }

    /// Every worker sums rounds until it has done `last` of them, rightly.
    void sum(const std::atomic<unsigned> &last, std::atomic<unsigned> *done = nullptr) const {
        run_workers(
            bed.worker, workers,
            [&](CollectiveOptions &told, unsigned rank) { told = options(rank); },
            [&](Collective &collective, unsigned rank) {
                for (unsigned round = 0; round < last; round++) {
                    auto vector = part_of(rank, round, elements);
                    const auto report = collective.allreduce(std::span(vector));
                    ASSERT_TRUE(report) << report.error().message();
                    ASSERT_EQ(vector, sum_of(workers, round, elements)) << "round " << round;
                    if (done != nullptr && rank == 0) {
                        *done = round + 1;
                        done->notify_all();
                    }
                }
            });
        expect_jobs_add_up(bed.olaf);
        expect_jobs_add_up(root_);
    }

    static void must(const Outcome &outcome) {
        if (outcome.status != 0)
            throw std::runtime_error(outcome.err);
    }

    Testbed bed{{.way = Way::upstream4, .server_known = false, .place = Place::kernel}};

  private:
    const int family_;
    const std::string mode_;
    // veth wakes its peer after XDP_TX only if an XDP program is there: the root's answers need it.
    ForeignXdp wakes_{bed.host, "out"};
    OlafCommand root_{bed.server(), "eth0"};
};

} // namespace olaf::test
