// SPDX-License-Identifier: BSD-2-Clause
// Signals as something to wait for: a command that is interrupted ends in order.
#pragma once

#include <initializer_list>

#include "fd.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// Holds the signals back from this thread and those that it starts, for as long as the process
/// lives. SIGPIPE is ignored as well: whoever writes sees EPIPE.
class Signals {
  public:
    static Result<Signals> hold(std::initializer_list<int> signals);

    /// Readable when one has come.
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// The next one that has come; 0 if none.
    [[nodiscard]] int take() const;

  private:
    explicit Signals(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

} // namespace olaf
