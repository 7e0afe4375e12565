// SPDX-License-Identifier: BSD-2-Clause
// Workers of clusters: registering them, forgetting them, and who is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loader/text/address.hpp"
#include "olaf/members.h"
#include "olaf/result.hpp"

namespace olaf {

/// "3=192.0.2.1", "3=[2001:db8::1]:40000": a worker and the address that it is bound to.
struct WorkerAddress {
    std::uint32_t worker = 0;
    IpAddress address;
    std::uint16_t port = 0; ///< 0: any
    bool operator==(const WorkerAddress &) const = default;
};
Result<WorkerAddress> parse_worker(std::string_view text);

/// The program is olaf_enrol, which keeps the order of writers.
Result<void> register_worker(int program_fd, std::uint32_t cluster, const WorkerAddress &worker);
Result<void> forget_members(int program_fd, std::uint32_t cluster);

struct KnownMember {
    std::uint32_t worker = 0;
    olaf_member member{};
};

/// The workers that a cluster's ACKs are copied to, and registered ones that were never heard from.
Result<std::vector<KnownMember>> read_members(int members_fd, int rosters_fd,
                                              const olaf_config &config, std::uint32_t cluster);

/// "192.0.2.1:40000", without a port while none is known.
std::string member_address_text(const olaf_member &member);

} // namespace olaf
