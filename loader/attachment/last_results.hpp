// SPDX-License-Identifier: BSD-2-Clause
// What jobs owe their members when the queue goes.
#pragma once

#include <cstdint>

#include "attachment.hpp"

namespace olaf {

/// What members go without.
struct JobsLeft {
    std::uint64_t results = 0; ///< that were owed and couldn't be sent, one a member and chunk
    std::uint64_t chunks = 0;  ///< that weren't complete, or were with a parent
};

/// Sends what all jobs owe, in clones, and says what is left. To be called once no contribution
/// comes any more (take_off_xdp()). Takes a second at most.
Result<JobsLeft> send_last_results(const Attachment &attachment);

} // namespace olaf
