// SPDX-License-Identifier: BSD-2-Clause
// Prints what commands return, for people or as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/commands/commands.hpp"

namespace olaf {

void print(const Attached &attached, bool json);
void print(const Detached &detached, bool json);
void print(const Reset &reset, bool json);
void print(const QueueStatus &status, bool clusters, bool json);
void print(const std::vector<QueueStatus> &all, bool clusters, bool json);
void print(const std::vector<NamespaceStatus> &all, bool clusters, bool json);
void print(const AttachPlan &plan, bool json);
void print(const ClusterListing &listing, bool json);
void print(const JobListing &listing, bool json);
void print(const std::vector<Check> &checks, bool json);
void print(const Recording &recording, const ReportOptions &options, bool json);
void print(const MeterOptions &options, const Meter::Reading &reading, std::uint64_t started_ns,
           bool json);
/// A look of `olaf top --json`; false once nobody reads it.
bool print_line(const Reading &reading, const Rows &rows);
/// A line of `olaf status --interval`, with titles above every twentieth; false once nobody reads
/// it.
bool print_rates(const Reading &reading, const Rows &rows, std::uint32_t number);
void print_url(const std::string &url, bool json);

} // namespace olaf
