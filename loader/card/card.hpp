// SPDX-License-Identifier: BSD-2-Clause
// A card's registers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/datapath/snapshot.hpp"
#include "loader/host/fd.hpp"
#include "olaf/queue.h"
#include "olaf/registers.h"
#include "olaf/result.hpp"

namespace olaf {

// Registers of a PCI device, mapped: the resource file of a BAR, or any file that behaves as one.

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

/// What a card can do at most.
struct CardCapabilities {
    std::uint32_t places = 0, clusters = 0, slots = 0, lanes = 0;
    std::uint32_t features = 0; ///< bits, as olaf_card_feature numbers them
    [[nodiscard]] bool has(olaf_card_feature feature) const { return (features >> feature & 1) != 0; }
};

/// This host's IPv4 addresses as the card compares them; network order, 0: none.
using CardOwn = std::array<std::uint32_t, 4>;

/// Errors of what is lost have the code ENODEV: registers that read as all ones, or a card that
/// doesn't answer what it is told.
bool is_lost(const Error &error);

class Card {
  public:
    /// Maps the file and finds the queue in it: at its start, or where OpenNIC has its box. Fails
    /// with what is in the way: size, magic, layout; with is_lost() where there are only ones.
    static Result<Card> open(const std::string &path);

    [[nodiscard]] const std::string &path() const { return bar_.path(); }
    [[nodiscard]] const CardCapabilities &capabilities() const { return capabilities_; }

    /// Fails if it is lost.
    [[nodiscard]] Result<void> check_there() const;
    [[nodiscard]] Result<bool> queues() const; ///< it takes updates in
    /// Nothing waits or is on its way out.
    [[nodiscard]] Result<bool> empty() const;
    /// Messages that wait.
    [[nodiscard]] Result<std::uint32_t> queue_length() const;

    /// All of it takes effect in one cycle. With `own` only updates for these addresses are taken.
    Result<void> configure(const olaf_config &config, const std::optional<CardOwn> &own);
    /// False: from now on every frame passes, and what waits leaves at its pace. True: as it was
    /// configured.
    Result<void> admit(bool yes);

    [[nodiscard]] Result<olaf_rule> rule(std::uint32_t cluster) const;
    /// One rule for clusters first ... last.
    Result<void> set_rules(std::uint32_t first, std::uint32_t last, const olaf_rule &rule);

    /// Its counters and levels, all of one cycle; those of clusters are each of its own moment.
    [[nodiscard]] Result<Snapshot> snapshot(const olaf_config &config) const;

  private:
    Card(Bar bar, std::size_t start) : bar_(std::move(bar)), start_(start) {}
    [[nodiscard]] std::uint32_t get(std::size_t at) const { return bar_.read(start_ + at); }
    void put(std::size_t at, std::uint32_t value) const { bar_.write(start_ + at, value); }
    [[nodiscard]] std::uint64_t get64(std::size_t at) const;
    void put64(std::size_t at, std::uint64_t value) const;
    // The caller of these has the turn.
    /// What was written has taken effect, and what is read is no older.
    [[nodiscard]] Result<void> fence() const;
    [[nodiscard]] Result<std::uint32_t> status() const;
    [[nodiscard]] Result<void> commit() const;
    [[nodiscard]] Result<void> take_snapshot() const;
    void read_counters(Snapshot &into) const;

    [[nodiscard]] Result<bool> status_bit(std::uint32_t bit) const;
    Bar bar_;
    std::size_t start_; ///< of the queue's registers in the file
    CardCapabilities capabilities_;
};

} // namespace olaf
