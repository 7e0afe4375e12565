// SPDX-License-Identifier: BSD-2-Clause
// What is shown of a queue, row by row: clusters with their rates, and the words for figures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loader/text/counters.hpp"
#include "olaf/events.h"
#include "olaf/queue.h"
#include "options.hpp"
#include "reading.hpp"

namespace olaf {

// Words for what events tell.

std::string_view kind_name(const olaf_event &event);   ///< "arrival", "departure", "drop", "loss"
std::string_view action_name(const olaf_event &event); ///< "aggregated", "riding", "full", "transmit"
/// Why a message was malformed or refused; "" for any other event.
std::string_view cause_name(const olaf_event &event);

/// Whether such events are about an update whose cluster, worker and age are known.
bool names_updates(std::string_view kind_or_action);

/// Every kind and every action: what `--action` takes.
const std::vector<std::string> &event_names();

// Figures of the list of counters in words, as people are told of them.

/// What follows its number: "cluster id 1024 or above", "passed through"; "" for a group itself.
std::string words_of(const Figure &figure, const olaf_config &config);

/// "messages", or "message" for one: of a unit of the list.
std::string unit_text(std::uint64_t number, std::string_view unit);

/// The reasons of a group that aren't 0: "231 cluster id 1024 or above, 12 count above the
/// cluster's max_count", the largest first. The number is left out where there is only one.
std::string reasons_text(olaf_group group, const Numbers &numbers, const olaf_config &config);

/// The key of the one that has counted most; "" if none has.
std::string_view main_reason(olaf_group group, const Numbers &numbers);

// A queue's or a cluster's messages, in and out: what status, top, report and the page compare.

/// What came in, went out and was lost.
struct Flow {
    std::uint64_t received = 0;    ///< messages, dropped ones included
    std::uint64_t departed = 0; ///< messages that left the queue, as `olaf status` counts them
    std::uint64_t messages_out = 0; ///< those, and messages that passed through
    std::uint64_t updates_out = 0;  ///< updates folded into messages_out
    std::uint64_t dropped = 0;     ///< messages
    // Of a whole queue alone:
    std::uint64_t refused = 0;      ///< messages that weren't received: malformed, or not allowed
    std::uint64_t updates_lost = 0; ///< behind the queue

    /// Updates in a departing message, on average; 0 without any.
    [[nodiscard]] double fold_factor() const {
        return messages_out == 0
                   ? 0
                   : static_cast<double>(updates_out) / static_cast<double>(messages_out);
    }
};

Flow flow_of(const olaf_slot_counters &slots);
/// Of a whole queue: with what no slot has counted.
Flow flow_of(const QueueReading &reading);
Flow difference(const Flow &later, const Flow &earlier);

// What a queue did between two readings, cluster by cluster and job by job: the figures of top,
// report and the live page.

struct ClusterRow {
    std::uint32_t cluster = 0;
    Flow total;                     ///< since attach
    Flow recent;                    ///< between the readings
    double in_per_s = 0;            ///< messages
    double out_per_s = 0;           ///< messages
    ClusterAom aom;                 ///< as `olaf status` shows it; segments 0: nothing departed yet
    RecentAge arrival;              ///< AoM between the readings, by arrival
    RecentAge generated;            ///< the same by generated_ns
    bool idle = false;              ///< nothing came or went between them, and nothing waits
};

struct JobRow {
    std::uint32_t job = 0;
    std::string state;              ///< as status has it
    std::uint32_t heard = 0;        ///< members that were ever heard of
    std::uint32_t children = 0;     ///< members that there must be
    double contributions_per_s = 0; ///< added
    double chunks_per_s = 0;        ///< completed
    std::uint64_t open = 0, up = 0; ///< chunks that gather, and that are with the parent
    std::uint64_t late = 0, stale = 0; ///< contributions, since the job was set
    std::string group = {};            ///< that results go to; "": to each member
};

struct Rows {
    double seconds = 0;               ///< between the readings
    Flow total, recent;               ///< of all clusters
    std::vector<ClusterRow> clusters; ///< those that were ever heard of, by id
    std::vector<JobRow> jobs;         ///< by id
};

/// Of the time after `olaf reset`, if it came between them.
Rows rows_between(const Reading &earlier, const Reading &later);

/// The ages of a cluster; null: it has none.
const ClusterAom *aom_of(const AomReading &reading, std::uint32_t id);

} // namespace olaf
