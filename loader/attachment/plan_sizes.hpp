// SPDX-License-Identifier: BSD-2-Clause
// How large a planned queue is: its tables, and the updates that it takes.
#pragma once

#include "plan.hpp"

namespace olaf {

/// Nothing given: the default or, with replace, the running queue's.
template <class T, class Given> void take(T &into, const std::optional<Given> &given) {
    if (given)
        into = static_cast<T>(*given);
}

/// To be called once the delivery is planned: updates that are too large to leave by it aren't
/// taken.
Result<void> plan_sizes(Plan &plan, const AttachOptions &options, const Device &device,
                        const Record *running);

} // namespace olaf
