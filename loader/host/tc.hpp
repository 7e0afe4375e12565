// SPDX-License-Identifier: BSD-2-Clause
// BPF filters in a device's clsact qdisc, next to those of others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "device.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// Ours among the filters of one priority.
inline constexpr std::uint32_t filter_handle = 0x6523;

/// Which frames a filter sees: those that come in by the device, or those that leave by it.
enum class TcHook { ingress, egress };

Result<bool> has_clsact(const Device &device);

/// Puts clsact there, if it isn't.
Result<void> ensure_clsact(const Device &device);

/// Removes clsact, unless there is a filter in it.
Result<void> remove_empty_clsact(const Device &device);

/// Adds our filter before all others if it can; returns its priority.
Result<std::uint32_t> add_filter(const Device &device, TcHook where, int program_fd);

/// Swaps the program of our filter in one step.
Result<void> replace_filter(const Device &device, TcHook where, std::uint32_t priority,
                            int program_fd);

/// Priority of a filter of ours that runs a program of that name and uses one of the maps, given
/// by id: several queues can have one on a device. 0 if there is none.
std::uint32_t find_filter(const Device &device, TcHook where, std::string_view program_name,
                          std::span<const std::uint32_t> map_ids);

/// Removes that filter; false if there is none.
Result<bool> remove_filter(const Device &device, TcHook where, std::string_view program_name,
                           std::span<const std::uint32_t> map_ids);

// Programs of others that see a device's frames before our filters do.

/// "TCX program 12 (name) on the ingress, filter name of priority 1 on the egress"; "" if none.
std::string foreign_tc(std::uint32_t ifindex);

} // namespace olaf
