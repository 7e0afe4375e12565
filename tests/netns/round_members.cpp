// SPDX-License-Identifier: BSD-2-Clause
#include "round_members.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <stdexcept>
#include <utility>

namespace olaf::test {
namespace {

constexpr std::size_t elements = 63 * 20;
constexpr unsigned bits_each = 12, most_ranks = 5;

/// Below 2^12, and never 0: the parts of ranks lie side by side in a sum.
std::uint64_t part_at(std::size_t element, std::uint32_t round) {
    return (element + round) % 4000 + 1;
}

/// Whose parts an element holds; ~0: it is no sum of such parts.
unsigned ranks_in(std::int64_t element, std::uint64_t part) {
    unsigned ranks = 0;
    for (unsigned rank = 0; rank < most_ranks; rank++) {
        const auto own = static_cast<std::uint64_t>(element) >> rank * bits_each & 0xfff;
        if (own != 0 && own != part)
            return ~0u;
        ranks |= (own != 0 ? 1u : 0u) << rank;
    }
    return ranks;
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

MembersSum sum_as_member(Collective &collective, unsigned rank, bool last) {
    const auto round = collective.next_round();
    std::vector<std::int64_t> vector(elements + 1); // the last one says that it's the last
    for (std::size_t i = 0; i < elements; i++)
        vector[i] = static_cast<std::int64_t>(part_at(i, round) << rank * bits_each);
    vector[elements] = last ? 1 : 0;
    const auto report = collective.allreduce(std::span(vector));
    if (!report)
        throw std::runtime_error(report.error().message());
    MembersSum sum{.report = *report, .ranks = ranks_in(vector[0], part_at(0, round)),
                   .last = vector[elements] != 0};
    for (std::size_t i = 0; i < elements; i++) {
        const auto ranks = ranks_in(vector[i], part_at(i, round));
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

Summing::Summing(const Testbed &bed, unsigned count, unsigned workers,
                 std::function<void(CollectiveOptions &)> more)
    : bed_(bed), workers_(workers), more_(std::move(more)), running_(count) {
    for (unsigned rank = 0; rank < count; rank++)
        threads_.emplace_back([this, rank] {
            try {
                run(rank);
            } catch (const std::exception &error) {
                const std::lock_guard held(lock_);
                errors_[rank] = error.what();
            }
            running_--;
            news_++;
            news_.notify_all();
        });
}

void Summing::run(unsigned rank) {
    const Inside inside(bed_.worker);
    auto options = member_options(bed_, rank, workers_);
    if (more_)
        more_(options);
    auto collective = Collective::make(options);
    if (!collective)
        throw std::runtime_error(collective.error().message());
    if (const auto joined = collective->join(); !joined)
        throw std::runtime_error(joined.error().message());
    for (bool last = false; !last;) {
        const auto sum = sum_as_member(*collective, rank, rank == 0 && stopping_);
        last = sum.last;
        if (rank == 0) {
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
    expect_jobs_add_up(bed_.olaf);
}

std::map<unsigned, std::string> Summing::errors() {
    end();
    return errors_;
}

} // namespace olaf::test
