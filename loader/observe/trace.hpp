// SPDX-License-Identifier: BSD-2-Clause
// Where `olaf trace` puts events: lines on a stream, or packets in a file.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "events.hpp"
#include "loader/attachment/attachment.hpp"

namespace olaf {

// A pcapng file of the frames that events are about: what arrives on one interface, what departs
// on another, each packet with its reason as a comment.

class PacketFile {
  public:
    /// Makes the file anew; "-" is standard output.
    static Result<PacketFile> create(const std::string &path, const Attachment &attachment,
                                     std::uint32_t snap_bytes);

    // Each is false, with errno, when it can't be written.
    bool add(const Event &event);
    bool flush();
    /// Says how many packets there are and how many events never got here.
    bool finish(std::uint64_t missed);

    [[nodiscard]] int fd() const { return ::fileno(file_.get()); }
    [[nodiscard]] std::uint64_t packets() const { return packets_[0] + packets_[1]; }

  private:
    struct Close {
        void operator()(std::FILE *file) const {
            if (file != stdout)
                std::fclose(file);
        }
    };
    using File = std::unique_ptr<std::FILE, Close>;

    explicit PacketFile(File file) : file_(std::move(file)) {}
    bool write(const std::string &block);
    File file_;
    std::array<std::uint64_t, 2> packets_{}; ///< by interface
};

// Where `olaf trace` puts events: lines on a stream, or packets in a file.

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
