// SPDX-License-Identifier: BSD-2-Clause
// An XDP program on a device, by a link that lives as long as its pin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device.hpp"
#include "fd.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// The program that some other owner has there, in words; "" if none.
std::string foreign_xdp(std::uint32_t ifindex);
/// The command that takes it off: of `ip`, or of bpftool where it is there by a link; "" if there is none.
std::string xdp_removal(const Device &device);
/// How long ago it was loaded; nothing: there is none, or that isn't known (CAP_SYS_ADMIN).
std::optional<std::uint64_t> foreign_xdp_age_ns(std::uint32_t ifindex);

/// Operation of attach_xdp()'s errors.
inline constexpr auto attaching_xdp = "attach XDP to";

/// A link, not pinned: the program leaves the device when the link is closed.
Result<Fd> attach_xdp(const Device &device, int program_fd, bool skb_mode);

/// Whether the driver stops its rings, or the link, while an XDP program comes or goes.
bool restarts_for_xdp(const Driver &driver);

/// Swaps the program in one step.
Result<void> update_xdp(int link_fd, const std::string &device, int program_fd);

/// Index of the device that a link is on; 0 when the device has gone or the link was detached.
std::uint32_t xdp_link_device(int link_fd);

/// Whether that program is the one on the device.
bool xdp_program_on(std::uint32_t ifindex, int program_fd);

} // namespace olaf
