// SPDX-License-Identifier: BSD-2-Clause
// All that is read of a queue, in one go: what status, metrics, top, report and the page show.
#pragma once

#include <optional>

#include "loader/datapath/aom.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/losses.hpp"
#include "loader/datapath/snapshot.hpp"

namespace olaf {

struct QueueReading {
    Snapshot snapshot;
    AomReading aom;
    std::optional<olaf_losses> losses; ///< nothing: not watched

    /// Its counters, for the tables of counters.hpp. They are this object's: keep it.
    [[nodiscard]] Numbers numbers() const;
};

Result<QueueReading> read_queue(const Attachment &attachment);

} // namespace olaf
