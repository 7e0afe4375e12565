// SPDX-License-Identifier: BSD-2-Clause
// What `attach` is asked for, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/text/address.hpp"
#include "loader/text/units.hpp"
#include "olaf/queue.h"

namespace olaf {

enum class XdpMode { automatic, native, skb };

/// Whether the queue is to be in a card; numbers of records that are pinned.
enum class Hardware : std::uint32_t { off = 0, automatic = 1, require = 2 };

/// What isn't given is DatapathConfig's default, or with replace the running queue's.
struct AttachOptions {
    std::string device;
    bool local = false;
    std::string forward; ///< device
    std::optional<bool> bridge; ///< with forward; nothing: where the device is a bridge's
    std::optional<Endpoint> upstream;
    std::optional<std::uint16_t> port;
    std::optional<std::optional<std::uint32_t>> queue; ///< inner nothing: auto
    std::optional<Rate> rate;
    std::optional<Window> window;
    std::optional<olaf_policy> policy;
    bool fifo = false; ///< clusters may be set to policy fifo later
    std::optional<std::uint32_t> max_clusters;
    std::optional<std::uint32_t> max_segments;
    std::optional<std::optional<std::uint32_t>> max_lanes; ///< inner nothing: mtu
    XdpMode mode = XdpMode::automatic;
    std::optional<std::uint64_t> drain_interval_ns;
    std::optional<std::uint64_t> activity_window_ns;
    std::vector<olaf_prefix> allow;
    std::optional<std::uint32_t> max_workers;
    std::optional<std::uint64_t> member_timeout_ns;
    std::optional<std::uint32_t> round_slots; ///< for jobs, of all together
    std::optional<Hardware> hardware; ///< automatic; with replace: as it is
    std::string card; ///< file of the card's registers; "": that of the device's PCI function
    std::optional<bool> strict;
    std::optional<bool> verify;
    std::optional<bool> output_program; ///< one may be put on the output, if its driver demands one
    bool replace = false;
    bool or_replace = false; ///< replace where a queue is there already
    bool dry_run = false; ///< say what would be done, and do nothing
    bool save = false; ///< write the file of the service; without a delivery, do no more
};

} // namespace olaf
