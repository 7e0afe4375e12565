// SPDX-License-Identifier: BSD-2-Clause
// Why what waits can't leave, in words for a person.
#pragma once

#include <string>

#include "attachment.hpp"

namespace olaf {

/// "out is down", "out has no carrier"; "" if the output can send, or none is needed.
std::string output_obstacle(const Attachment &attachment);

/// That, or "there is no route to ADDRESS by DEV", "the next hop ADDRESS doesn't answer", of the
/// head of the queue; "" if nothing is known to be in its way.
std::string obstacle(const Attachment &attachment);

} // namespace olaf
