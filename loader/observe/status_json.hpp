// SPDX-License-Identifier: BSD-2-Clause
// `olaf status --json`: the object that docs/cli.md promises.
#pragma once

#include <nlohmann/json.hpp>

#include "loader/attachment/attachment.hpp"
#include "loader/attachment/losses.hpp"
#include "loader/datapath/aom.hpp"
#include "loader/datapath/snapshot.hpp"

namespace olaf {

/// All that is read of a queue.
struct QueueState {
    Snapshot snapshot;
    AomReading aom;
    std::optional<olaf_losses> losses; ///< nothing: not watched
};

Result<QueueState> read_queue(const Attachment &attachment);

/// Updates lost behind the queue, as far as anybody watches.
std::uint64_t lost_updates(const QueueState &state);

nlohmann::ordered_json status_json(const Attachment &attachment, const QueueState &state,
                                   bool clusters);

} // namespace olaf
