// SPDX-License-Identifier: BSD-2-Clause
// What netfilter would do to packets that this host forwards. XDP comes before all of that.
#pragma once

#include <string>
#include <vector>

#include "olaf/result.hpp"

namespace olaf {

/// Of which packets.
struct Forwarded {
    bool ip = false, ip6 = false; ///< routed
    bool bridged = false;
};

/// Chains that such packets pass through and that have rules, or drop what has none: "ip nat post". Rules
/// of nft, and of the iptables that writes those. Fails without CAP_NET_ADMIN.
Result<std::vector<std::string>> forwarding_chains(const Forwarded &forwarded);

} // namespace olaf
