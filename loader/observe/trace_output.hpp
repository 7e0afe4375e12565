// SPDX-License-Identifier: BSD-2-Clause
// Where `olaf trace` puts events: lines on a stream, or packets in a file.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "event.hpp"
#include "loader/attachment/attachment.hpp"

namespace olaf {

/// Each call is false when it can't be written: nobody reads any more, or the disk is full.
class TraceOutput {
  public:
    /// Before the first event.
    virtual Result<void> begin(const Attachment &attachment) = 0;
    /// Bytes of a frame that it wants with each event.
    [[nodiscard]] virtual std::uint32_t frame_bytes() const = 0;
    /// What it writes to, once it has begun, and its name.
    [[nodiscard]] virtual int fd() const = 0;
    [[nodiscard]] virtual std::string name() const = 0;
    virtual bool event(const Event &event) = 0;
    /// So many events more were lost.
    virtual bool missed(std::uint64_t events) = 0;
    virtual bool flush() = 0;
    virtual bool finish(std::uint64_t missed) = 0;
    virtual ~TraceOutput() = default;
};

/// A line an event: text, or JSON.
std::unique_ptr<TraceOutput> trace_lines(std::FILE *to, bool json);
/// A pcapng file; "-" is standard output.
std::unique_ptr<TraceOutput> trace_packets(const std::string &path);

} // namespace olaf
