// SPDX-License-Identifier: BSD-2-Clause
// The messages of jobs, which sum vectors in rounds (docs/rounds.md), in host byte order.
// Pure and thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <olaf/message.hpp>
#include <olaf/run.h>

namespace olaf {

/// What a vector is, besides its chunks.
struct VectorKind {
    std::uint16_t workers = 0; ///< of the sender's job; 0: not told
    olaf_content content = OLAF_CONTENT_UNTOLD;
    std::uint16_t last = 0; ///< elements of its last piece, below 2^13
    friend bool operator==(const VectorKind &, const VectorKind &) = default;
};

/// Whether the sums of both are the same. It is divided by the members, if at all.
[[nodiscard]] bool adds_up(const VectorKind &one, const VectorKind &other);

/// What must be the same of all that contribute to a round (docs/rounds.md, "One vector").
struct VectorIdentity {
    std::uint32_t chunks = 1;
    VectorKind kind = {};
    friend bool operator==(const VectorIdentity &, const VectorIdentity &) = default;
};

/// CONTRIBUTION, child to node: one chunk of a vector.
struct RoundContribution {
    std::uint32_t job = 0;
    std::uint32_t rank = 0;
    std::uint32_t round = 0;
    std::uint32_t count = 1;       ///< workers' contributions in it
    std::int64_t generated_ns = 0; ///< CLOCK_TAI
    std::uint32_t chunk = 0;
    std::uint32_t chunks = 1;
    VectorKind kind = {};
    std::uint32_t generation = 0; ///< that the sender knows; 0: none
    std::int16_t exponent = 0;
    std::uint16_t lanes = 0; ///< checksum lane included; 0: a probe
    Format format = Format::i32x2;
    bool has_checksum = false;
    bool partial = false;
    bool flush = false;  ///< the sender sends nothing more until results come
    bool spoilt = false; ///< the result that came doesn't match its checksum lane
    /// Two vectors below the sender differ: that of `chunks` and `kind`, and this one.
    /// `generated_ns` isn't told then.
    std::optional<VectorIdentity> misfit = {};
};

/// RESULT, node to child.
struct RoundResult {
    std::uint32_t job = 0;
    std::uint32_t rank = 0; ///< the addressee's
    std::uint32_t round = 0;
    /// Workers' contributions in it. If stale: the generation that the contribution named.
    std::uint32_t count = 1;
    std::int64_t generated_ns = 0;
    std::uint32_t chunk = 0;
    std::uint32_t chunks = 1;
    VectorKind kind = {};
    std::uint32_t generation = 0; ///< the job's
    std::int16_t exponent = 0;    ///< the maximum of all
    std::uint8_t pool = 0;        ///< p
    std::uint16_t lanes = 0;      ///< checksum lane included; 0 if stale, and in some misfits
    Format format = Format::i32x2;
    bool has_checksum = false;
    bool partial = false;
    bool late = false;  ///< the addressee's own contribution isn't in it
    bool stale = false; ///< this round is no longer possible here
    /// There is no sum, since two members' vectors differ: that of `chunks` and `kind`, and this
    /// one. `generated_ns` isn't told then.
    std::optional<VectorIdentity> misfit = {};
};

/// CONTROL of a job, both ways. SYNC: where do all begin? JOIN, LEAVE: from which round on? RESET:
/// all ask anew.
struct JobSync {
    olaf_control_action action = OLAF_CONTROL_SYNC;
    std::uint32_t job = 0;
    /// The asker's; WAIT: the lowest that hasn't asked; OVER: the first that began anew; OTHER: the
    /// lowest of the other run.
    std::uint32_t rank = 0;
    std::uint32_t round = 0; ///< of the oldest result that the asker lacks; DONE: where all begin
    std::uint32_t chunk = 0;
    std::int64_t stamp = 0; ///< CLOCK_TAI when it began to ask
    /// WAIT: members that haven't asked; OTHER: those of the other run that are there.
    std::uint32_t missing = 0;
    std::uint16_t lanes = 0; ///< in other answers: of the job, checksum lane included; 0: not told
    Format format = Format::i32x2;
    bool has_checksum = false;
    /// SYNC: in which the asker was told DONE last. Else the job's, as far as the asker knows; in
    /// an answer the job's, or 0: it isn't told.
    std::uint32_t generation = 0;
    olaf_control_status status = OLAF_CONTROL_DONE;
    std::uint8_t pool = 0; ///< p that the asker can take; DONE: what all take
    bool answer = false;
    bool above = false; ///< WAIT, OVER, OTHER: `rank` is of a node above the one that answers
    /// Of a SYNC or JOIN (docs/rounds.md, "Sessions"): the asker's random number, and the session
    /// that it is in; 0: none yet. An answer has the session alone.
    std::uint64_t incarnation = 0;
    std::uint64_t session = 0;
    /// Of a SYNC or JOIN: the asker's; in an answer, whoever has the job. All zero: nobody. OTHER:
    /// of another training its alias, and the number 0.
    olaf_run run = {};
    /// A node asks, and a worker below it has no session yet. WAIT: all have asked, and `rank` is
    /// the lowest that names a session which is over.
    bool anew = false;
    /// Lanes of the message, of which SYNC and JOIN have kSyncLanes at least. Those behind the
    /// run are 0. The answer to a child has as many.
    std::uint16_t padding = 0;

    /// OLD, where the session is: the newest stamp of the asker's rank that the node knows. Another
    /// process may have asked by it.
    [[nodiscard]] std::int64_t newest_stamp() const {
        constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() - 1;
        return static_cast<std::int64_t>(std::min(session, kMost));
    }
    /// OTHER, where the session is: how long the other run keeps the job if it is heard no more.
    [[nodiscard]] std::chrono::nanoseconds kept_for() const {
        constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
        return std::chrono::nanoseconds(std::min(session, kMost));
    }
};

/// What the lanes of a SYNC or JOIN have in front.
inline constexpr std::uint16_t kSyncLanes = OLAF_SYNC_LANES;

/// What a farewell's contribution has in place of its vector's chunks. No vector is that long.
inline constexpr std::uint32_t kFarewellChunks = OLAF_FAREWELL_CHUNKS;

/// The largest p of a window of 2^p chunks.
inline constexpr std::uint8_t kMostPool = 17;

[[nodiscard]] olaf_header encode(const RoundContribution &contribution);
[[nodiscard]] olaf_header encode(const RoundResult &result);
[[nodiscard]] olaf_header encode(const JobSync &sync);
/// What a node answers to a question of a job in another version of the protocol (docs/rounds.md,
/// "Messages"): a header without lanes, which tells its own version. Empty: the message is none.
[[nodiscard]] std::optional<olaf_header> version_answer(std::span<const std::byte> message);
/// Of a message with a header. All versions have it in one place.
[[nodiscard]] unsigned version_of(std::span<const std::byte> message);
/// The lanes behind that header.
[[nodiscard]] std::vector<std::uint64_t> lanes_of(const JobSync &sync);

/// Each checks everything that the message alone can tell, except the checksum lane.
[[nodiscard]] Decoded<RoundContribution> decode_contribution(std::span<const std::byte> message);
[[nodiscard]] Decoded<RoundResult> decode_result(std::span<const std::byte> message);
/// A SYNC, JOIN, LEAVE or RESET, or the answer to one; wrong_type for other CONTROL messages.
[[nodiscard]] Decoded<JobSync> decode_sync(std::span<const std::byte> message);

} // namespace olaf
