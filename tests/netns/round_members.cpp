// SPDX-License-Identifier: BSD-2-Clause
#include "round_members.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace olaf::test {
namespace {

constexpr unsigned bits_each = 12, most_ranks = 5;

/// Below 2^12, and never 0: the parts of ranks lie side by side in a sum.
std::uint64_t part_at(std::size_t element, std::uint32_t round) {
    return (element + round) % 4000 + 1;
}

std::vector<unsigned> first(unsigned count) {
    std::vector<unsigned> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0u);
    return numbers;
}

} // namespace

CollectiveOptions member_options(const Testbed &bed, unsigned rank, unsigned workers) {
    CollectiveOptions options;
    options.node = Address::resolve(bed.target(4).address).value();
    options.job = rounds_job;
    options.rank = rank;
    options.workers = workers;
    options.format = Format::i64x1;
    options.lanes = member_lanes;
    return options;
}

std::vector<std::int64_t> member_part(unsigned rank, std::uint32_t round) {
    std::vector<std::int64_t> vector(member_elements);
    for (std::size_t i = 0; i < member_elements; i++)
        vector[i] = static_cast<std::int64_t>(part_at(i, round) << rank * bits_each);
    return vector;
}

unsigned ranks_in(const std::vector<std::int64_t> &sum, std::size_t element, std::uint32_t round) {
    unsigned ranks = 0;
    for (unsigned rank = 0; rank < most_ranks; rank++) {
        const auto own = static_cast<std::uint64_t>(sum[element]) >> rank * bits_each & 0xfff;
        if (own != 0 && own != part_at(element, round))
            return ~0u;
        ranks |= (own != 0 ? 1u : 0u) << rank;
    }
    return ranks;
}

MembersSum sum_as_member(Collective &collective, unsigned rank, bool last) {
    const auto round = collective.next_round();
    auto vector = member_part(rank, round);
    vector.push_back(last ? 1 : 0); // says that it's the last
    const auto report = collective.allreduce(std::span(vector));
    if (!report)
        throw std::runtime_error(report.error().message());
    MembersSum sum{.report = *report, .ranks = ranks_in(vector, 0, round), .last = vector.back() != 0};
    for (std::size_t i = 0; i < member_elements; i++) {
        const auto ranks = ranks_in(vector, i, round);
        EXPECT_NE(ranks, ~0u) << "round " << round << ", element " << i << ": " << vector[i];
        if (ranks != sum.ranks)
            sum.ranks = 0;
    }
    if (report->partial == 0) {
        EXPECT_EQ(static_cast<unsigned>(std::popcount(sum.ranks)), report->least_count)
            << "round " << round << ": " << sum.ranks;
    }
    return sum;
}

void come_and_go(const CollectiveOptions &options, unsigned worker, unsigned workers_in_sums) {
    auto collective = Collective::make(options);
    if (!collective)
        throw std::runtime_error(collective.error().message());
    if (const auto round = collective->join_running(); !round)
        throw std::runtime_error("joining: " + round.error().message());
    for (unsigned whole = 0; whole < 10;) { // the same sums for all of them
        const auto sum = sum_as_member(*collective, worker);
        whole += sum.ranks == workers_in_sums && sum.report.partial == 0 ? 1 : 0;
    }
    if (const auto gone = collective->depart(std::chrono::seconds(20)); !gone)
        throw std::runtime_error("departing: " + gone.error().message());
}

Summing::Summing(const Testbed &bed, unsigned count, unsigned workers,
                 const std::function<void(CollectiveOptions &)> &more)
    : Summing({.netns = bed.worker,
               .workers = first(count),
               .options =
                   [&bed, workers, more](unsigned worker) {
                       auto options = member_options(bed, worker, workers);
                       if (more)
                           more(options);
                       return options;
                   },
               .check_books = [&bed] { expect_jobs_add_up(bed.olaf); }}) {}

Summing::Summing(Summers summers)
    : summers_(std::move(summers)), running_(static_cast<unsigned>(summers_.workers.size())) {
    for (const unsigned worker : summers_.workers)
        threads_.emplace_back([this, worker] {
            try {
                run(worker);
            } catch (const std::exception &error) {
                const std::lock_guard held(lock_);
                errors_[worker] = error.what();
            }
            running_--;
            news_++;
            news_.notify_all();
        });
}

void Summing::run(unsigned worker) {
    const Inside inside(summers_.netns);
    const bool is_first = worker == summers_.workers.front();
    auto collective = Collective::make(summers_.options(worker));
    if (!collective)
        throw std::runtime_error(collective.error().message());
    if (const auto joined = collective->join(); !joined)
        throw std::runtime_error(joined.error().message());
    for (bool last = false; !last;) {
        const auto sum = sum_as_member(*collective, worker, is_first && stopping_);
        last = sum.last;
        if (is_first) {
            const std::lock_guard held(lock_);
            newest_ = sum.ranks;
        }
        news_++;
        news_.notify_all();
    }
}

void Summing::await_sum_of(unsigned ranks) {
    for (unsigned seen = news_;; news_.wait(seen), seen = news_) {
        const std::lock_guard held(lock_);
        if (newest_ == ranks)
            return;
        if (running_ == 0)
            throw std::runtime_error("all have ended: " +
                                     (errors_.empty() ? "" : errors_.begin()->second));
    }
}

void Summing::stop() {
    stopping_ = true;
    end();
}

// Then the books of the job are to be right, however it went.
void Summing::end() {
    if (threads_.empty())
        return;
    threads_.clear(); // joins them
    summers_.check_books();
}

std::map<unsigned, std::string> Summing::errors() {
    end();
    return errors_;
}

} // namespace olaf::test
