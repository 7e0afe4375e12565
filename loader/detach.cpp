// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "attachment.hpp"
#include "commands.hpp"
#include "host.hpp"
#include "snapshot.hpp"
#include "teardown.hpp"

namespace olaf {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr auto poll = std::chrono::milliseconds(5);
constexpr auto slack = std::chrono::seconds(1);

/// The longest that one departure may take: the largest frame at the rate, its turn of the
/// lane, and time for a busy machine.
nanoseconds departure_bound(const olaf_config &config) {
    const auto frame = entry_bytes(config.max_lanes) + config.frame_overhead;
    const auto wire = static_cast<double>(config.ns_per_byte_q24) / 0x1p24 * frame;
    return nanoseconds(static_cast<std::int64_t>(wire)) +
           2 * nanoseconds(config.drain_interval_ns) + slack;
}

/// The longest that a closed window holds it up besides: the timeout after which a silent
/// server is no longer waited for, and the longest turn of the lane.
Result<nanoseconds> window_bound(const Attachment &attachment) {
    const auto &config = attachment.record.config;
    if (config.window == 0)
        return nanoseconds(0);
    const auto map = open_map(attachment, "olaf_window");
    if (!map)
        return std::unexpected(map.error());
    const auto window = read_window(map->get());
    if (!window)
        return std::unexpected(window.error());
    constexpr std::uint64_t longest_turn = 64; // drain intervals
    return nanoseconds(window_timeout_ns(*window) + longest_turn * config.drain_interval_ns);
}

Result<void> order_draining(int control_fd, bool draining) {
    const std::uint32_t key = 0;
    const olaf_control control{.draining = draining, .pad = 0};
    if (bpf_map_update_elem(control_fd, &key, &control, BPF_ANY) != 0)
        return fail("write", "olaf_control", errno);
    return {};
}

/// Waits until the ring is empty: for as long as departures keep their pace.
Result<void> await_empty(const Attachment &attachment, int ring_fd, nanoseconds bound,
                         bool verbose) {
    std::uint64_t last_head = UINT64_MAX;
    auto deadline = Clock::now() + bound;
    auto told = Clock::now();
    for (;;) {
        const auto ring = read_ring(ring_fd);
        if (!ring)
            return std::unexpected(ring.error());
        if (ring->head == ring->tail)
            return {};
        const auto now = Clock::now();
        if (ring->head != last_head) {
            last_head = ring->head;
            deadline = now + bound;
        }
        const auto waiting = ring->tail - ring->head;
        if (now > deadline)
            return fail("drain the queue of", attachment.device, 0,
                        "it works on; bring its output up again, or drop them: olaf detach --force",
                        fmt::format("{} updates wait and none leaves", waiting));
        if (verbose && now - told > std::chrono::milliseconds(500)) {
            fmt::print(stderr, "{}: {} updates wait\n", attachment.device, waiting);
            told = now;
        }
        std::this_thread::sleep_for(poll);
    }
}

Result<void> drain(const Attachment &attachment, bool verbose) {
    const auto control = open_map(attachment, "olaf_control");
    const auto ring = open_map(attachment, "olaf_ring");
    if (!control || !ring)
        return std::unexpected((control ? ring : control).error());
    const auto held_up = window_bound(attachment);
    if (!held_up)
        return std::unexpected(held_up.error());
    if (auto ordered = order_draining(control->get(), true); !ordered)
        return ordered;
    auto drained = await_empty(attachment, ring->get(),
                               departure_bound(attachment.record.config) + *held_up, verbose);
    if (!drained)
        (void)order_draining(control->get(), false); // a queue like before
    return drained;
}

} // namespace

Result<void> detach(const DetachOptions &options, const GlobalOptions &global) {
    if (auto good = require_privileges("detach from", options.device); !good)
        return good;
    auto attachment = find_attachment(options.device);
    if (!attachment)
        return std::unexpected(attachment.error());
    auto lock = PinLock::existing(attachment->place);
    if (!lock)
        return std::unexpected(lock.error());
    attachment = read_attachment(attachment->place); // of what the lock now guards

    // Half an attachment has nothing that could wait, and without its device nothing leaves.
    if (attachment->record.complete && attachment->alive) {
        auto drained = drain(*attachment, global.verbose);
        if (!drained && !options.force)
            return drained;
        if (!drained)
            fmt::print(stderr, "{}: dropped what waits: {}\n", attachment->device,
                       drained.error().reason);
    }
    if (auto done = tear_down(*lock); !done)
        return done;
    if (auto done = lock->remove(); !done)
        return done;
    if (global.json)
        fmt::print("{}\n",
                   nlohmann::json{{"device", attachment->device}, {"detached", true}}.dump());
    else
        fmt::print("{}: detached\n", attachment->device);
    return {};
}

} // namespace olaf
