// SPDX-License-Identifier: BSD-2-Clause
// How the example's server moves a model by an update: the library's rules, and
// one of its own.
#pragma once

#include <olaf/rules.hpp>

#include <map>
#include <string>

namespace olaf::cartpole {

/// Adam (Kingma and Ba, 2015) for updates that may stand for several: an aggregate
/// of n counts as n steps with their average, so the moments forget n times and
/// the step is n times as long, up to a limit beyond which one direction isn't
/// worth following further. Models of one segment only.
[[nodiscard]] Rule adam_rule(double learning_rate);

enum class RuleName { paper, sgd, adam };

inline const std::map<std::string, RuleName> kRuleNames = {
    {"paper", RuleName::paper}, {"sgd", RuleName::sgd}, {"adam", RuleName::adam}};

/// A new rule object; a learning rate of 0 stands for the one that suits the rule.
[[nodiscard]] Rule make_rule(RuleName name, double learning_rate = 0);

} // namespace olaf::cartpole
