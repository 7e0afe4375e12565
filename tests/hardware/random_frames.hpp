// SPDX-License-Identifier: BSD-2-Clause
// Random traffic for a card: mostly updates that meet, and among them other frames, damaged ones, ACKs.
#pragma once

#include "tests/datapath/random_updates.hpp"
#include "twin.hpp"

namespace olaf::test {

class RandomFrames {
  public:
    RandomFrames(std::uint64_t seed, const RandomUpdates::Range &range)
        : updates(seed, range), range_(range) {}

    /// Sends a frame from the workers. Returns 1 if it was an update as it should be.
    unsigned send(Twin &twin) {
        const auto what = updates.below(16);
        if (what == 0) {
            twin.send(other());
            return 0;
        }
        auto update = updates.update();
        if (updates.one_in(50))
            update.cluster = static_cast<std::uint32_t>(updates.below(400));
        auto frame = updates.frame(update).bytes;
        if (what == 1)
            damage(frame);
        twin.send(frame);
        return what > 1;
    }

    /// A frame from the server: mostly an ACK to a worker.
    Bytes back() {
        if (updates.one_in(6))
            return other();
        Ack ack{.cluster = static_cast<std::uint32_t>(updates.below(range_.clusters)),
                .lanes = std::vector<std::uint64_t>(updates.below(40), 0x1234567)};
        if (updates.one_in(3)) {
            ack.state_flags = OLAF_FLAG_STAMPED | (updates.one_in(2) ? OLAF_FLAG_CONGESTED : 0);
            ack.active_clusters = static_cast<std::uint16_t>(updates.below(6));
            ack.queue_capacity = static_cast<std::uint32_t>(updates.below(10));
            ack.queue_length = static_cast<std::uint32_t>(updates.below(10));
        }
        auto path = answer(ipv4());
        if (updates.one_in(3))
            path.vlan(7);
        if (updates.one_in(3))
            path.options(static_cast<std::uint8_t>(4 * updates.below(11)));
        if (updates.one_in(4))
            path.without_udp_checksum();
        auto frame = path.carrying(ack).bytes;
        if (updates.one_in(6))
            damage(frame);
        return frame;
    }

    RandomUpdates updates;

  private:
    /// Bytes that nobody knows, of any length that a port lets in; now and then very long.
    Bytes other() {
        Bytes bytes(60 + updates.below(updates.one_in(4) ? 1500 : 140));
        if (updates.one_in(200))
            bytes.resize(16'000 + updates.below(2'000));
        for (auto &byte : bytes)
            byte = static_cast<std::uint8_t>(updates.below(256));
        if (updates.one_in(2))
            set_be(bytes, 12, 0x0800, 2);
        return bytes;
    }

    /// A few bytes of its headers, or its end.
    void damage(Bytes &frame) {
        if (updates.one_in(5)) {
            frame.resize(updates.one_in(2) ? 60 + updates.below(frame.size() - 60) : frame.size() - 1);
            return;
        }
        const auto times = 1 + updates.below(2);
        for (std::uint64_t i = 0; i < times; i++) {
            const auto at = 12 + updates.below(std::min<std::uint64_t>(frame.size(), 140) - 12);
            frame[at] = static_cast<std::uint8_t>(updates.one_in(2) ? frame[at] ^ 1u << updates.below(8)
                                                                   : updates.below(256));
        }
    }

    RandomUpdates::Range range_;
};

} // namespace olaf::test
