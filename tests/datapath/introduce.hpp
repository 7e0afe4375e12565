// SPDX-License-Identifier: BSD-2-Clause
// Workers that a queue knows although nothing was offered to it.
#pragma once

#include <arpa/inet.h>

#include "harness.hpp"

namespace olaf::test {

/// Of each cluster the last two ids have been heard, over IPv4 and over IPv6, and send to where
/// tests' ACKs come from. Nothing waits because of it, and no cluster is active.
inline void introduce_workers(Harness &queue) {
    olaf_member worker4{};
    worker4.family = 4;
    worker4.last_seen_ns = monotonic_ns();
    worker4.addr_be[0] = htonl(0x0a0000fa);
    worker4.local_addr_be[0] = htonl(0x0a000102);
    worker4.port_be = htons(50250);
    olaf_member worker6 = worker4;
    worker6.family = 6;
    worker6.addr_be[0] = worker6.local_addr_be[0] = htonl(0xfd000000);
    worker6.addr_be[3] = htonl(250);
    worker6.local_addr_be[1] = htonl(1);
    worker6.local_addr_be[3] = htonl(2);
    const auto end = queue.config().max_workers;
    for (std::uint32_t cluster = 0; cluster < queue.config().max_clusters; cluster++) {
        queue.set_member(cluster, end - 2, worker4);
        queue.set_member(cluster, end - 1, worker6);
        queue.set_roster(cluster, {.end = end, .pad = 0, .admitted = 0});
    }
}

} // namespace olaf::test
