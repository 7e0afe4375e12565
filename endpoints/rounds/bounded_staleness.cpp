// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/bounded_staleness.hpp>

#include <algorithm>
#include <string>

#include <olaf/try.hpp>

namespace olaf {
namespace {

// Bounds the reading of what others, who go on meanwhile, have sent.
constexpr unsigned kMostLooks = 16;

} // namespace

// Waits for a round. One that was over too long ago is no error: then nothing is known of its
// weights, nor who was in it.
Result<BoundedStaleness::Round> BoundedStaleness::settle(Collective::Operation operation,
                                                         std::vector<float> &vector) {
    const auto report = operation.wait();
    if (report) {
        weights_.swap(vector);
        version_ = collective_->next_round();
        return report->left_out < weights_.size() ? Round::took : Round::left_out;
    }
    // A Collective that is broken fails now, too.
    if (const auto polled = collective_->poll(); !polled)
        return std::unexpected(report.error());
    return Round::missed;
}

Result<BoundedStaleness::Round> BoundedStaleness::offer(std::span<const float> gradient) {
    std::vector<float> vector(gradient.begin(), gradient.end());
    const auto operation = OLAF_TRY(collective_->allreduce_async(vector));
    return settle(operation, vector);
}

// The newest weights that came by themselves, if they are newer.
bool BoundedStaleness::take_heard() {
    const std::uint32_t round = collective_->next_round();
    if (!collective_->take_overheard(heard_))
        return false;
    weights_.swap(heard_);
    version_ = collective_->next_round();
    stats_.skipped += version_ - round; // versions wrap
    return true;
}

// To the newest weights. The node may have given up a round by the time that it is asked for it:
// where others are fast and this worker gets the CPU now and then, always. So what came by itself
// goes first.
Result<void> BoundedStaleness::catch_up() {
    for (unsigned looks = 0; looks < kMostLooks; looks++) {
        OLAF_TRY(collective_->poll());
        if (!take_heard())
            break;
    }
    while (version_ != collective_->next_round()) {
        std::vector<float> vector(weights_.size());
        const auto operation = OLAF_TRY(collective_->follow_async(vector));
        OLAF_TRY(settle(operation, vector));
        stats_.followed++;
        take_heard();
    }
    return {};
}

Result<BoundedStaleness::Outcome> BoundedStaleness::commit(std::span<const float> gradient,
                                                           std::uint32_t version) {
    if (gradient.size() != weights_.size())
        return fail("commit gradient", {}, 0, {},
                    "it has " + std::to_string(gradient.size()) + " elements, the model " +
                        std::to_string(weights_.size()));
    bool may_be_in = false;
    for (;;) {
        OLAF_TRY(catch_up());
        if (may_be_in) {
            stats_.unknown++;
            return Outcome::unknown;
        }
        if (enough_ && enough_(weights_))
            return Outcome::enough;
        const std::uint32_t age = collective_->next_round() - version; // versions wrap
        if (age > bound_) {
            stats_.too_stale++;
            return Outcome::too_stale;
        }
        stats_.offered++;
        const Round taken = OLAF_TRY(offer(gradient));
        may_be_in = taken == Round::missed;
        if (taken != Round::took)
            continue;
        stats_.committed++;
        stats_.stalest = std::max(stats_.stalest, age);
        return Outcome::committed;
    }
}

} // namespace olaf
