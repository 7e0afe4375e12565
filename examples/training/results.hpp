// SPDX-License-Identifier: BSD-2-Clause
// A training run as files: PREFIX.json, PREFIX-aom.csv and PREFIX-learning.csv.
#pragma once

#include "progress.hpp"

#include <string>

namespace olaf::training {

/// How the run was set up, as far as a reader of the results needs it.
struct RunSettings {
    std::uint64_t seed = 0;
    std::string rule;
    float target = 0;
    std::string measure = "reward"; ///< what a reward is called, as in mean_episode_length
};

/// The summary as one JSON object, ending in a newline. Ages are in ms, from
/// `generated_ns` to arrival; they are averaged up to the last update of any cluster,
/// so that a server left running after its workers measures the training only.
std::string summary_json(const Progress &progress, const ServerStats &server,
                         const RunSettings &settings);

/// time_s,cluster,aom_ms: two rows a delivery, the age before it and after it.
/// A blank line between clusters makes gnuplot lift its pen.
std::string aom_csv(const Progress &progress);

/// time_s,cluster,mean_MEASURE: a row a delivery.
std::string learning_csv(const Progress &progress, const RunSettings &settings);

/// Prints the summary, and writes the three files unless the prefix is "".
Result<void> publish(const std::string &prefix, const Progress &progress, const ServerStats &server,
                     const RunSettings &settings);

} // namespace olaf::training
