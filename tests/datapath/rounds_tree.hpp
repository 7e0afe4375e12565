// SPDX-License-Identifier: BSD-2-Clause
// A node with a parent, which is host 2 of the servers' network behind the queue's own device.
#pragma once

#include "rounds.hpp"
#include "testbed.hpp"
#include "upstream.hpp"

namespace olaf::test {

inline constexpr std::uint32_t parent_generation = 500, own_rank = 3;
inline constexpr std::uint16_t parent_port = 6600;

inline DatapathConfig config_below(const Testbed &net) {
    auto config = queue_with_rounds();
    config.ifindex = net.near;
    config.mac = net.near_mac;
    return config;
}

inline olaf_job_setup below_a_parent(int family) {
    auto setup = small_job();
    setup.parent_family = static_cast<std::uint32_t>(family);
    const auto parent = host_of_servers(family, 2), source = host_of_servers(family, 1);
    std::ranges::copy(parent.words_be, setup.parent_addr_be);
    std::ranges::copy(source.words_be, setup.source_addr_be);
    setup.parent_port_be = htons(parent_port);
    setup.rank = own_rank;
    return setup;
}

class RoundsTree : protected InTestbed, public RoundsTest, public testing::WithParamInterface<int> {
  protected:
    explicit RoundsTree(const olaf_job_setup &given = below_a_parent(GetParam()))
        : RoundsTest(given, config_below(net)) {
        know_the_parent();
    }

    void know_the_parent() {
        auto known = job();
        known.parent_generation = parent_generation;
        set_job(known);
    }

    /// What went up: the parent's MAC address, address and port on it.
    JobMessage sent_up(const Ran &ran) {
        const auto received = sent_back(ran);
        if (!received)
            return {};
        const auto &bytes = received->frame.bytes;
        EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 6),
                  Bytes(net.next_hop_mac.begin(), net.next_hop_mac.end()));
        EXPECT_EQ(Bytes(bytes.begin() + 6, bytes.begin() + 12),
                  Bytes(net.near_mac.begin(), net.near_mac.end()));
        EXPECT_EQ(received->port, parent_port);
        return received->message;
    }
    /// A message of the parent's.
    Path down() const {
        Path path(GetParam());
        return path.from(net.next_hop_mac).to(net.near_mac).among_servers().source(2).target(1)
            .source_port(parent_port);
    }
    /// A CONTROL may name another rank than this node's.
    Ran tell(JobMessage message) {
        if (message.type != OLAF_CONTROL)
            message.rank = own_rank;
        return queue.offer(down().carrying(message));
    }
    JobMessage parents_result(std::uint32_t chunk, std::uint32_t round = 0) {
        auto message = result(own_rank, {0, 1}, chunk, round);
        message.count = 9;
        message.generation = parent_generation;
        for (auto &lane : message.lanes)
            lane *= 5;
        return message;
    }
    /// As a child gets it.
    JobMessage for_child(std::uint32_t rank, JobMessage message) {
        message.rank = rank;
        message.generation = job().generation;
        message.pool = static_cast<std::uint8_t>(setup.pool);
        return message;
    }
    JobMessage complete(std::uint32_t chunk, std::uint32_t round = 0) {
        dropped(offer(contribution(0, chunk, round)));
        return sent_up(offer(contribution(1, chunk, round)));
    }
};

} // namespace olaf::test
