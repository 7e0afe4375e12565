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

/// Keys of lines of /etc/olaf/DEV.conf that hold lists of words to type.
inline constexpr std::string_view clusters_key = "CLUSTERS=", jobs_key = "JOBS=";
/// The line that holds them.
std::string list_line(std::string_view key, const std::vector<std::string> &list);
/// What list_line() wrote, of the whole file; none where there is no such line.
std::vector<std::string> list_in(std::string_view file, std::string_view key);

/// The list that a device's file has. Fails where there is no file.
Result<std::vector<std::string>> saved_list(const std::string &device, std::string_view key);
/// Where they are saved.
std::string saved_path(const std::string &device);

} // namespace olaf
