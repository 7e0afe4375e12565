// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <csignal>
#include <string>

namespace olaf::card {

struct Options {
    std::string bar;                      ///< file of the registers
    std::string worker_side, server_side; ///< devices
};

/// Runs the card until `ended` is set, which a signal may do at any time: it is looked at every few
/// milliseconds. While `stopped` is set its clock stands still. Throws std::runtime_error with what can't be
/// done. Its registers read as all ones then.
void run(const Options &options, const volatile std::sig_atomic_t &ended,
         const volatile std::sig_atomic_t &stopped);

} // namespace olaf::card
