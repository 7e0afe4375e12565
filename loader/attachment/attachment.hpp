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

/// Name of the record's pin; those of programs are in their table (programs.hpp).
namespace pin {
inline constexpr auto record = "olaf_attachment";
} // namespace pin

/// Whether the output takes the frames that XDP redirects to it, as attach found it; numbers of records that
/// are pinned.
enum class OutputTakes : std::uint32_t {
    frames = 0, ///< of one CPU at least; also where nothing is redirected, and in skb mode
    nothing = 1,
    unknown = 2, ///< the output was down, or couldn't be tried
};

/// What `attach` did to a device: enough to show it, to change it and to take it back, also after an
/// attach that was killed halfway. The value of the map olaf_attachment[0], which no program reads.
/// The fields before `config` never move, in no layout: by them any olaf takes a queue off its device.
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
    /// While --replace moves the filters of the way back to another device: first the new device, then
    /// the old one. A killed --replace is cleaned up by it.
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
    std::uint32_t output_takes = 0; ///< enum OutputTakes
    std::uint32_t output_refused_cpus = 0; ///< CPUs whose frames it refused, as attach found it
    std::uint64_t received_before = 0; ///< frames that the device had received by then
    std::uint32_t merging_on = 0;      ///< of host/merging.hpp, on the device before its XDP program came
    std::uint32_t output_merging_on = 0; ///< the same of the output, if it has a program of ours

    /// The drain of the device of that index.
    [[nodiscard]] Drain drain(std::uint32_t ifindex) const;
};
inline constexpr std::size_t record_head_bytes = offsetof(Record, config);
static_assert(record_head_bytes == 128, "the head of a record never changes");

/// Whether this olaf knows the maps of the queue: their OLAF_LAYOUT is its own.
inline bool knows_layout(const Record &record) {
    return record.layout == OLAF_LAYOUT && record.config.layout == OLAF_LAYOUT;
}

/// Text of a record, cut to its field.
template <std::size_t N> void copy_text(char (&field)[N], const std::string &text) {
    std::snprintf(field, N, "%s", text.c_str());
}

/// "hw", "skb" or "native".
inline const char *mode_name(const Record &record) {
    return record.on_card != 0 ? "hw" : record.skb_mode != 0 ? "skb" : "native";
}

/// The record's map, open. Of a record of another size the head alone is read and written; the rest
/// reads as zero, so that check_layout() fails.
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
    RecordMap(std::string path, Fd fd, std::size_t bytes)
        : path_(std::move(path)), fd_(std::move(fd)), bytes_(bytes) {}
    /// The map's value, whatever its size. Nothing and errno if it can't be read.
    [[nodiscard]] std::optional<std::vector<std::byte>> value() const;
    std::string path_;
    Fd fd_;
    std::size_t bytes_; ///< of the map's value
};

/// A queue, as its pins and its device are now.
struct Attachment {
    PinPlace place;
    Record record;
    bool alive = false; ///< the XDP program is on the device, or the card has the queue
    bool away = false;  ///< the same, but the device has moved to another network namespace
    bool there = false; ///< the device is in this network namespace
    std::string device; ///< the device's name; if the device has gone, its name at the attach
    /// The registers of the card in which updates queue, or may still wait. Nothing: no card.
    std::optional<std::string> card = {};

    /// The queue is in a card: it has no programs, and no map but the record.
    [[nodiscard]] bool on_card() const { return record.on_card != 0; }
};

/// Reads a place, also after half an attach.
Attachment read_attachment(const PinPlace &place);

/// Finds the queue of a device by the device's name, also when the device has gone.
Result<Attachment> find_attachment(const std::string &device);

/// All queues of this network namespace.
Result<std::vector<Attachment>> attachments();

/// A queue that works: its attach is complete, and its XDP program is on the device or its queue in a
/// card. Fails for any other.
Result<Attachment> live_attachment(const std::string &device);
Result<Attachment> live_attachment(const PinPlace &place);
/// A queue in the kernel that works. Fails for a queue in a card, which lacks "jobs", "events", ….
Result<Attachment> kernel_attachment(const std::string &device, const std::string &lacks);

/// Why a complete queue doesn't work, in words.
std::string why_dead(const Attachment &attachment);

/// Fails for a queue that an olaf of another OLAF_LAYOUT attached: the kernel would read and write values
/// past the end of this olaf's structs.
Result<void> check_layout(const Attachment &attachment);

/// Opens a pinned map of a queue. Fails if the queue has another layout, or the map values of another
/// size than this olaf's.
Result<Fd> open_map(const Attachment &attachment, const char *name);
/// The same for reading: asks for no more than the right to read the pin.
Result<Fd> open_map_to_read(const Attachment &attachment, const char *name);

// `olaf reset` pins the counters' values as `start`: a map of words (datapath/start.hpp) that no program
// reads. It is removed with the queue's other pins.

/// Where the figures start. Nothing: they start with the queue.
Result<std::optional<Start>> read_start(const Attachment &attachment);

/// Lets the figures start there. Readers see the old start or the new one, even if this process is
/// killed. The caller holds the lock of the pins.
Result<void> write_start(const Attachment &attachment, const Start &start);

/// Bytes of all maps that are pinned at a place, as the kernel accounts for them.
std::uint64_t map_memory(const PinPlace &place);

/// Bytes of the maps of a queue that is loaded.
std::uint64_t map_memory(const Datapath &queue);

} // namespace olaf
