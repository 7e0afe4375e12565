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

// The rules and workers of clusters, written down with what is attached: each as the words that
// follow the device in `olaf cluster set`.

/// Keys of lines of /etc/olaf/DEV.conf that hold lists of words to type.
inline constexpr std::string_view clusters_key = "CLUSTERS=", jobs_key = "JOBS=";

/// The list that a device's file has. Fails where there is no file.
Result<std::vector<std::string>> saved_list(const std::string &device, std::string_view key);
/// Where they are saved.
std::string saved_path(const std::string &device);

// The jobs of a queue, written down with what is attached: each as the words that follow the device
// in `olaf job set`.

/// "7 --children 4 --lanes 128".
std::string job_words(const JobReading &job);

struct Attachment;

/// The options of `attach`, after the device, that make a queue like `running`. Those are left out
/// that attach would choose by itself: `usual` is what it makes of the delivery alone. `target` is
/// the delivery's, as people write it.
std::vector<std::string> options_like(const olaf_config &running, const olaf_config &usual,
                                      const std::string &target,
                                      const std::vector<olaf_prefix> &allowed);

/// The same of what is attached: `attach` with these options makes such a queue again.
Result<std::vector<std::string>> options_of(const Attachment &attached);

/// Name of the service that attaches a device again, as a shell takes it.
std::string service_name(const std::string &device);

/// Writes /etc/olaf/DEV.conf from what is attached to the device; returns its path. Whoever reads
/// it meanwhile finds the old one or the new one.
Result<std::string> save_attachment(const Attachment &attached);

} // namespace olaf
