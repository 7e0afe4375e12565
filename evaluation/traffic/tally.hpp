// SPDX-License-Identifier: BSD-2-Clause
// The server's end of an experiment: takes updates of olaf-replay, measures their ages, counts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <olaf/address.hpp>
#include <olaf/aom_meter.hpp>
#include <olaf/message.hpp>
#include <olaf/result.hpp>

namespace olaf::evaluation {

struct TallyCluster {
    std::uint64_t messages = 0, updates = 0;
    AomMeter aom = {};
    std::map<std::uint32_t, std::uint64_t> folds = {}; ///< messages by the updates in them
    std::vector<std::uint64_t> arrived = {};           ///< updates by worker
};

struct Tally {
    std::map<std::uint32_t, TallyCluster> clusters = {};
    std::uint64_t refused = 0; ///< messages that are no update, or not exact
    std::uint64_t answered = 0;
    std::int64_t first_ns = 0, last_ns = 0; ///< arrivals, CLOCK_TAI
    /// Clusters 0 to this have a model that is fresh when the first update of any comes, so that
    /// one that is never heard has an age, too.
    std::uint32_t expected = 0;

    /// Counts a message that came at `now_ns`. Null if it was refused.
    TallyCluster *take(const Frame &frame, std::size_t size, std::int64_t now_ns);
};

/// Takes updates until SIGINT or SIGTERM. `answer`: each gets an ACK with what has arrived of each
/// worker of its cluster. `listening` is called once the socket is there.
Result<Tally> tally(const Address &bind, std::uint32_t expected, bool answer,
                    const std::function<void()> &listening);

} // namespace olaf::evaluation
