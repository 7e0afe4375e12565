// SPDX-License-Identifier: BSD-2-Clause
#include "reading.hpp"

#include <map>
#include <string>

namespace olaf {

Numbers QueueReading::numbers() const {
    return {.slots = &snapshot.slots,
            .cpus = &snapshot.counters,
            .acks = &snapshot.acks,
            .window = snapshot.window ? &*snapshot.window : nullptr,
            .losses = losses ? &*losses : nullptr,
            .levels = &snapshot.levels};
}

namespace {

/// Values of another layout are of other sizes: the kernel would write them past their buffers.
Result<void> check_layout(const Attachment &attachment) {
    if (attachment.record.layout == OLAF_LAYOUT)
        return {};
    return fail("read the queue on", attachment.device, 0, "use the olaf that attached it",
                "its maps have layout " + std::to_string(attachment.record.layout) +
                    ", this olaf knows layout " + std::to_string(OLAF_LAYOUT));
}

} // namespace

Result<QueueReading> read_queue(const Attachment &attachment) {
    if (auto good = check_layout(attachment); !good)
        return std::unexpected(good.error());
    std::map<std::string, Fd> open;
    const auto find = [&](const char *name) {
        auto fd = open_map_to_read(attachment, name);
        if (!fd)
            return -1;
        return (open[name] = std::move(*fd)).get();
    };
    const auto &config = attachment.record.config;
    auto snapshot = read_snapshot(config, find);
    if (!snapshot)
        return std::unexpected(snapshot.error());
    auto aom = read_aom(config, find);
    if (!aom)
        return std::unexpected(aom.error());
    const auto losses = read_losses(attachment);
    if (!losses)
        return std::unexpected(losses.error());
    return QueueReading{std::move(*snapshot), std::move(*aom), *losses};
}

} // namespace olaf
