// SPDX-License-Identifier: BSD-2-Clause
// A pcapng file of the frames that events are about: what arrives on one interface, what departs
// on another, each packet with its reason as a comment.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "event.hpp"
#include "loader/attachment/attachment.hpp"

namespace olaf {

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

} // namespace olaf
