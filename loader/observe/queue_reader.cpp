// SPDX-License-Identifier: BSD-2-Clause
#include "queue_reader.hpp"

#include <cerrno>

#include "olaf/try.hpp"

namespace olaf {

Result<Reading> QueueReader::read() {
    auto reading = read_even_lost();
    if (reading && reading->lost())
        return fail("read the queue on", attachment_.device, ENODEV,
                    "olaf status tells of it, olaf detach cleans up", reading->card->lost);
    return reading;
}

Result<Reading> QueueReader::read_even_lost() {
    OLAF_TRY(watch_.check());
    attachment_ = read_attachment(attachment_.place); // --replace may have changed it
    auto state = OLAF_TRY(read_queue(attachment_));
    auto host = OLAF_TRY(read_host_state(attachment_));
    return Reading{std::move(state), attachment_, std::move(host), watch_.identity()};
}

} // namespace olaf
