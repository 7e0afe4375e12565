// SPDX-License-Identifier: BSD-2-Clause
// Jobs for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "loader/datapath/jobs.hpp"

namespace olaf {

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

/// What it is, and what became of contributions, chunks and results: as lines of a status.
std::string job_lines(const JobReading &job);

/// The same and its members.
std::string job_text(const JobReading &job, std::uint64_t now_ns);

} // namespace olaf
