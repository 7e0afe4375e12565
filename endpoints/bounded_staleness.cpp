// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/bounded_staleness.hpp>

#include <algorithm>
#include <string>

namespace olaf {
namespace {

constexpr std::size_t kLongestStep = 64; // rounds; each has a vector

} // namespace

// Waits for a round. True if the worker's part is in its sum. A round that was over too long ago
// is no error: then nothing is known of its weights.
Result<bool> BoundedStaleness::settle(Collective::Operation operation,
                                      std::vector<float> &vector) {
    const auto report = operation.wait();
    round_++;
    if (report) {
        weights_.swap(vector);
        version_ = round_;
        return report->left_out < weights_.size();
    }
    // One that is broken fails now, too.
    if (const auto polled = collective_->poll(); !polled)
        return std::unexpected(report.error());
    return false;
}

Result<bool> BoundedStaleness::offer(std::span<const float> gradient) {
    std::vector<float> vector(gradient.begin(), gradient.end());
    const auto operation = collective_->allreduce_async(vector);
    if (!operation)
        return std::unexpected(operation.error());
    return settle(*operation, vector);
}

// All rounds that are over at once: one by one the others would go on as fast. No more than those,
// for this worker can't take part in a round that it has followed.
Result<void> BoundedStaleness::catch_up() {
    while (version_ != round_) {
        const std::size_t step = std::clamp<std::size_t>(collective_->behind(), 1, kLongestStep);
        std::vector<std::vector<float>> vectors(step, std::vector<float>(weights_.size()));
        std::vector<Collective::Operation> operations;
        for (std::vector<float> &vector : vectors) {
            const auto operation = collective_->follow_async(vector);
            if (!operation)
                return std::unexpected(operation.error());
            operations.push_back(*operation);
        }
        for (std::size_t i = 0; i < step; i++)
            if (const auto settled = settle(operations[i], vectors[i]); !settled)
                return std::unexpected(settled.error());
    }
    return {};
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
        const auto taken = offer(gradient);
        if (!taken)
            return std::unexpected(taken.error());
        if (!*taken)
            continue;
        stats_.committed++;
        stats_.stalest = std::max(stats_.stalest, age);
        return Outcome::committed;
    }
    stats_.too_stale++;
    if (const auto caught_up = catch_up(); !caught_up)
        return std::unexpected(caught_up.error());
    return Outcome::too_stale;
}

} // namespace olaf
