// SPDX-License-Identifier: BSD-2-Clause
// Where `olaf trace` puts events: lines on standard output, or packets in a file.
#pragma once

#include <memory>

#include "event.hpp"
#include "loader/attachment/attachment.hpp"

namespace olaf {

/// Each call is false when it can't be written: nobody reads any more, or the disk is full.
class TraceOutput {
  public:
    /// Bytes of a frame that it wants with each event.
    [[nodiscard]] virtual std::uint32_t frame_bytes() const = 0;
    /// What it writes to.
    [[nodiscard]] virtual int fd() const = 0;
    virtual bool event(const Event &event) = 0;
    /// So many events more were lost.
    virtual bool missed(std::uint64_t events) = 0;
    virtual bool flush() = 0;
    virtual bool finish(std::uint64_t missed) = 0;
    virtual ~TraceOutput() = default;
};

/// As the options say.
Result<std::unique_ptr<TraceOutput>> make_trace_output(const TraceOptions &options, bool json,
                                                       const Attachment &attachment);

} // namespace olaf
