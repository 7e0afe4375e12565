// SPDX-License-Identifier: BSD-2-Clause
// All that is read of a queue, in one go: what status, metrics, top, report and the page show.
#pragma once

#include <optional>
#include <string>

#include "loader/datapath/aom.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/losses.hpp"
#include "loader/datapath/jobs.hpp"
#include "loader/datapath/snapshot.hpp"
#include "loader/datapath/spells.hpp"

namespace olaf {

/// What the kernel has counted since the queue was attached.
struct Counted {
    Snapshot snapshot;
    std::optional<olaf_losses> losses; ///< nothing: not watched
    /// Frames whose end nobody could look at (attachment/losses.hpp), since attach.
    std::optional<std::uint64_t> deaths_unseen;
};
Result<Counted> read_counted(const Attachment &attachment);

/// The same and the ages, since attach or the last `olaf reset`.
struct QueueReading : Counted {
    AomReading aom;
    std::vector<JobReading> jobs; ///< since each was set
    Spells spells; ///< of troubles
    std::uint64_t reset_ns = 0; ///< when that was, CLOCK_MONOTONIC; 0: never

    /// Of a queue in a card; nothing: it is in the kernel.
    struct OfCard {
        std::string lost;    ///< why nothing of it is known; "": it is there
        bool queues = false; ///< it takes updates in
    };
    std::optional<OfCard> card = {};
    [[nodiscard]] bool lost() const { return card && !card->lost.empty(); }

    /// Its counters, for the tables of counters.hpp. They are this object's: keep it.
    [[nodiscard]] Numbers numbers() const;
};

Result<QueueReading> read_queue(const Attachment &attachment);

} // namespace olaf
