// SPDX-License-Identifier: BSD-2-Clause
#include "reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <string>

#include "loader/attachment/addresses.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/card.hpp"
#include "loader/attachment/emptying.hpp"
#include "loader/attachment/hooks.hpp"
#include "loader/attachment/plan.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/device.hpp"
#include "loader/host/host.hpp"
#include "loader/host/xdp.hpp"
#include "loader/text/address.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Those of the queue's hooks; losses that aren't watched are told of elsewhere.
std::vector<std::string> missing_from_hooks(const Attachment &attachment) {
    if (!require_privileges_to_change("look at the hooks of", attachment.device))
        return {};
    auto missing = missing_programs(attachment);
    std::erase_if(missing, [](const std::string &name) {
        return std::ranges::any_of(programs, [&](const Program &program) {
            return program.name == name && program.hook == Hook::tracepoint;
        });
    });
    return missing;
}

Result<std::vector<std::string>> allowed_sources(const Attachment &attachment) {
    std::vector<std::string> sources;
    if ((attachment.record.config.flags & OLAF_CONFIG_ALLOW_LIST) == 0)
        return sources;
    const auto map = OLAF_TRY(open_map_to_read(attachment, "olaf_allow"));
    for (const auto &prefix : allowed_prefixes(map.get()))
        sources.push_back(prefix_text(prefix));
    return sources;
}

/// Some drivers take the program and never run it: virtio_net without mergeable buffers. 0: it has seen some.
Result<std::uint64_t> frames_unseen(const Attachment &attachment) {
    const auto map = OLAF_TRY(open_map_to_read(attachment, "olaf_counters"));
    const auto counters = OLAF_TRY(read_counters(map.get()));
    const auto add = [](std::uint64_t sum, const auto &by_reason) {
        return std::accumulate(std::begin(by_reason), std::end(by_reason), sum);
    };
    const auto seen =
        add(add(add(counters.received, counters.malformed), counters.not_allowed), counters.bypassed);
    const auto device = find_device(attachment.place.ifindex);
    const auto before = attachment.record.received_before;
    return seen != 0 || !device ? 0 : device->received - std::min(before, device->received);
}

std::vector<std::string> chains_of(const Attachment &attachment, const std::string &output) {
    const auto &config = attachment.record.config;
    if (config.deliver != OLAF_DELIVER_FORWARD || output.empty())
        return {};
    auto chains = chains_passed_by(attachment.device, output,
                                   (config.flags & OLAF_CONFIG_BRIDGE) != 0);
    return chains ? std::move(*chains) : std::vector<std::string>(); // nobody may ask
}

/// A queue in a card has no programs, no drain, and no map but the record.
HostState host_of_card(const Attachment &attachment) {
    HostState host;
    host.wall_ns = realtime_ns();
    host.memory_bytes = map_memory(attachment.place);
    host.output_obstacle = output_obstacle(attachment);
    if (attachment.record.config.deliver != OLAF_DELIVER_LOCAL)
        if (const auto output = find_device(attachment.record.config.egress_ifindex))
            host.output = output->name;
    host.chains = chains_of(attachment, host.output);
    if (attachment.alive)
        host.device_obstacle = device_obstacle(attachment.device, attachment.place.ifindex);
    else
        host.dead = why_dead(attachment);
    return host;
}

} // namespace

Result<HostState> read_host_state(const Attachment &attachment) {
    if (attachment.on_card())
        return host_of_card(attachment);
    auto own = OLAF_TRY(own_difference(attachment));
    auto allowed = OLAF_TRY(allowed_sources(attachment));
    HostState host;
    host.allowed = std::move(allowed);
    host.wall_ns = realtime_ns();
    host.memory_bytes = map_memory(attachment.place);
    host.own = std::move(own);
    host.output_obstacle = output_obstacle(attachment);
    if (attachment.record.config.deliver != OLAF_DELIVER_LOCAL)
        if (const auto output = find_device(attachment.record.config.egress_ifindex))
            host.output = output->name;
    std::error_code unknown;
    host.output_program =
        std::filesystem::exists(attachment.place.path(output_pass.link), unknown);
    host.drain_obstacle = drain_obstacle(attachment.record.config);
    if (!attachment.alive) {
        host.dead = why_dead(attachment);
        if (!attachment.away) {
            host.other_program = foreign_xdp(attachment.place.ifindex);
            if (const auto device = find_device(attachment.place.ifindex))
                host.other_removal = xdp_removal(*device);
            host.other_age_ns = foreign_xdp_age_ns(attachment.place.ifindex);
        }
        return host;
    }
    host.frames_unseen = OLAF_TRY(frames_unseen(attachment));
    host.device_obstacle = device_obstacle(attachment.device, attachment.place.ifindex);
    host.chains = chains_of(attachment, host.output);
    host.missing_programs = missing_from_hooks(attachment);
    return host;
}

