// SPDX-License-Identifier: BSD-2-Clause
// A file with the registers of a card, as a test prepares them. Nobody answers behind it.
#pragma once

#include <gtest/gtest.h>

#include <endian.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "loader/host/fd.hpp"
#include "olaf/registers.h"

namespace olaf::test {

class RegistersFile {
  public:
    static constexpr std::size_t usual_bytes = OLAF_CARD_WINDOW;

    /// A card that is there, of 8 places, 128 clusters and slots, and 1152 lanes.
    explicit RegistersFile(std::size_t bytes = usual_bytes, std::size_t start = 0)
        : path_(::testing::TempDir() + "/olaf_registers_XXXXXX"), start_(start) {
        fd_ = Fd(::mkstemp(path_.data()));
        EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(bytes)), 0);
        put(OLAF_REGISTER_MAGIC, OLAF_CARD_MAGIC);
        put(OLAF_REGISTER_LAYOUT, OLAF_CARD_LAYOUT);
        put(OLAF_REGISTER_PLACES, 8);
        put(OLAF_REGISTER_CLUSTERS, 128);
        put(OLAF_REGISTER_SLOTS, 128);
        put(OLAF_REGISTER_LANES, 1152);
        put(OLAF_REGISTER_FEATURES, 7);
    }
    RegistersFile(const RegistersFile &) = delete;
    RegistersFile &operator=(const RegistersFile &) = delete;
    ~RegistersFile() { ::unlink(path_.c_str()); }

    void put(std::size_t at, std::uint32_t value) const {
        const std::uint32_t word = htole32(value);
        EXPECT_EQ(::pwrite(fd_.get(), &word, sizeof word, static_cast<off_t>(start_ + at)), 4);
    }
    [[nodiscard]] std::uint32_t get(std::size_t at) const {
        std::uint32_t word = 0;
        EXPECT_EQ(::pread(fd_.get(), &word, sizeof word, static_cast<off_t>(start_ + at)), 4);
        return le32toh(word);
    }
    /// As a card reads that has gone from its slot.
    void lose() const {
        const std::string ones(std::filesystem::file_size(path_), '\xff');
        EXPECT_EQ(::pwrite(fd_.get(), ones.data(), ones.size(), 0),
                  static_cast<ssize_t>(ones.size()));
    }
    [[nodiscard]] const std::string &path() const { return path_; }

  private:
    std::string path_;
    std::size_t start_;
    Fd fd_;
};

} // namespace olaf::test
