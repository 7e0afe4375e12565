// SPDX-License-Identifier: BSD-2-Clause
// The programs whose cost per update is measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <linux/bpf.h>

#include "support.hpp"

namespace olaf::bench {

struct FoldCase {
    std::string name;
    int program = -1;
    Frame frame;
    std::uint32_t verdict = XDP_DROP;
    std::int64_t payload_bytes = 0; ///< of one update
    std::function<void()> check{};  ///< folds a little and compares the sums; ends the program if wrong
    std::shared_ptr<void> owner{};  ///< keeps the programs and maps loaded
};

std::vector<FoldCase> make_fold_cases();

/// The floor: parse and drop, and the program that varies frames in front of it.
void add_drop_cases(std::vector<FoldCase> &cases);

/// Olaf's ingress program folding updates of `lanes` lanes into `clusters` clusters: in random order
/// if `varied`, else (clusters = 1) one frame again and again.
FoldCase olaf_case(const std::string &name, std::uint32_t clusters, std::uint32_t lanes,
                   bool varied);

/// XAgg's Algorithm 1 over `aggregates` fragments.
FoldCase xagg_case(std::uint32_t aggregates);

} // namespace olaf::bench
