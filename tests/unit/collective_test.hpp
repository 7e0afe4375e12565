// SPDX-License-Identifier: BSD-2-Clause
// Workers in threads of their own, with a node on loopback.
#pragma once

#include <functional>

#include <olaf/collective.hpp>

#include "round_server.hpp"

namespace olaf::test {

struct Job {
    static constexpr std::uint32_t kJob = 5;

    std::uint32_t workers;
    CollectiveOptions options;
    LoopbackNode server;

    explicit Job(std::uint32_t number, double loss = 0, CollectiveOptions common = {},
                 std::uint8_t pool = 3)
        : workers(number), options(common),
          server({.children = number, .max_count = number, .pool = pool},
                 {.job = kJob, .format = common.format, .has_checksum = common.checksum}, loss,
                 common.threads) {
        options.node = server.address();
        options.job = kJob;
        options.workers = number;
        if (options.lanes == 0)
            options.lanes = 9;
    }

    Collective worker(std::uint32_t rank) const {
        CollectiveOptions own = options;
        own.rank = rank;
        auto made = Collective::make(own);
        EXPECT_TRUE(made) << made.error().message();
        return std::move(*made);
    }

    /// Each worker does this in its own thread.
    void all(const std::function<void(Collective &, std::uint32_t rank)> &work) const {
        std::vector<std::thread> threads;
        for (std::uint32_t rank = 0; rank < workers; rank++)
            threads.emplace_back([&, rank] {
                Collective collective = worker(rank);
                work(collective, rank);
            });
        for (std::thread &thread : threads)
            thread.join();
    }
};

/// Sums a vector with the others', which must succeed.
template <class Element, class... Combine>
SumReport sum_of(Collective &collective, std::vector<Element> &vector, Combine... combine) {
    const auto report = collective.allreduce(std::span(vector), combine...);
    EXPECT_TRUE(report) << report.error().message();
    return report.value_or(SumReport{});
}

} // namespace olaf::test
