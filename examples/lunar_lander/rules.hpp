// SPDX-License-Identifier: BSD-2-Clause
// How the example's server moves a model by an update, which is a change of weights: the library's
// rules, and three of its own.
#pragma once

#include <olaf/rules.hpp>

#include <map>
#include <memory>
#include <string>

namespace olaf::lunar_lander {

/// w ← w + rate · mean, whatever number of updates the mean is of: what a server does that doesn't
/// know of folding.
[[nodiscard]] Rule mean_rule(double rate);

/// async_sgd_rule, but only for updates whose mean reward is above a moving average of all updates'
/// (a twentieth of each) less a margin.
[[nodiscard]] Rule gated_rule(double rate, double margin = 50);

/// How many updates wait for a gather to be complete, of all segments the most.
using Gathered = std::shared_ptr<std::uint32_t>;

/// iSwitch's asynchronous training as OLAF's section 8.2 tells it: collects `gather` updates, then
/// w ← w + rate · their mean. An aggregate can't be divided: where it completes a gather, all of it
/// is in that mean, and where it completes several, the step is so many times as long.
[[nodiscard]] Rule gather_rule(double rate, std::uint32_t gather, Gathered waiting);

enum class RuleName { sum, mean, paper, gate, gather };

inline const std::map<std::string, RuleName> kRuleNames = {{"sum", RuleName::sum},
                                                           {"mean", RuleName::mean},
                                                           {"paper", RuleName::paper},
                                                           {"gate", RuleName::gate},
                                                           {"gather", RuleName::gather}};

/// γ of all rules unless another one is asked for.
inline constexpr double kRate = 0.25;

} // namespace olaf::lunar_lander
