// SPDX-License-Identifier: BSD-2-Clause
// What travels between children and a node, as plain as can be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace olaf::model {

inline constexpr std::uint32_t kEverybody = 0xffffffff; ///< the rank of a result for all
inline constexpr std::uint32_t kNobody = 0xffff;        ///< the rank that an OVER names where none is known
inline constexpr std::uint32_t kFarewell = 0xffffffff;  ///< the chunks of a farewell
inline constexpr std::uint16_t kSessionLanes = 4;       ///< incarnation, session and run

/// Of which training, and its number there. All zero: none.
struct Run {
    std::uint64_t training = 0, number = 0;
    bool operator==(const Run &) const = default;
};

struct RoundMessage {
    /// An order is any CONTROL but SYNC.
    enum class Kind { contribution, result, sync, sync_answer, order, order_answer };
    enum class Status { done, wait, old, gone, refused, over, other };
    enum class Action { join = 1, leave = 3, seth, fbcast, halt, resume, reset };

    Kind kind = Kind::contribution;
    std::uint32_t rank = 0;
    std::uint32_t round = 0;
    std::uint32_t count = 1; ///< STALE: the generation that the contribution named
    std::uint32_t chunk = 0;
    std::uint32_t chunks = 1;
    std::uint32_t vector = 0; ///< workers << 16 | content
    std::uint32_t generation = 0;
    std::int64_t time = 0; ///< generated_ns; a SYNC's stamp
    std::int16_t exponent = 0;
    std::uint8_t pool = 0;
    bool partial = false;
    bool late = false;
    bool stale = false;
    bool flush = false;
    bool spoilt = false; ///< of a contribution: the result that its sender got doesn't match its checksum lane
    Status status = Status::done;
    std::uint32_t missing = 0; ///< SETH: the threshold; OTHER: how many are there
    Action action = Action::join;
    /// CONTROL: its lanes, of which SYNC and JOIN have kSessionLanes at least. The others mean nothing.
    std::uint16_t padding = 0;
    std::uint64_t incarnation = 0; ///< SYNC, JOIN: the sender's; an answer has none
    std::uint64_t session = 0;     ///< and the one that it is in; 0: none
    Run run = {.training = 1}; ///< SYNC, JOIN: the sender's; an answer has that which has the job
    bool anew = false;  ///< SYNC: of a node with a member that has none; WAIT: the rank must begin anew
    bool above = false; ///< WAIT, OVER, OTHER: the rank is one of a node above
    std::vector<std::uint64_t> lanes = {}; ///< of a contribution: none in a probe
    /// The identity of a vector that differs from this one: then there is no sum, and no time.
    std::optional<std::uint64_t> misfit = {};

    /// Whether it answers a contribution of a job in which two vectors differ already.
    [[nodiscard]] bool is_told_misfit() const {
        return kind == Kind::result && misfit && lanes.empty();
    }
    [[nodiscard]] std::uint64_t identity() const { return std::uint64_t{chunks} << 32 | vector; }
};

} // namespace olaf::model
