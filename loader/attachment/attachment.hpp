// SPDX-License-Identifier: BSD-2-Clause
// Finding what is attached.
#pragma once

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
};

/// Whatever is at a place, if only half.
Attachment read_attachment(const PinPlace &place);

/// By the device's name, also when the device is gone.
Result<Attachment> find_attachment(const std::string &device);

/// Every one of this network namespace.
Result<std::vector<Attachment>> attachments();

/// One that works: complete, with its XDP program on the device.
Result<Attachment> live_attachment(const std::string &device);

/// Why one that was complete isn't alive, in words.
std::string why_dead(const Attachment &attachment);

/// A pinned map of it.
Result<Fd> open_map(const Attachment &attachment, const char *name);
/// The same for reading: asks for no more than the right to read the pin.
Result<Fd> open_map_to_read(const Attachment &attachment, const char *name);

} // namespace olaf
