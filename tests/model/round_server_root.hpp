// SPDX-License-Identifier: BSD-2-Clause
// A parameter server at the root of the simulation: libolaf's RoundRoot with a rule that answers the sum
// itself, and sees to it that no sum is given to the rule twice, or out of order.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "endpoints/rounds/child.hpp"
#include "endpoints/rounds/root.hpp"
#include "round_node.hpp"
#include "round_wire.hpp"

namespace olaf::model {

class RoundServerRoot : private RoundRootUser {
  public:
    RoundServerRoot(const RoundServerOptions &options, std::uint32_t generation)
        : options_(options), root_(options, generation, *this) {}

    /// A well-formed message arrives; appends what leaves. What is wrong, or nothing.
    std::string arrive(const RoundMessage &message, std::vector<RoundSent> &out) {
        out_ = &out;
        const auto taken = message.kind == RoundMessage::Kind::sync
                               ? root_.sync(sync_of(message))
                               : root_.contribution(contribution_of(message), message.lanes);
        if (!taken)
            wrong_ = "the server rejects a message: " + std::string(name(taken.error()));
        return wrong_;
    }

    /// Once every worker has every answer: of which round the rule has seen a part only, or nothing.
    [[nodiscard]] std::string half_seen() const {
        for (const auto &[round, seen] : seen_)
            if (seen.chunks.size() < seen.of && seen.of != kFarewellChunks)
                return "the rule has seen " + std::to_string(seen.chunks.size()) + " of " +
                       std::to_string(seen.of) + " chunks of round " + std::to_string(round);
        return {};
    }

  private:
    [[nodiscard]] JobSync sync_of(const RoundMessage &message) const {
        return {.job = options_.job,
                .rank = message.rank,
                .round = message.round,
                .chunk = message.chunk,
                .stamp = message.time,
                .generation = message.generation,
                .pool = message.pool,
                .incarnation = message.incarnation,
                .session = message.session,
                .run = {.training = message.run.training, .number = message.run.number},
                .anew = message.anew,
                .padding = message.padding};
    }
    [[nodiscard]] RoundContribution contribution_of(const RoundMessage &message) const {
        return {.job = options_.job,
                .rank = message.rank,
                .round = message.round,
                .count = message.count,
                .generated_ns = message.time,
                .chunk = message.chunk,
                .chunks = message.chunks,
                .kind = kind_of(message.vector),
                .generation = message.generation,
                .exponent = message.exponent,
                .lanes = static_cast<std::uint16_t>(message.lanes.size()),
                .format = options_.format,
                .has_checksum = options_.checksum,
                .partial = message.partial,
                .flush = message.flush,
                .misfit = misfit_of(message)};
    }

    // RoundRootUser
    [[nodiscard]] std::optional<VectorIdentity> wants(const VectorIdentity &) const override { return {}; }
    void answer(RoundTotal &total, std::span<std::uint64_t>) override {
        const auto [last, is_first] = answered_.try_emplace(total.chunk, total.round);
        if (!is_first && static_cast<std::int32_t>(total.round - last->second) <= 0)
            wrong_ = "the rule gets chunk " + std::to_string(total.chunk) + " of round " +
                     std::to_string(total.round) + " after that of round " +
                     std::to_string(last->second);
        last->second = total.round;
        seen_[total.round].of = total.chunks;
        seen_[total.round].chunks.insert(total.chunk);
    }
    void send(std::uint32_t rank, const olaf_header &header,
              std::span<const std::uint64_t> lanes) override {
        const auto bytes = to_bytes(header, lanes);
        if (const auto answer = decode_sync(bytes)) {
            if (answer->status == OLAF_CONTROL_DONE && answer->session != session_) {
                session_ = answer->session; // its first round is 0 again
                answered_.clear();
                seen_.clear();
            }
            out_->push_back({.to = rank,
                             .message = {.kind = RoundMessage::Kind::sync_answer,
                                         .rank = answer->rank,
                                         .round = answer->round,
                                         .chunk = answer->chunk,
                                         .generation = answer->generation,
                                         .time = answer->stamp,
                                         .pool = answer->pool,
                                         .status = static_cast<RoundMessage::Status>(answer->status),
                                         .missing = answer->missing,
                                         .padding = answer->padding,
                                         .session = answer->session,
                                         .anew = answer->anew,
                                         .above = answer->above}});
        } else if (const auto result = decode_result(bytes))
            out_->push_back({.to = rank,
                             .message = {.kind = RoundMessage::Kind::result,
                                         .rank = result->rank,
                                         .round = result->round,
                                         .count = result->count,
                                         .chunk = result->chunk,
                                         .chunks = result->chunks,
                                         .vector = vector_of(result->kind),
                                         .generation = result->generation,
                                         .time = result->generated_ns,
                                         .exponent = result->exponent,
                                         .pool = result->pool,
                                         .partial = result->partial,
                                         .late = result->late,
                                         .stale = result->stale,
                                         .lanes = {lanes.begin(), lanes.end()},
                                         .misfit = misfit_of(result->misfit)}});
        else
            wrong_ = "the server sends what isn't a message";
    }

    RoundServerOptions options_;
    RoundRoot root_;
    std::vector<RoundSent> *out_ = nullptr;
    struct Seen {
        std::uint32_t of = 0;
        std::set<std::uint32_t> chunks = {};
    };
    std::uint64_t session_ = 0;
    std::map<std::uint32_t, std::uint32_t> answered_; ///< of this session: rounds, by chunk
    std::map<std::uint32_t, Seen> seen_;              ///< and by round
    std::string wrong_;
};

} // namespace olaf::model
