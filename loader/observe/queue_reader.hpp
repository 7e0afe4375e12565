// SPDX-License-Identifier: BSD-2-Clause
// Everything that the observing commands show of a queue, read in one go. What `olaf status`
// says comes from the same readers.
#pragma once

#include <string>

#include "loader/attachment/attachment.hpp"
#include "pin_watch.hpp"
#include "status_json.hpp"

namespace olaf {

/// What `olaf status` reads, and of which attachment.
struct Reading : QueueReading {
    Attachment attachment;
    HostState host;
    std::string identity; ///< of the attachment: another one's counters start anew
};

/// Reads a queue for as long as it is the same one. Needs CAP_BPF and the right to read the pins,
/// no more.
class QueueReader {
  public:
    explicit QueueReader(Attachment attachment)
        : attachment_(std::move(attachment)), watch_(attachment_) {}

    /// Fails with ENOENT when the queue was detached since, and where its card is lost.
    Result<Reading> read();
    /// The same, and of a lost card what is known without it.
    Result<Reading> read_even_lost();

  private:
    Attachment attachment_;
    PinWatch watch_;
};

} // namespace olaf
