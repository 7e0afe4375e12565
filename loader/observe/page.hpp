// SPDX-License-Identifier: BSD-2-Clause
// The live page, in one piece: built from loader/observe/page.
#pragma once

#include <string_view>

namespace olaf {

/// HTML with its script, style and charts inside; empty where it was built with OLAF_PAGE=OFF.
extern const std::string_view live_page;

/// Colours and shapes that this page and a report's share: CSS, always there.
extern const std::string_view page_looks;

} // namespace olaf
