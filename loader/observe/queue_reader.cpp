// SPDX-License-Identifier: BSD-2-Clause
#include "queue_reader.hpp"

#include <cerrno>

namespace olaf {

Result<Reading> QueueReader::read() {
    auto reading = read_even_lost();
    if (reading && reading->lost())
        return fail("read the queue on", attachment_.device, ENODEV,
                    "olaf status tells of it, olaf detach cleans up", reading->card->lost);
    return reading;
}

Result<Reading> QueueReader::read_even_lost() {
    if (auto there = watch_.check(); !there)
        return std::unexpected(there.error());
    attachment_ = read_attachment(attachment_.place); // --replace may have changed it
    auto state = read_queue(attachment_);
    if (!state)
        return std::unexpected(state.error());
    auto host = read_host_state(attachment_);
    if (!host)
        return std::unexpected(host.error());
    return Reading{std::move(*state), attachment_, std::move(*host), watch_.identity()};
}

} // namespace olaf
