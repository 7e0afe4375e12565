// SPDX-License-Identifier: BSD-2-Clause
// Why what waits can't leave, in words for a person.
#pragma once

#include <string>

#include "attachment.hpp"

namespace olaf {

/// "out is down", "out has no carrier"; "" if the output can send, or none is needed.
std::string output_obstacle(const Attachment &attachment);

/// "in has gone", "in is down", "in has no carrier"; "" if it is up. `name` is what it was called.
std::string device_obstacle(const std::string &name, std::uint32_t ifindex);

/// The same of an end of the drain.
std::string drain_obstacle(const Attachment &attachment);

/// That of the output, or "there is no route to ADDRESS by DEV", "the next hop ADDRESS doesn't answer", of the
/// head of the queue, or that of the drain; "" if nothing is known to be in its way.
std::string obstacle(const Attachment &attachment);

} // namespace olaf