Numbers QueueReading::numbers() const {
    if (lost())
        return {};
    if (card)
        return {.slots = &snapshot.slots,
                .cpus = &snapshot.counters,
                .acks = &snapshot.acks,
                .levels = &snapshot.levels,
                .of_card = true};
    return {.slots = &snapshot.slots,
            .cpus = &snapshot.counters,
            .acks = &snapshot.acks,
            .window = snapshot.window ? &*snapshot.window : nullptr,
            .losses = losses ? &*losses : nullptr,
            .levels = &snapshot.levels,
            .of_card = false};
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

/// A lost card's counters aren't known, which is no failure.
Result<QueueReading> read_from_card(const Attachment &attachment) {
    QueueReading reading{};
    reading.aom.now_ns = monotonic_ns();
    reading.card.emplace();
    auto lost = [&](const Error &error) -> Result<QueueReading> {
        if (!is_lost(error))
            return std::unexpected(error);
        reading.card->lost = error.reason;
        return reading;
    };
    const auto card = open_card(attachment);
    if (!card)
        return lost(card.error());
    auto snapshot = card->snapshot(attachment.record.config);
    if (!snapshot)
        return lost(snapshot.error());
    const auto queues = card->queues();
    if (!queues)
        return lost(queues.error());
    reading.card->queues = *queues;
    reading.snapshot = std::move(*snapshot);
    const auto start = OLAF_TRY(read_start(attachment));
    if (start) {
        reading.reset_ns = start->at_ns;
        subtract(reading.snapshot, *start);
    }
    return reading;
}

} // namespace

Result<Counted> read_counted(const Attachment &attachment) {
    OLAF_TRY(check_layout(attachment));
    if (attachment.on_card()) {
        const auto card = open_card(attachment);
        auto snapshot = OLAF_TRY(card ? card->snapshot(attachment.record.config)
                                      : Result<Snapshot>(std::unexpected(card.error())));
        return Counted{std::move(snapshot), {}, {}};
    }
    Maps maps(attachment);
    auto snapshot = OLAF_TRY(read_snapshot(attachment.record.config, std::ref(maps)));
    const auto losses = OLAF_TRY(read_losses(attachment));
    return Counted{std::move(snapshot), losses, deaths_unseen(attachment)};
}

Result<QueueReading> read_queue(const Attachment &attachment) {
    OLAF_TRY(check_layout(attachment));
    if (attachment.on_card())
        return read_from_card(attachment);
    auto counted = OLAF_TRY(read_counted(attachment));
    const auto start = OLAF_TRY(read_start(attachment));
    Maps maps(attachment);
    auto aom = OLAF_TRY(read_aom(attachment.record.config, std::ref(maps)));
    wake_waiting(aom, counted.snapshot);
    auto jobs = OLAF_TRY(read_jobs(attachment.record.config, std::ref(maps)));
    // After the counters: what they count, these know of.
    const auto spells = OLAF_TRY(read_spells(std::ref(maps)));
    QueueReading reading{std::move(counted), std::move(aom), std::move(jobs), spells};
    if (start) {
        reading.reset_ns = start->at_ns;
        subtract(reading.snapshot, *start);
        reading.spells = spells_since(reading.spells, reading.reset_ns);
        if (reading.losses)
            subtract(*reading.losses, *start);
    }
    return reading;
}

Result<Reading> QueueReader::read() {
    auto reading = read_even_lost();
    if (reading && reading->lost())
        return fail("read the queue on", attachment_.device, ENODEV,
                    fmt::format("olaf status tells of it, olaf detach {} cleans up",
                                attachment_.device),
                    reading->card->lost);
    return reading;
}

Result<Reading> QueueReader::read_even_lost() {
    OLAF_TRY(watch_.check());
    attachment_ = read_attachment(attachment_.place); // --replace may have changed it
    auto state = OLAF_TRY(read_queue(attachment_));
    auto host = OLAF_TRY(read_host_state(attachment_));
    return Reading{std::move(state), attachment_, std::move(host), watch_.identity()};
}

} // namespace olaf
