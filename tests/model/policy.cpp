// SPDX-License-Identifier: BSD-2-Clause
#include "policy.hpp"

namespace olaf::model {

namespace {

__extension__ using Wide = __int128;

Verdict aggregate_or_seal(const Rule &rule, const Update &waiting, const Update &arriving) {
    Wide sum = static_cast<Wide>(waiting.count) + arriving.count;
    return sum > rule.max_count ? Verdict::seal : Verdict::aggregate;
}

/// The difference of the mean rewards and the threshold, both times the product of the counts.
Verdict by_reward(const Rule &rule, const Update &waiting, const Update &arriving) {
    Wide difference = static_cast<Wide>(arriving.reward) * waiting.count -
                      static_cast<Wide>(waiting.reward) * arriving.count;
    Wide threshold = static_cast<Wide>(rule.reward_threshold) * waiting.count * arriving.count;
    if (difference > threshold)
        return Verdict::replace;
    if (difference < -threshold)
        return Verdict::drop;
    return aggregate_or_seal(rule, waiting, arriving);
}

} // namespace

Verdict judge(const Rule &rule, const Update &waiting, const Update &arriving) {
    switch (rule.policy) {
    case Policy::fifo:
        return Verdict::seal;
    case Policy::aggregate:
        return aggregate_or_seal(rule, waiting, arriving);
    case Policy::newest:
        return Verdict::replace;
    case Policy::olaf:
        break;
    }
    if (waiting.count == 1 && waiting.worker == arriving.worker)
        return Verdict::replace;
    if (rule.reward_threshold >= 0)
        return by_reward(rule, waiting, arriving);
    return aggregate_or_seal(rule, waiting, arriving);
}

} // namespace olaf::model
