// SPDX-License-Identifier: BSD-2-Clause
// A job at the host of a testbed, and its workers: processes of one namespace, a thread each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <olaf/collective.hpp>

#include "testbed.hpp"

namespace olaf::test {

inline constexpr std::uint32_t rounds_job = 7;

/// Sets the job for that many children: olaf job set in 7 --children N --lanes L MORE…
void set_job(const Testbed &bed, unsigned children, unsigned lanes,
             const std::vector<std::string> &more = {}, std::uint32_t job = rounds_job);

/// What `olaf status` says of the job.
nlohmann::json job_status(const Testbed &bed);

/// Runs that many threads in a namespace, each with its Collective after join(); `name` says of
/// each which node and rank it has. What a worker throws ends the test as a failure that names it.
void run_workers(const Netns &netns, unsigned workers,
                 const std::function<void(CollectiveOptions &, unsigned worker)> &name,
                 const std::function<void(Collective &, unsigned worker)> &work);

/// The same of a testbed's workers.
void for_each_worker(const Testbed &bed, unsigned workers,
                     const std::function<void(Collective &, unsigned rank)> &work,
                     const std::function<void(CollectiveOptions &)> &more = {});

/// The worker's vector of a round, and the sum that all must get.
std::vector<std::int64_t> part_of(unsigned rank, unsigned round, std::size_t elements);
std::vector<std::int64_t> sum_of(unsigned workers, unsigned round, std::size_t elements);

/// The identities of docs/rounds.md hold for each job there, once nothing is under way: whatever became
/// of a contribution was counted, and of a result, where all children were in all chunks.
void expect_jobs_add_up(const OlafCommand &olaf);

/// The identities of docs/rounds.md, of a job at rest.
void expect_job_identities(const nlohmann::json &job);

} // namespace olaf::test
