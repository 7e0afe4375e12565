// SPDX-License-Identifier: BSD-2-Clause
// What netfilter would do to packets that this host forwards. XDP comes before all of that.
#pragma once

#include <string>
#include <vector>

#include "olaf/result.hpp"

namespace olaf {

/// Of which packets.
struct Forwarded {
    std::string in, out;          ///< devices by which they come and leave
    bool ip = false, ip6 = false; ///< routed
    bool bridged = false;
};

/// Chains that such packets pass through and that have rules, or drop what has none: of nft, and of the
/// iptables that writes nft's ("ip nat post"), and of the kernel's older tables for IPv4 and IPv6
/// ("iptables-legacy nat POSTROUTING"). Older tables of bridges (ebtables-legacy) aren't read. Makes no
/// table. Fails without CAP_NET_ADMIN.
Result<std::vector<std::string>> forwarding_chains(const Forwarded &forwarded);

} // namespace olaf
