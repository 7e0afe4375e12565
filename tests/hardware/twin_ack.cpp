// SPDX-License-Identifier: BSD-2-Clause
// The way back: which ACKs are stamped, and with what (protocol.md).
#include "twin.hpp"

namespace olaf::test {

namespace {

olaf_congestion state_in(const Bytes &ack, std::size_t message) {
    return {static_cast<std::uint32_t>(get_be(ack, message + 20, 2)),
            static_cast<std::uint32_t>(get_be(ack, message + 32, 4)),
            static_cast<std::uint32_t>(get_be(ack, message + 36, 4))};
}

} // namespace

void Twin::stamp(Bytes &ack, const Judged &at, const olaf_congestion &here) {
    const auto message = at.l4 + 8;
    const auto was = udp_checksum(ack, at.l3, at.l4);
    const auto given = static_cast<std::uint16_t>(get_be(ack, at.l4 + 6, 2));
    auto flags = (get_be(ack, message + 4, 2) & ~std::uint64_t{OLAF_FLAG_CONGESTED}) | OLAF_FLAG_STAMPED;
    if (here.active_clusters > here.queue_capacity)
        flags |= OLAF_FLAG_CONGESTED;
    set_be(ack, message + 4, flags, 2);
    set_be(ack, message + 20, here.active_clusters, 2);
    set_be(ack, message + 22, 0, 2);
    set_be(ack, message + 32, here.queue_capacity, 4);
    set_be(ack, message + 36, here.queue_length, 4);
    if (given == 0)
        return;
    // A right checksum is right again; one that was wrong is wrong by as much.
    const auto is = udp_checksum(ack, at.l3, at.l4);
    const auto sum = std::uint64_t{static_cast<std::uint16_t>(~given)} + was + static_cast<std::uint16_t>(~is);
    const auto corrected = checksum_finish(sum);
    set_be(ack, at.l4 + 6, corrected == 0 ? 0xffff : corrected, 2);
}

void Twin::look_at_ack(const Trace &now) {
    if (back_.empty())
        return fault("took for an ACK what is none");
    Judged at;
    Beats ack = std::move(back_.front());
    back_.pop_front();
    is_ack(ack.bytes, setting_.asked.port, at);
    const auto message = at.l4 + 8;
    const auto server = servers_.find(static_cast<std::uint32_t>(get_be(ack.bytes, message + 8, 4)));
    const bool foreign = server == servers_.end() || server->second != get_be(ack.bytes, at.l3 + 12, 4);
    if (foreign != now.foreign)
        fault("foreign or not: " + beginning(ack));
    const olaf_congestion here = {model_.active_clusters(now_), setting_.queue_capacity,
                                  static_cast<std::uint32_t>(model_.ring().size())};
    const auto there = state_in(ack.bytes, message);
    if (foreign) {
        own_[OLAF_CARD_acks_foreign]++;
    } else if ((get_be(ack.bytes, message + 4, 2) & OLAF_FLAG_STAMPED) &&
               !olaf_more_congested(&here, &there)) {
        own_[OLAF_CARD_acks_recognised]++;
        own_[OLAF_CARD_acks_kept]++;
    } else {
        own_[OLAF_CARD_acks_recognised]++;
        own_[OLAF_CARD_acks_stamped]++;
        stamp(ack.bytes, at, here);
    }
    seen[foreign ? "ack foreign" : "ack"]++;
    returning_.push_back(std::move(ack));
    while (!back_.empty() && !is_ack(back_.front().bytes, setting_.asked.port, at)) {
        returning_.push_back(std::move(back_.front()));
        back_.pop_front();
    }
}

} // namespace olaf::test
