// SPDX-License-Identifier: BSD-2-Clause
// Random updates and frames, biased towards what meets: few clusters, few workers, few shapes.
#pragma once

#include <algorithm>
#include <random>

#include "packet.hpp"
#include "olaf/queue.h"

namespace olaf::test {

class RandomUpdates {
  public:
    struct Range {
        std::uint32_t clusters = 3, segments = 2, max_lanes = 64, max_frame = 9216;
        bool ipv6 = true; ///< else all goes over IPv4
        bool wide = false; ///< any length comes often, and ways out that differ in one thing alone
    };

    RandomUpdates(std::uint64_t seed, const Range &range) : random_(seed), range_(range) {}

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

    Update update() {
        Update u;
        u.cluster = static_cast<std::uint32_t>(below(range_.clusters));
        u.worker = static_cast<std::uint32_t>(below(3));
        u.sequence = static_cast<std::uint32_t>(random_());
        u.count = count();
        u.generated_ns = random_() >> below(64);
        u.reward = reward();
        u.model_version = static_cast<std::uint32_t>(random_() >> (32 + below(32)));
        u.segments = static_cast<std::uint16_t>(1 + below(range_.segments));
        u.segment = static_cast<std::uint16_t>(below(u.segments));
        shape(u);
        for (auto &lane : u.lanes)
            lane = random_();
        if (one_in(8))
            u.extra_flags = static_cast<std::uint16_t>(random_() & 0xf0fe);
        return u;
    }

    Frame frame(const Update &u) {
        Frame frame = (one_in(6) ? other_path(u.cluster) : usual_path(u.cluster)).carrying(u);
        if (one_in(16)) // bytes behind the IP packet, as Ethernet padding
            frame.bytes.resize(frame.size() + 1 + below(30), 0xee);
        return frame;
    }

    olaf_rule rule() {
        static constexpr std::uint32_t max_counts[] = {1, 2, 3, 8, 256, OLAF_LIMIT_MAX_COUNT};
        olaf_rule rule{.policy = static_cast<std::uint32_t>(below(OLAF_POLICIES)),
                       .max_count = max_counts[below(std::size(max_counts))],
                       .reward_threshold = -1};
        if (one_in(2))
            rule.reward_threshold = range_.wide && one_in(2) // rewards often differ by just that
                                        ? 50 * static_cast<std::int64_t>(below(3))
                                        : static_cast<std::int64_t>(random_() >> (1 + below(63)));
        return rule;
    }

    /// Any way out.
    Path path() {
        Path path = one_in(2) && range_.ipv6 ? ipv6() : ipv4();
        for (auto tags = below(3); tags > 0; tags--)
            one_in(2) ? path.vlan(static_cast<std::uint16_t>(below(4095)))
                      : path.service_vlan(static_cast<std::uint16_t>(below(4095)));
        return vary(path.target(byte()));
    }

    /// Flips a bit that nothing but the UDP checksum tells from another one: of a lane, or of what the header
    /// says of the worker's update. Of an update that has a checksum.
    void damage(Frame &frame) {
        const std::size_t lanes = frame.size() - frame.message - 48;
        const std::size_t at = one_in(2) ? 48 + below(lanes) : one_in(2) ? 12 + below(8) : 24 + below(20);
        frame.bytes[frame.message + at] ^= static_cast<std::uint8_t>(1u << below(8));
    }

  private:
    std::uint8_t byte() { return static_cast<std::uint8_t>(random_()); }

    /// Updates of a cluster go the same way, by different headers. `outer` and `inner` are added to the tags.
    Path usual_path(std::uint32_t cluster, unsigned outer = 0, unsigned inner = 0) {
        Path path = cluster % 2 == 1 && range_.ipv6 ? ipv6() : ipv4();
        const auto most = cluster % 3;
        for (auto tags = most; tags > 0; tags--)
            path.vlan(static_cast<std::uint16_t>(100 * tags + cluster + (tags == most ? outer : 0) +
                                                 (tags == 1 ? inner : 0)));
        return vary(path);
    }

    Path other_path(std::uint32_t cluster) {
        if (!range_.wide || one_in(2))
            return path();
        switch (below(4)) {
        case 0:
            return usual_path(cluster, 0x2000); // the priority
        case 1:
            return usual_path(cluster, 0, 1);
        case 2:
            return usual_path(cluster).to({2, 0, 0, 0, 0, 0x77});
        default:
            return usual_path(cluster).target(9);
        }
    }

    /// What doesn't decide the way out.
    Path vary(Path path) {
        path.source(byte()).ttl(byte()).tos(byte());
        path.id(static_cast<std::uint16_t>(random_()));
        path.source_port(static_cast<std::uint16_t>(random_()));
        if (one_in(3))
            path.without_udp_checksum();
        if (path.family() == 4 && one_in(3))
            path.options(static_cast<std::uint8_t>(4 * below(11)));
        if (path.family() == 6 && one_in(3)) {
            path.hop_by_hop(static_cast<std::uint8_t>(8 * (1 + below(3))));
            if (one_in(2))
                path.destination_options(static_cast<std::uint8_t>(8 * (1 + below(2))));
        }
        else if (path.family() == 6 && range_.wide && one_in(6))
            path.destination_options(24);
        return path;
    }

    std::uint32_t count() {
        if (one_in(20))
            return static_cast<std::uint32_t>(random_()) | 1;
        return one_in(3) ? 1 + static_cast<std::uint32_t>(below(5)) : 1;
    }

    std::int64_t reward() {
        if (one_in(10))
            return static_cast<std::int64_t>(random_());
        if (range_.wide && one_in(2))
            return 50 * static_cast<std::int64_t>(below(9)) - 200;
        return static_cast<std::int64_t>(below(400)) - 200;
    }

    /// Mostly one of three shapes, so that updates meet their equals; sometimes any.
    void shape(Update &u) {
        auto most = range_.max_lanes - 1;
        std::size_t usual[] = {std::min<std::size_t>(4, most), std::min<std::size_t>(17, most),
                               most};
        if (range_.wide && one_in(50))
            lengths_[below(std::size(lengths_))] = one_in(3) ? 0 : 1 + below(most);
        for (std::size_t i = 0; i < std::size(usual); i++)
            usual[i] = lengths_[i] ? lengths_[i] : usual[i];
        bool odd = one_in(10);
        u.lanes.resize(odd ? 1 + below(most) : usual[u.cluster % 3]);
        u.format = odd ? static_cast<olaf_format>(below(3))
                       : static_cast<olaf_format>(u.cluster % 3);
        u.checksum = odd ? one_in(2) : true;
    }

    std::mt19937_64 random_;
    Range range_;
    std::size_t lengths_[3] = {}; ///< of the three shapes, instead of the usual ones; 0: those
};

} // namespace olaf::test
