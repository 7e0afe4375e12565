// SPDX-License-Identifier: BSD-2-Clause
// The rules and workers of clusters, written down with what is attached: each as the words that
// follow the device in `olaf cluster set`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attachment.hpp"

namespace olaf {

/// Those that aren't as a fresh queue of its kind has them: "0-99 --policy newest".
Result<std::vector<std::string>> rules_of(const Attachment &attached);

/// The line of /etc/olaf/DEV.conf that holds them.
std::string rules_line(const std::vector<std::string> &rules);
/// What rules_line() wrote, of the whole file; none where there is no such line.
std::vector<std::string> rules_in(std::string_view file);

/// The rules that a device's file has. Fails where there is no file.
Result<std::vector<std::string>> saved_rules(const std::string &device);
/// Where they are saved.
std::string saved_path(const std::string &device);

} // namespace olaf
