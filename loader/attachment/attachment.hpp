// SPDX-License-Identifier: BSD-2-Clause
// Finding what is attached.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loader/host/bpffs.hpp"
#include "olaf/result.hpp"
#include "record.hpp"

namespace olaf {

struct Attachment {
    PinPlace place;
    Record record;
    bool alive = false; ///< its XDP program is on the device
    bool away = false;  ///< it is, but the device has moved to another network namespace
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
/// The same of one in the kernel. Fails for one in a card, which has no "jobs".
Result<Attachment> kernel_attachment(const std::string &device, const std::string &lacks);

/// Why one that was complete isn't alive, in words.
std::string why_dead(const Attachment &attachment);

/// A pinned map of it.
Result<Fd> open_map(const Attachment &attachment, const char *name);
/// The same for reading: asks for no more than the right to read the pin.
Result<Fd> open_map_to_read(const Attachment &attachment, const char *name);

} // namespace olaf
