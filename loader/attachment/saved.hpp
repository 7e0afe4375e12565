// SPDX-License-Identifier: BSD-2-Clause
// What is attached, written down for a service to attach again (`olaf attach --save`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attachment.hpp"
#include "loader/datapath/jobs.hpp"
#include "olaf/queue.h"
#include "olaf/result.hpp"

namespace olaf {

/// Keys of two lines of /etc/olaf/DEV.conf: what follows the device in `olaf cluster set` and in `olaf job
/// set`, for each run of clusters and for each job.
inline constexpr std::string_view clusters_key = "CLUSTERS=", jobs_key = "JOBS=";

/// The list of a device's file. Fails where there is no file.
Result<std::vector<std::string>> saved_list(const std::string &device, std::string_view key);
/// The path of a device's file.
std::string saved_path(const std::string &device);

/// What follows the device in `olaf job set`: "7 --children 4 --lanes 128".
std::string job_words(const JobReading &job);

/// The options of `attach` that make a queue like `running`, without the device. `usual` is what attach
/// makes of the delivery alone: options are left out where the two agree. `target` is the delivery's,
/// as people write it.
std::vector<std::string> options_like(const olaf_config &running, const olaf_config &usual,
                                      const std::string &target,
                                      const std::vector<olaf_prefix> &prefixes);

/// The options with which `attach` makes this queue again.
Result<std::vector<std::string>> options_of(const Attachment &attachment);

/// Name of the service that attaches a device again, quoted for a shell.
std::string service_name(const std::string &device);

/// Writes /etc/olaf/DEV.conf for a queue, and notes its path and the service's name. A reader finds
/// the old file or the new one.
Result<void> save_attachment(const Attachment &attachment);

} // namespace olaf
