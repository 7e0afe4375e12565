// SPDX-License-Identifier: BSD-2-Clause
// What is attached: its record, its pinned maps, and how to find it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "loader/datapath/datapath.hpp"
#include "loader/datapath/start.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/drain.hpp"
#include "olaf/queue.h"
#include "olaf/result.hpp"

namespace olaf {

// What `attach` did to a device, pinned next to the queue: enough to show it, to change it and
// to take it back, also after an attach that was killed halfway.

/// Name of the record's pin; those of programs are in their table (programs.hpp).
namespace pin {
inline constexpr auto record = "olaf_attachment";
} // namespace pin

/// The value of the map olaf_attachment[0]: user space's alone, no program sees it.
struct Record {
    std::uint32_t layout = OLAF_LAYOUT;
    std::uint32_t complete = 0; ///< the attach got to its end
    std::uint32_t skb_mode = 0;
    std::uint32_t drain_ours = 0;      ///< the drain's names were free before we took them
    std::uint32_t drain_ifindex_a = 0; ///< 0: not made yet
    std::uint32_t drain_ifindex_b = 0;
    std::uint32_t clsact_ours = 0; ///< the device had none
    std::uint32_t return_ifindex = 0;     ///< device that ACKs from upstream come in by; 0: none
    std::uint32_t return_clsact_ours = 0; ///< that device had none, and isn't the queue's own
    /// While --replace moves from one such device to another: the one to come, then the one that
    /// was. What a kill in between leaves there is known by it.
    std::uint32_t other_return_ifindex = 0;
    std::uint32_t other_return_clsact_ours = 0;
    char device[16] = {}; ///< name at the time
    char target[64] = {}; ///< of deliveries, as people write it
    olaf_config config{};
    std::uint64_t attached_ns = 0; ///< CLOCK_MONOTONIC; 0: not complete
    std::uint64_t replaced_ns = 0; ///< the last --replace; 0: none
    std::uint32_t on_card = 0;   ///< updates queue in a card (card/find.hpp), not in the kernel
    std::uint32_t hw_asked = 0;  ///< enum Hardware
    char hw_reason[160] = {};    ///< why the queue isn't in a card; "": it is, or nobody looked

    /// The drain of the device of that index.
    [[nodiscard]] Drain drain(std::uint32_t ifindex) const;
};

/// Text of a record, cut to its field.
template <std::size_t N> void copy_text(char (&field)[N], const std::string &text) {
    std::snprintf(field, N, "%s", text.c_str());
}

/// "hw", "skb" or "native".
inline const char *mode_name(const Record &record) {
    return record.on_card != 0 ? "hw" : record.skb_mode != 0 ? "skb" : "native";
}

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

struct Attachment {
    PinPlace place;
    Record record;
    bool alive = false; ///< its XDP program is on the device
    bool away = false;  ///< it is, but the device has moved to another network namespace
    bool there = false; ///< its device is in this network namespace
    std::string device; ///< its name now, or when attached if it is gone
    /// The registers of a card that updates queue in, or may still wait in; nothing: there is none.
    std::optional<std::string> card = {};

    /// Its queue is the card's: it has no programs, and no maps but the record.
    [[nodiscard]] bool on_card() const { return record.on_card != 0; }
};

/// Whatever is at a place, if only half.
Attachment read_attachment(const PinPlace &place);

/// By the device's name, also when the device is gone.
Result<Attachment> find_attachment(const std::string &device);

/// Every one of this network namespace.
Result<std::vector<Attachment>> attachments();

/// One that works: complete, with its XDP program on the device, or in a card.
Result<Attachment> live_attachment(const std::string &device);
Result<Attachment> live_attachment(const PinPlace &place);
/// The same of one in the kernel. Fails for one in a card, which has no "jobs".
Result<Attachment> kernel_attachment(const std::string &device, const std::string &lacks);

/// Why one that was complete isn't alive, in words.
std::string why_dead(const Attachment &attachment);

/// A pinned map of it.
Result<Fd> open_map(const Attachment &attachment, const char *name);
/// The same for reading: asks for no more than the right to read the pin.
Result<Fd> open_map_to_read(const Attachment &attachment, const char *name);

// The pin `start` of a queue whose figures were started anew: a map of words (datapath/start.hpp)
// that no program reads. It goes with the queue's other pins.

/// Nothing: they start with the queue.
Result<std::optional<Start>> read_start(const Attachment &attachment);

/// From now on figures start there. Readers see the old start or this one, whatever happens to this
/// process meanwhile. The caller holds the lock of the pins.
Result<void> write_start(const Attachment &attachment, const Start &start);

// What a queue takes of the host's memory.

/// Bytes of every map that is pinned at a place, as the kernel accounts for them.
std::uint64_t map_memory(const PinPlace &place);

/// The same of the maps of a queue that is loaded.
std::uint64_t map_memory(const Datapath &queue);

} // namespace olaf
