// SPDX-License-Identifier: BSD-2-Clause
// What a child contributed, by position: chunks of all rounds, counted in the order of sending.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "endpoints/wire/round_message.hpp"

namespace olaf {

struct KeptChunk {
    std::uint32_t round = 0;
    std::uint32_t chunk = 0;
    std::uint32_t chunks = 1;      ///< of the round
    VectorKind kind = {};          ///< of the round
    std::uint32_t lag = 0;         ///< of the round: RoundChild::add()
    std::int64_t generated_ns = 0; ///< CLOCK_TAI
    std::int16_t exponent = 0;
    bool held = false;      ///< its result came, in this generation
    bool delivered = false; ///< its result was handed on, whenever that was
    bool spared = false;    ///< nobody sends it, since the chunk `lag` earlier brought its sum
    bool spares = false;    ///< by its last result it spares the chunk `lag` later
    bool brought = false;   ///< the sum of the chunk `lag` later was handed on with this one's
    std::optional<std::int16_t> told = {}; ///< exponent of its last result; none: it was missed
    /// Print of the sum that was handed on with this chunk's result; none: none was.
    std::optional<std::uint64_t> sum = {};
    unsigned sendings = 0;          ///< in this generation
    unsigned spoilt = 0;            ///< results that came damaged, in this generation
    bool flying = false;            ///< it was sent, and neither was answered nor counts as lost
    unsigned timeouts = 0;          ///< of these sendings, those as nothing came for long
    std::uint64_t last_sending = 0; ///< its number, among those of all chunks
    std::chrono::nanoseconds sent{0};
    std::chrono::nanoseconds sent_last{0};
    std::vector<std::uint64_t> lanes = {};
    std::vector<float> source = {}; ///< what the chunk `lag` later is made of

    /// Whether the chunk `lag` later is packed by the exponent of this one's result.
    [[nodiscard]] bool leads() const { return !spared && lag > 0 && lag < chunks - chunk; }
    /// Whether its result is needed once more, as all began anew at this chunk or before: the
    /// exponent to pack by, or the sum to compare with the one that was handed on.
    [[nodiscard]] bool is_open_again() const { return !held && (sum || (leads() && told)); }
};

/// Not thread-safe. Lanes stay where they are until their chunk is dropped.
class KeptChunks {
  public:
    using Position = std::uint64_t;

    [[nodiscard]] Position begin() const { return begin_; }
    [[nodiscard]] Position end() const { return begin_ + chunks_.size(); }
    /// Precondition: begin() <= position < end().
    [[nodiscard]] KeptChunk &operator[](Position position) { return chunks_[position - begin_]; }
    [[nodiscard]] const KeptChunk &operator[](Position position) const {
        return chunks_[position - begin_];
    }
    /// What was dropped was held.
    [[nodiscard]] bool is_held(Position position) const {
        return position < begin_ || (position < end() && (*this)[position].held);
    }

    /// Of those that are kept, how many are spared.
    [[nodiscard]] std::size_t spared() const { return spared_; }

    void set_spared(Position position, bool spared) {
        KeptChunk &chunk = (*this)[position];
        spared_ += static_cast<std::size_t>(spared) - static_cast<std::size_t>(chunk.spared);
        chunk.spared = spared;
    }

    /// Appends one, with `lanes` lanes, and memory that may be used before.
    KeptChunk &append(KeptChunk chunk, std::size_t lanes) {
        if (!used_.empty()) {
            chunk.lanes = std::move(used_.back().lanes);
            chunk.source = std::move(used_.back().source);
            chunk.source.clear();
            used_.pop_back();
        }
        chunk.lanes.resize(lanes);
        if (places_.empty() || places_.back().round != chunk.round)
            places_.push_back({.round = chunk.round, .first = end() - chunk.chunk});
        spared_ += chunk.spared ? 1 : 0;
        return chunks_.emplace_back(std::move(chunk));
    }
    /// Drops the oldest. Precondition: there is one.
    void drop() {
        spared_ -= chunks_.front().spared ? 1 : 0;
        used_.push_back({.lanes = std::move(chunks_.front().lanes),
                         .source = std::move(chunks_.front().source)});
        chunks_.pop_front();
        begin_++;
        while (places_.size() > 1 && places_[1].first <= begin_)
            places_.pop_front();
    }

    /// Where a chunk is kept.
    [[nodiscard]] std::optional<Position> find(std::uint32_t round, std::uint32_t chunk) const {
        for (auto place = places_.rbegin(); place != places_.rend(); ++place) {
            if (place->round != round)
                continue;
            const Position position = place->first + chunk;
            const bool there = position >= begin_ && position < end();
            if (there && (*this)[position].round == round)
                return position;
            return {};
        }
        return {};
    }

  private:
    struct Place {
        std::uint32_t round;
        Position first; // of its chunk 0
    };
    struct Memory {
        std::vector<std::uint64_t> lanes;
        std::vector<float> source;
    };

    Position begin_ = 0;
    std::deque<KeptChunk> chunks_;
    std::deque<Place> places_;
    std::vector<Memory> used_; // of chunks that were dropped
    std::size_t spared_ = 0;
};

} // namespace olaf
