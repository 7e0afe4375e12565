// SPDX-License-Identifier: BSD-2-Clause
#include "rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace olaf::test {
void set_job(const Testbed &bed, unsigned children, unsigned lanes,
             const std::vector<std::string> &more, std::uint32_t job) {
    std::vector<std::string> words{"job",        "set",
                                   "in",         std::to_string(job),
                                   "--children", std::to_string(children),
                                   "--lanes",    std::to_string(lanes)};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = bed.olaf(words);
    if (outcome.status != 0)
        throw std::runtime_error(outcome.err);
}

nlohmann::json job_status(const Testbed &bed) {
    return bed.olaf.status().json.at("jobs").at(0);
}

void run_workers(const Netns &netns, unsigned workers,
                 const std::function<void(CollectiveOptions &, unsigned)> &name,
                 const std::function<void(Collective &, unsigned)> &work) {
    const auto run_one = [&](unsigned worker) {
        const Inside inside(netns);
        CollectiveOptions options;
        options.job = rounds_job;
        options.workers = workers;
        name(options, worker);
        auto collective = Collective::make(options);
        if (!collective)
            throw std::runtime_error(collective.error().message());
        if (const auto joined = collective->join(); !joined)
            throw std::runtime_error(joined.error().message());
        work(*collective, worker);
    };
    std::vector<std::jthread> threads;
    for (unsigned worker = 0; worker < workers; worker++)
        threads.emplace_back([&, worker] {
            try {
                run_one(worker);
            } catch (const std::exception &error) {
                ADD_FAILURE() << "worker " << worker << ": " << error.what();
            }
        });
}

void for_each_worker(const Testbed &bed, unsigned workers,
                     const std::function<void(Collective &, unsigned)> &work,
                     const std::function<void(CollectiveOptions &)> &more) {
    run_workers(
        bed.worker, workers,
        [&](CollectiveOptions &options, unsigned rank) {
            options.node = Address::resolve(bed.target(4).address).value();
            options.rank = rank;
            if (more)
                more(options);
        },
        work);
    expect_jobs_add_up(bed.olaf);
}

std::vector<std::int64_t> part_of(unsigned rank, unsigned round, std::size_t elements) {
    std::vector<std::int64_t> part(elements);
    for (std::size_t i = 0; i < elements; i++)
        part[i] = static_cast<std::int64_t>((rank + 1) * 0x9e3779b97f4a7c15ull * (i + 1) + round);
    return part;
}

std::vector<std::int64_t> sum_of(unsigned workers, unsigned round, std::size_t elements) {
    std::vector<std::int64_t> sum(elements);
    for (unsigned rank = 0; rank < workers; rank++) {
        const auto part = part_of(rank, round, elements);
        for (std::size_t i = 0; i < elements; i++)
            sum[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[i]) +
                                               static_cast<std::uint64_t>(part[i]));
    }
    return sum;
}

namespace {

std::uint64_t number(const nlohmann::json &job, const char *group, const char *key) {
    return job.at(group).at(key).get<std::uint64_t>();
}

bool contributions_add_up(const nlohmann::json &job) {
    std::uint64_t sum = 0;
    for (const char *fate : {"added", "duplicate", "late", "stale", "ahead", "halted"})
        sum += number(job, "contributions", fate);
    return sum == number(job, "contributions", "received");
}

bool results_add_up(const nlohmann::json &job) {
    const auto children = job.at("children").get<std::uint64_t>();
    return children * number(job, "chunks", "completed") ==
           number(job, "results", "riding") + number(job, "results", "copied") +
               children * number(job, "results", "multicast") +
               number(job, "results", "undelivered");
}

/// Without threshold, deadline, and members that come or go.
bool is_of_all(const nlohmann::json &job) {
    return job.at("threshold") == job.at("children") && job.at("deadline_ns").is_null() &&
           job.at("absent").empty() && job.at("controls") == 0 && job.at("silent") == 0;
}

} // namespace

void expect_jobs_add_up(const OlafCommand &olaf) {
    const auto add_up = [](const Status &status) {
        return std::ranges::all_of(status.json.at("jobs"), [](const nlohmann::json &job) {
            return contributions_add_up(job) && (!is_of_all(job) || results_add_up(job));
        });
    };
    try {
        static_cast<void>(olaf.await(add_up));
    } catch (const std::exception &error) {
        ADD_FAILURE() << error.what();
    }
}

void expect_job_identities(const nlohmann::json &job) {
    EXPECT_TRUE(contributions_add_up(job) && results_add_up(job)) << job.dump(1);
}

} // namespace olaf::test
