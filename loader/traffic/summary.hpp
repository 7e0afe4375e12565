// SPDX-License-Identifier: BSD-2-Clause
// What `olaf send` and `olaf receive` found. Times are nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <olaf/aom_meter.hpp>
#include <olaf/reject.hpp>

#include "olaf/result.hpp"
#include "options.hpp"

namespace olaf {

/// Some numbers, kept as the least, the most and their sum.
struct Spread {
    std::uint64_t count = 0;
    std::int64_t least = 0, most = 0;
    double sum = 0;

    void add(std::int64_t value) {
        least = count == 0 ? value : std::min(least, value);
        most = count == 0 ? value : std::max(most, value);
        sum += static_cast<double>(value);
        count++;
    }
    void add(const Spread &other) {
        if (other.count == 0)
            return;
        least = count == 0 ? other.least : std::min(least, other.least);
        most = count == 0 ? other.most : std::max(most, other.most);
        sum += other.sum;
        count += other.count;
    }
    [[nodiscard]] double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

/// A sawtooth (docs/aom.md) from its first update to a moment.
struct AgeOfModel {
    double average_ns = 0, peak_mean_ns = 0;
    std::int64_t peak_highest_ns = 0;
    std::uint64_t peaks = 0;
};
AgeOfModel age_of_model(const AomMeter &meter, std::int64_t until_ns);

struct SentCluster {
    std::uint32_t cluster = 0;
    std::uint64_t sent = 0;     ///< updates that this host's kernel took
    std::uint64_t unsent = 0;   ///< updates that it didn't
    std::uint64_t received = 0; ///< updates of ours that the server has told of
    std::uint64_t others = 0;   ///< of other senders, meanwhile
    /// In which ours and others' came; nothing where others sent: whose they were nobody knows.
    std::optional<std::uint64_t> messages = {};
    AgeOfModel aom = {}; ///< until the answer is back: all on this host's clock
    Spread round_trip_ns = {}, version_lag = {};

    [[nodiscard]] std::uint64_t lost() const { return sent > received ? sent - received : 0; }
    [[nodiscard]] std::optional<std::uint64_t> folded() const {
        if (!messages)
            return std::nullopt;
        return received > *messages ? received - *messages : 0;
    }
};

struct SendSummary {
    SendOptions options = {};
    std::string server = {}; ///< address and port
    bool ipv6 = false;
    std::uint64_t frame_bytes = 0; ///< of an update, with its Ethernet header
    std::uint64_t measured_ns = 0; ///< how long was sent
    bool interrupted = false;
    std::vector<SentCluster> clusters = {};
    SentCluster total = {};            ///< of all; its aom: the mean average, the highest peaks
    std::optional<Error> failure = {}; ///< what ended it early
};

struct ReceivedCluster {
    std::uint32_t cluster = 0;
    std::size_t elements = 0;
    std::uint64_t messages = 0, updates = 0; ///< without those that only ask
    std::uint32_t workers = 0;               ///< that updates came of
    std::uint64_t worst_lag = 0;             ///< versions
    AgeOfModel aom = {};                     ///< to the last update, by both hosts' clocks
    std::int64_t youngest_ns = 0; ///< age on arrival; negative: the sender's clock is ahead
};

struct ReceiveSummary {
    std::string bound = {};        ///< address and port
    std::uint64_t measured_ns = 0; ///< from the first update to the last
    std::uint64_t messages = 0, updates = 0, answers = 0, answers_unsent = 0;
    RejectCounts refused = {};
    std::vector<ReceivedCluster> clusters = {};
};

/// Whether ages tell that two hosts' clocks differ: no network takes a second, or less than none.
inline bool clocks_differ(std::int64_t youngest_ns) {
    return youngest_ns < -1'000'000 || youngest_ns > 5'000'000'000;
}

} // namespace olaf
