// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/bounded_staleness.hpp>

#include <algorithm>
#include <string>

namespace olaf {

// The next round: with a gradient, or without one to take the weights that the others make.
Result<BoundedStaleness::Round> BoundedStaleness::take_part(std::span<const float> gradient) {
    vector_.assign(weights_.size(), 0.0F);
    std::ranges::copy(gradient, vector_.begin());
    const std::uint64_t missed = collective_->stats().missed;
    auto operation = gradient.empty() ? collective_->follow_async(vector_)
                                      : collective_->allreduce_async(vector_);
    if (!operation)
        return std::unexpected(operation.error());
    const auto report = operation->wait();
    // That the others went on without this worker is no error here.
    if (!report && collective_->stats().missed == missed)
        return std::unexpected(report.error());
    round_++;
    if (!report)
        return Round::missed;
    weights_.swap(vector_);
    version_ = round_;
    return report->left_out < weights_.size() ? Round::took : Round::left_out;
}

Result<BoundedStaleness::Outcome> BoundedStaleness::commit(std::span<const float> gradient,
                                                           std::uint32_t version) {
    if (gradient.size() != weights_.size())
        return fail("commit gradient", {}, 0, {},
                    "it has " + std::to_string(gradient.size()) + " elements, the model " +
                        std::to_string(weights_.size()));
    // Versions wrap.
    while (round_ - version <= bound_) {
        stats_.offered++;
        const std::uint32_t age = round_ - version;
        const auto taken = take_part(gradient);
        if (!taken)
            return std::unexpected(taken.error());
        if (*taken != Round::took)
            continue;
        stats_.committed++;
        stats_.stalest = std::max(stats_.stalest, age);
        return Outcome::committed;
    }
    stats_.too_stale++;
    // Where this worker was left out just now it has the weights already.
    while (version_ != round_) {
        if (const auto taken = take_part({}); !taken)
            return std::unexpected(taken.error());
    }
    return Outcome::too_stale;
}

} // namespace olaf
