// SPDX-License-Identifier: BSD-2-Clause
// The live page, in one piece: built from loader/observe/page.
#pragma once

#include <string_view>

namespace olaf {

/// HTML with its script, style and charts inside; empty where it was built with OLAF_PAGE=OFF.
extern const std::string_view live_page;

} // namespace olaf
