// SPDX-License-Identifier: BSD-2-Clause
// Registers of a PCI device, mapped: the resource file of a BAR, or any file that behaves as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "loader/host/fd.hpp"
#include "olaf/result.hpp"

namespace olaf {

/// Words of 32 bits, little-endian. Each access is one of 32 bits, in program order.
class Bar {
  public:
    /// Maps all of the file, shared. Fails with the errno of what couldn't be done, and its remedy.
    static Result<Bar> map(const std::string &path);
    Bar(Bar &&other) noexcept;
    Bar &operator=(Bar &&) = delete;
    ~Bar();

    [[nodiscard]] const std::string &path() const { return path_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    /// `offset` is a multiple of 4 and lies within bytes().
    [[nodiscard]] std::uint32_t read(std::size_t offset) const;
    void write(std::size_t offset, std::uint32_t value) const;
    /// What was written before has taken its way before what is written after. A posted write has
    /// arrived once something was read behind it.
    static void order();

    /// Holds other olafs off these registers for as long as this lives. Waits for them.
    class Turn {
      public:
        explicit Turn(const Bar &bar);
        Turn(const Turn &) = delete;
        Turn &operator=(const Turn &) = delete;
        ~Turn();

      private:
        int fd_;
    };

  private:
    Bar(std::string path, Fd fd, void *at, std::size_t bytes)
        : path_(std::move(path)), fd_(std::move(fd)), at_(at), bytes_(bytes) {}
    std::string path_;
    Fd fd_;
    void *at_;
    std::size_t bytes_;
};

/// Why a file can't be mapped although it is there, by errno: what the kernel forbids, and what to do.
std::string mapping_remedy(int code);

} // namespace olaf
