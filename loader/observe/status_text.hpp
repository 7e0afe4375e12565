// SPDX-License-Identifier: BSD-2-Clause
// `olaf status` as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "loader/datapath/jobs.hpp"
#include "reading.hpp"
#include "verdict.hpp"

namespace olaf {

// Jobs for people.

/// "syncing", "running", "halted".
std::string_view job_state(const JobReading &job);

/// How long nothing was heard of it; nothing: never.
std::optional<std::uint64_t> silent_ns(const olaf_member &member, std::uint64_t now_ns);

/// "192.0.2.9:6523".
std::string parent_text(const olaf_job_setup &setup);

/// Of the device that the parent is behind; "": the queue's own, or it has gone.
std::string parent_device_name(const olaf_job_setup &setup);

/// "239.1.2.3": where results for all go. The job must have that.
std::string group_text(const olaf_job_setup &setup);
/// The same of the parent's; "": they come to this node's own address.
std::string parent_group_text(const olaf_job_setup &setup);

/// "0, 1, 4 ... 7": ranks, those in a row together.
std::string ranks_text(const std::vector<std::uint32_t> &ranks);

/// The same and its members.
std::string job_text(const JobReading &job, std::uint64_t now_ns);

/// The verdict on the first line, then its remedy and what else there is to know.
std::string verdict_text(const Attachment &attachment, const QueueVerdict &verdict);

/// The counters of a group that aren't 0: "12 messages: 3 riding, 9 drain"; "" if all are.
std::string counted_text(olaf_group group, const Numbers &numbers, const olaf_config &config);

std::string status_text(const Attachment &attachment, const QueueReading &reading,
                        const HostState &host, bool clusters);

} // namespace olaf
