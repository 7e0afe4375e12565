// SPDX-License-Identifier: BSD-2-Clause
// Who doesn't want what a socket sends, and what a person can do about it.
#pragma once

#include <cstdint>
#include <string>

#include <olaf/address.hpp>

namespace olaf {

/// An ICMP error that came back, or this host's own kernel that didn't send.
struct Refusal {
    int code = 0;               ///< what the kernel makes of it, an errno
    bool is_prohibited = false; ///< ICMP says so: by a firewall, or by a route of its sender's
    Address from = {};          ///< of the ICMP; unspecified: it is this host's kernel
};

/// "nothing listens at that address and port: ICMP port unreachable came from 192.0.2.1"
std::string in_words(const Refusal &refusal);
/// What to look at, where job `job` was looked for at `node`.
std::string remedy_of(const Refusal &refusal, std::uint32_t job, const Address &node);

} // namespace olaf
