// SPDX-License-Identifier: BSD-2-Clause
// Which of a host's addresses a message was sent to, so that the answer comes from there: who asks
// hears no other address.
#pragma once

#include <array>
#include <cstddef>

#include <netinet/in.h>
#include <sys/socket.h>

#include <olaf/address.hpp>

namespace olaf {

/// Control data of one message: where it was sent to, or is sent from.
struct AskedControl {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(in_pktinfo)) +
                                               CMSG_SPACE(sizeof(in6_pktinfo))> bytes;
};

/// Whether a socket that is bound to it takes messages for several addresses of the host.
[[nodiscard]] bool is_any(const Address &local);
/// The kernel tells with each message where it was sent to. False: it can't.
[[nodiscard]] bool hear_asked(int fd, bool is_ipv6);
/// Of a message that was received; unspecified if it isn't told, or nobody can answer from there.
/// Its port is 0, and its scope the device if it means one host only there.
[[nodiscard]] Address asked_of(msghdr &message);
/// Has the message sent from there. Unspecified: the kernel chooses. `room` is used until it is
/// sent.
void answer_from(const Address &asked, msghdr &message, AskedControl &room);

} // namespace olaf
