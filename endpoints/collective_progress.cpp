// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cerrno>

#include <olaf/clock.hpp>

#include "collective_member.hpp"

namespace olaf {
namespace {

// Bounds poll() under a flood: what is left over waits for the next call.
constexpr std::size_t kMostBatches = 64;

} // namespace

void CollectiveMember::begin_anew() {
    RoundVectors &vectors = *this;
    before_ = child_ ? stats() : CollectiveStats{};
    child_.emplace(RoundChildOptions{.job = options_.job,
                                     .rank = options_.rank,
                                     .lanes = lanes_,
                                     .adapts = options_.lanes == 0,
                                     .format = options_.format,
                                     .has_checksum = options_.checksum,
                                     .workers = options_.workers,
                                     .hears_group = options_.group.family() != AF_UNSPEC},
                   vectors);
    broken_.reset();
    joined_at_.reset();
    has_ended_ = false;
}

CollectiveStats CollectiveMember::stats() const {
    CollectiveStats sum = before_;
    const RoundChildStats &stats = child_->stats();
    sum.sent += stats.sent;
    sum.repeated += stats.repeated;
    sum.results += stats.results;
    sum.spared += stats.spared;
    sum.partial += stats.partial;
    sum.late += stats.late;
    sum.missed += stats.missed;
    sum.agreed += stats.asked;
    sum.unasked += stats.unasked;
    sum.rejected += stats.rejected;
    return sum;
}

// All that the child has to send now; `again`: what is overdue, too.
Result<void> CollectiveMember::send_all(bool again) {
    std::array<olaf_header, kBatch> headers;
    std::array<std::array<iovec, 2>, kBatch> parts;
    std::array<mmsghdr, kBatch> messages;
    const std::int64_t tai = tai_now_ns();
    for (;;) {
        std::size_t count = 0;
        while (count < kBatch) {
            const auto sending = child_->next(now(), tai, again);
            if (!sending)
                break;
            headers[count] = sending->header;
            auto *const lanes = const_cast<std::uint64_t *>(sending->lanes.data());
            parts[count] = {iovec{.iov_base = &headers[count], .iov_len = sizeof(olaf_header)},
                            iovec{.iov_base = lanes, .iov_len = sending->lanes.size_bytes()}};
            messages[count] = {};
            messages[count].msg_hdr.msg_iov = parts[count].data();
            messages[count].msg_hdr.msg_iovlen = sending->lanes.empty() ? 1 : 2;
            count++;
        }
        if (count == 0)
            return {};
        const auto sent = sockets_.node().send(messages.data(), count, options_.send_patience);
        before_.unsent += sent.unsent;
        if (sent.last_errno == EMSGSIZE)
            return give_up("its frames are too long", EMSGSIZE,
                           "lower the mtu to that of the interface, at every worker");
        if (count < kBatch)
            return {};
    }
}

// One batch of each socket at most. Returns the size of the fuller one.
Result<std::size_t> CollectiveMember::receive() {
    const auto own = receive_from(sockets_.node());
    const UdpSocket *group = sockets_.group();
    if (!own || group == nullptr)
        return own;
    const auto for_all = receive_from(*group);
    return for_all ? std::max(*own, *for_all) : for_all;
}

Result<std::size_t> CollectiveMember::receive_from(const UdpSocket &socket) {
    const auto received = batch_.receive(socket);
    if (!received)
        return received;
    for (std::size_t message = 0; message < *received; message++) {
        if (batch_.cut_off(message)) {
            before_.rejected.add(Reject::wrong_length);
            continue;
        }
        const auto bytes = batch_.bytes(message);
        const std::size_t lanes =
            bytes.size() < sizeof(olaf_header)
                ? 0
                : (bytes.size() - sizeof(olaf_header)) / sizeof(std::uint64_t);
        static_cast<void>(child_->take(bytes, batch_.lanes(message, lanes), now()));
    }
    return received;
}

Result<void> CollectiveMember::poll() {
    for (std::size_t i = 0; i < kMostBatches; i++) {
        if (broken_)
            return std::unexpected(*broken_);
        const auto received = receive();
        if (!received)
            return give_up(received.error().message());
        // A worker that didn't run for a while finds what is overdue in its socket, most of the
        // time.
        const bool is_empty = *received < batch_.size();
        if (auto sent = send_all(is_empty); !sent)
            return sent;
        while (!vectors_.empty() && vectors_.front().left == 0) {
            Vector &vector = vectors_.front();
            if (has_joined_nobody(vector))
                return give_up(
                    "this worker joined a job that hasn't started: no other one sums in it", 0,
                    "set the job anew (olaf job set), and start() at every worker; join() is "
                    "for a job that is running");
            if (vector.missed == 0)
                ended_.emplace_back(vector.number, vector.report);
            else
                ended_.emplace_back(
                    vector.number,
                    fail("sum vectors of", "job " + std::to_string(options_.job), 0,
                         "lengthen the job's deadline, or raise its threshold or pool",
                         std::to_string(vector.missed) +
                             " chunks were summed without this worker, too long ago"));
            joined_at_.reset();
            vectors_.pop_front();
        }
        if (child_->failure())
            return give_up(child_->failure()->reason, 0,
                           child_->failure()->hint + ", and start() again, at every worker");
        if (is_empty)
            break;
    }
    return {};
}

// What can't go on: every vector under way fails, and so does every call until start().
Result<void> CollectiveMember::give_up(std::string what, int code, std::string hint) {
    broken_ = Error{.operation = "sum vectors of",
                    .object = "job " + std::to_string(options_.job) + " at " + options_.node.text(),
                    .code = code,
                    .reason = std::move(what),
                    .hint = std::move(hint)};
    for (const Vector &vector : vectors_)
        ended_.emplace_back(vector.number, std::unexpected(*broken_));
    vectors_.clear();
    return std::unexpected(*broken_);
}

} // namespace olaf
