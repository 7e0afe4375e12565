// SPDX-License-Identifier: BSD-2-Clause
#include "reading.hpp"

#include <functional>
#include <map>
#include <string>

#include "loader/attachment/start_pin.hpp"

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

/// Opens a queue's maps as they are asked for.
class Maps {
  public:
    explicit Maps(const Attachment &attachment) : attachment_(attachment) {}
    int operator()(const char *name) {
        auto fd = open_map_to_read(attachment_, name);
        return fd ? (open_[name] = std::move(*fd)).get() : -1;
    }

  private:
    const Attachment &attachment_;
    std::map<std::string, Fd> open_;
};

/// What waits makes a cluster busy, even if nothing of it has departed for long.
void wake_waiting(AomReading &aom, const Snapshot &snapshot) {
    for (auto &cluster : aom.clusters)
        cluster.idle &= snapshot.waiting[cluster.cluster] == 0;
}

/// Values of another layout are of other sizes: the kernel would write them past their buffers.
Result<void> check_layout(const Attachment &attachment) {
    if (attachment.record.layout == OLAF_LAYOUT)
        return {};
    return fail("read the queue on", attachment.device, 0, "use the olaf that attached it",
                "its maps have layout " + std::to_string(attachment.record.layout) +
                    ", this olaf knows layout " + std::to_string(OLAF_LAYOUT));
}

} // namespace

Result<Counted> read_counted(const Attachment &attachment) {
    if (auto good = check_layout(attachment); !good)
        return std::unexpected(good.error());
    Maps maps(attachment);
    auto snapshot = read_snapshot(attachment.record.config, std::ref(maps));
    if (!snapshot)
        return std::unexpected(snapshot.error());
    const auto losses = read_losses(attachment);
    if (!losses)
        return std::unexpected(losses.error());
    return Counted{std::move(*snapshot), *losses, deaths_unseen(attachment)};
}

Result<QueueReading> read_queue(const Attachment &attachment) {
    auto counted = read_counted(attachment);
    if (!counted)
        return std::unexpected(counted.error());
    const auto start = read_start(attachment);
    if (!start)
        return std::unexpected(start.error());
    Maps maps(attachment);
    auto aom = read_aom(attachment.record.config, std::ref(maps));
    if (!aom)
        return std::unexpected(aom.error());
    wake_waiting(*aom, counted->snapshot);
    auto jobs = read_jobs(attachment.record.config, std::ref(maps));
    if (!jobs)
        return std::unexpected(jobs.error());
    // After the counters: what they count, these know of.
    const auto spells = read_spells(std::ref(maps));
    if (!spells)
        return std::unexpected(spells.error());
    QueueReading reading{std::move(*counted), std::move(*aom), std::move(*jobs), *spells};
    if (*start) {
        reading.reset_ns = (*start)->at_ns;
        subtract(reading.snapshot, **start);
        reading.spells = spells_since(reading.spells, reading.reset_ns);
        if (reading.losses)
            subtract(*reading.losses, **start);
    }
    return reading;
}

} // namespace olaf
