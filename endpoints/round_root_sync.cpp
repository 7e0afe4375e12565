// SPDX-License-Identifier: BSD-2-Clause
// docs/rounds.md, "Agreeing where to begin".
#include <algorithm>
#include <tuple>

#include "round_root.hpp"

namespace olaf {

void RoundRoot::stop() {
    running_ = false;
    generation_ += generation_ == UINT32_MAX ? 2 : 1;
    asked_.reset();
    begin_.reset();
    pool_ = options_.pool;
    for (Slot &slot : slots_)
        for (Buffer &buffer : slot.buffers)
            buffer.state = State::free;
}

Decoded<void> RoundRoot::sync(const JobSync &message) {
    if (message.answer || message.action != OLAF_CONTROL_SYNC) // its members neither join nor leave
        return std::unexpected(Reject::wrong_type);
    if (message.job != options_.job)
        return std::unexpected(Reject::unknown_cluster);
    if (message.rank >= options_.children)
        return std::unexpected(Reject::not_addressed);
    if (message.padding != 0 && message.padding != options_.lanes)
        return std::unexpected(Reject::wrong_lanes);
    std::int64_t &stamp = stamps_[message.rank];
    if (message.stamp > stamp) { // a new question
        stamp = message.stamp;
        if (running_)
            stop();
        asked_.set(message.rank);
        const auto before = [](const auto &a, const auto &b) {
            return a.first == b.first ? a.second < b.second
                                      : static_cast<std::int32_t>(a.first - b.first) < 0;
        };
        const std::pair named(message.round, message.chunk);
        if (!begin_ || before(named, *begin_))
            begin_ = named;
        pool_ = std::min(pool_, message.pool);
        if (asked_.count() == options_.children) {
            // A server that was restarted doesn't know what was told of the round's first chunks.
            if (stats_.answered == 0)
                begin_->second = 0;
            running_ = true;
            stats_.agreed++;
        }
    } else if (message.stamp < stamp || !asked_[message.rank]) {
        answer_sync(message, OLAF_CONTROL_OLD);
        return {};
    }
    answer_sync(message, running_ ? OLAF_CONTROL_DONE : OLAF_CONTROL_WAIT);
    return {};
}

void RoundRoot::answer_sync(const JobSync &message, olaf_control_status status) {
    JobSync answer = message;
    answer.answer = true;
    answer.status = status;
    answer.generation = generation_;
    answer.pool = pool_;
    answer.lanes = options_.lanes;
    answer.format = options_.format;
    answer.has_checksum = options_.checksum;
    if (status == OLAF_CONTROL_DONE)
        std::tie(answer.round, answer.chunk) = *begin_;
    if (status == OLAF_CONTROL_WAIT) {
        answer.missing = options_.children - static_cast<std::uint32_t>(asked_.count());
        for (answer.rank = 0; asked_[answer.rank];)
            answer.rank++;
    }
    const std::vector<std::uint64_t> padding(message.padding);
    user_->send(message.rank, encode(answer), padding);
}

} // namespace olaf
