// SPDX-License-Identifier: BSD-2-Clause
// What `olaf top` remembers between two looks, and how keys change what it shows.
#pragma once

#include "terminal.hpp"

namespace olaf {

/// The last two readings, and how recent averages went.
struct Watched {
    Reading earlier, latest;
    Rows rows; ///< between those
    AomHistory by_generated, by_arrival;

    void add(Reading reading);
};

/// What a key asks for, where `room` clusters are on the screen; false: to end.
bool obey(Key key, TopView &view, std::size_t room, std::size_t clusters);

} // namespace olaf
