// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "udp_socket.hpp"

namespace olaf::test {

class Netns;

Bytes random_bytes(std::size_t count, unsigned seed);

struct Exchanged {
    Bytes there, back; ///< as received
};

/// One TCP connection, on which both ends send at once and read to the end; throws on failure.
Exchanged exchange_by_tcp(const Netns &client, const Netns &server, const Peer &address,
                          const Bytes &there, const Bytes &back);

} // namespace olaf::test
