// SPDX-License-Identifier: BSD-2-Clause
// Counts cycles of a card: for a frame alone, and for frames that follow each other without a gap.
#pragma once

#include "tests/datapath/packet.hpp"
#include "card.hpp"

namespace olaf::test {

struct Taking {
    std::uint64_t cycles = 0, beats = 0;
};

/// A frame of so many bytes, an update where one fits: `cluster` tells them apart.
inline Bytes frame_of(std::size_t bytes, std::uint32_t cluster) {
    if (bytes < 106)
        return Bytes(bytes, 0xee);
    const auto lanes = (bytes - 98) / 8;
    const Update update{.cluster = cluster, .lanes = std::vector<std::uint64_t>(lanes, 1)};
    auto frame = ipv4().carrying(update).bytes;
    frame.resize(bytes);
    return frame;
}

inline void turn_on(Card &card, std::uint64_t ns_per_byte_q24) {
    card.write(OLAF_REGISTER_CONTROL, 1);
    card.write64(OLAF_REGISTER_NS_PER_BYTE_Q24, ns_per_byte_q24);
    card.commit();
}

/// Of a frame alone: cycles from its first beat in to its first, and to its last beat out.
struct Latency {
    std::uint64_t first = 0, last = 0;
};

/// At an empty queue with a free link, or `behind` another frame that is on its way: then it is queued.
inline Latency latency_of(std::size_t bytes, bool behind = false) {
    Card card;
    turn_on(card, 0);
    unsigned left = behind ? 2 : 1;
    std::uint64_t begun = 0;
    Latency out;
    card.received = [&](Card::Way way, const Beats &) {
        if (--left == 0)
            out = {card.began(way) - begun, card.clock() - begun};
    };
    card.blocked = behind;
    if (behind) {
        card.send(Card::up, {frame_of(106, 0), 0});
        card.cycles(100);
    }
    begun = card.clock();
    card.send(Card::up, {frame_of(bytes, 1), 0});
    // It is decided on as its last beat comes; only then the way is free.
    for (std::uint64_t i = 0; left > 0; i++) {
        card.blocked = behind && i < (bytes + 63) / 64 + 8;
        card.cycle();
    }
    return out;
}

/// Cycles until so many frames were taken, and what they hold.
inline Taking taking_of(std::size_t bytes, unsigned frames, std::uint64_t ns_per_byte_q24 = 0) {
    Card card;
    turn_on(card, ns_per_byte_q24);
    for (unsigned i = 0; i < frames; i++)
        card.send(Card::up, {frame_of(bytes, i % 100), 0});
    const auto begun = card.clock();
    while (card.unsent(Card::up) > 0)
        card.cycle();
    return {card.clock() - begun, frames * ((bytes + 63) / 64)};
}

} // namespace olaf::test
