// SPDX-License-Identifier: BSD-2-Clause
// What `attach` did to a device, pinned next to the queue: enough to show it, to change it and
// to take it back, also after an attach that was killed halfway.
#pragma once

#include <cstdint>
#include <string>

#include "loader/host/bpffs.hpp"
#include "loader/host/drain.hpp"
#include "olaf/queue.h"
#include "olaf/result.hpp"

namespace olaf {

/// Name of the record's pin; those of programs are in their table (programs.hpp).
namespace pin {
inline constexpr auto record = "olaf_attachment";
} // namespace pin

/// The value of the map olaf_attachment[0]: user space's alone, no program sees it. Sized in
/// full, so that a newer olaf can still detach what an older one of the same layout attached.
struct Record {
    std::uint32_t layout = OLAF_LAYOUT;
    std::uint32_t complete = 0; ///< the attach got to its end
    std::uint32_t skb_mode = 0;
    std::uint32_t drain_ours = 0;      ///< the drain's names were free before we took them
    std::uint32_t drain_ifindex_a = 0; ///< 0: not made yet
    std::uint32_t drain_ifindex_b = 0;
    std::uint32_t clsact_ours = 0; ///< the device had none
    std::uint32_t unused[2] = {}; ///< priorities of filters, which are found by their programs
    std::uint32_t return_ifindex = 0;     ///< device that ACKs from upstream come in by; 0: none
    std::uint32_t return_clsact_ours = 0; ///< that device had none, and isn't the queue's own
    /// While --replace moves from one such device to another: the one to come, then the one that
    /// was. What a kill in between leaves there is known by it.
    std::uint32_t other_return_ifindex = 0;
    std::uint32_t other_return_clsact_ours = 0;
    char device[16] = {}; ///< name at the time
    char target[64] = {}; ///< of deliveries, as people write it
    olaf_config config{};
    std::uint64_t attached_ns = 0; ///< CLOCK_MONOTONIC; 0: by an olaf that didn't write it down
    std::uint64_t replaced_ns = 0; ///< the last --replace; 0: none
    std::uint32_t on_card = 0;   ///< updates queue in a card (card/record.hpp), not in the kernel
    std::uint32_t hw_asked = 0;  ///< enum Hardware; 0 by an olaf that knew no cards
    char hw_reason[160] = {};    ///< why the queue isn't in a card; "": it is, or nobody looked
    std::uint8_t reserved[60] = {};

    /// The drain of the device of that index.
    [[nodiscard]] Drain drain(std::uint32_t ifindex) const {
        Drain drain = drain_names(ifindex);
        drain.ifindex_a = drain_ifindex_a;
        drain.ifindex_b = drain_ifindex_b;
        return drain;
    }
};

/// "hw", "skb" or "native".
inline const char *mode_name(const Record &record) {
    return record.on_card != 0 ? "hw" : record.skb_mode != 0 ? "skb" : "native";
}

static_assert(sizeof(Record) == 584, "the size of records that are pinned already");

/// The record's map, open.
class RecordMap {
  public:
    static Result<RecordMap> create(const PinPlace &place, const Record &record);
    static Result<RecordMap> open(const PinPlace &place);
    /// For read() alone: asks for no more than the right to read the pin.
    static Result<RecordMap> open_to_read(const PinPlace &place);

    [[nodiscard]] Result<Record> read() const;
    [[nodiscard]] Result<void> write(const Record &record) const;

  private:
    static Result<RecordMap> open(const PinPlace &place, std::uint32_t file_flags);
    RecordMap(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
    std::string path_;
    Fd fd_;
};

} // namespace olaf
