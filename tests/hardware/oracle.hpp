// SPDX-License-Identifier: BSD-2-Clause
// What protocol.md says a frame is, where the queue is a card: written from the page, not from the RTL.
#pragma once

#include <array>
#include <cstdint>

#include "tests/datapath/wire.hpp"
#include "tests/model/update.hpp"

namespace olaf::test {

/// What decides about a frame besides its bytes.
struct Asked {
    std::uint16_t port = 6523;
    bool verify = false;
    std::uint16_t max_lanes = 1152;
    bool own_only = false;
    std::array<std::uint32_t, 4> own{}; ///< IPv4 addresses in host order; 0: none
    std::uint16_t max_clusters = 128, max_segments = 1, mtu = 0;
};

enum class Kind { bypass, malformed, update };

struct Judged {
    Kind kind = Kind::bypass;
    unsigned reason = 0; ///< enum olaf_bypass or olaf_malformed
    std::size_t l3 = 0, l4 = 0;
};

Judged judge(const Bytes &frame, const Asked &asked);

/// The update in a frame that was judged to be one.
model::Update read_update(const Bytes &frame, const Judged &judged);

/// Why the queue refuses it, or -1; `max_count` is its cluster's.
int refusal(const model::Update &update, const Asked &asked, std::uint32_t max_count);

/// Is the frame an ACK from that port, as a queue stamps one? Fills l3 and l4.
bool is_ack(const Bytes &frame, std::uint16_t port, Judged &where);

} // namespace olaf::test
