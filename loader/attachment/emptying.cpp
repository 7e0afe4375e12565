// SPDX-License-Identifier: BSD-2-Clause
#include "emptying.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "loader/datapath/config.hpp"
#include "loader/datapath/snapshot.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/notes.hpp"
#include "olaf/drain.h"
#include "olaf/try.hpp"
#include "way_out.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t poll_ns = 5 * millisecond;
constexpr std::uint64_t lease_ns = 1000 * millisecond;
constexpr std::uint64_t hold_ns = 5000 * millisecond;
constexpr std::uint64_t slack_ns = 1000 * millisecond;

/// The longest that one departure may take: the largest frame at the rate, its turns of the
/// drain, and time for a busy machine.
std::uint64_t departure_bound(const olaf_config &config) {
    const auto frame = entry_bytes(config.max_lanes) + config.frame_overhead;
    const auto wire = static_cast<double>(config.ns_per_byte_q24) / 0x1p24 * frame;
    return static_cast<std::uint64_t>(wire) + 2 * config.drain_interval_ns +
           olaf_longest_turn_ns(config.drain_interval_ns) + slack_ns;
}

/// The longest that a closed window holds it up besides: the timeout after which a silent
/// server is no longer waited for.
Result<std::uint64_t> window_bound(const Attachment &attachment) {
    if (attachment.record.config.window == 0)
        return 0;
    const auto map = OLAF_TRY(open_map(attachment, "olaf_window"));
    const auto window = OLAF_TRY(read_window(map.get()));
    return window_timeout_ns(window);
}

std::unexpected<Error> stuck(const Attachment &attachment) {
    const auto waiting = updates_waiting(attachment);
    const auto why = obstacle(attachment);
    return fail("drain the queue of", attachment.device, 0,
                "it works on; bring the way out up again, or drop them: olaf detach --force",
                fmt::format("{} updates wait and none leaves: {}", waiting.value_or(0),
                            why.empty() ? "nothing tells why" : why));
}

std::unexpected<Error> interrupted(const Attachment &attachment) {
    return fail("drain the queue of", attachment.device, EINTR, "it works on");
}

/// Whether less waits than ever since the emptying began. That the head moves is no progress: an
/// update whose next hop is silent goes to the back, and more updates for that hop may arrive.
struct Progress {
    std::uint64_t bound_ns, fewest = UINT64_MAX, waited_ns = 0;
    std::uint64_t looked_ns = monotonic_ns(), told_ns = looked_ns;

    /// What leaves into a device that is down is no progress. Time in which this process was kept from
    /// the CPU doesn't count: the drain may have been, too.
    bool too_slow(const Attachment &attachment, const olaf_ring &ring, std::uint64_t now) {
        const auto waiting = ring.tail - ring.head;
        waited_ns += std::min(now - looked_ns, 2 * poll_ns);
        looked_ns = now;
        if (waiting < fewest && (fewest == UINT64_MAX || output_obstacle(attachment).empty())) {
            waited_ns = 0;
            fewest = waiting;
        }
        return waited_ns > bound_ns;
    }

    void tell(const Attachment &attachment, const olaf_ring &ring, std::uint64_t now) {
        if (now - told_ns < 500 * millisecond)
            return;
        note(fmt::format("{}: {} of them wait", attachment.device, ring.tail - ring.head));
        told_ns = now;
    }
};

} // namespace

Result<EmptyingLease> EmptyingLease::take(const Attachment &attachment) {
    auto control = OLAF_TRY(open_map(attachment, "olaf_control"));
    EmptyingLease lease(std::move(control));
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(lease.control_.get(), &key, &lease.orders_) != 0)
        return fail("read", "olaf_control", errno);
    OLAF_TRY(lease.renew());
    return lease;
}

EmptyingLease::~EmptyingLease() {
    orders_.emptying_until_ns = orders_.held_until_ns = 0;
    if (control_)
        (void)write();
}

Result<void> EmptyingLease::renew() {
    const auto now = monotonic_ns();
    if (orders_.emptying_until_ns > now + lease_ns * 3 / 4)
        return {};
    broken_ |= now >= orders_.emptying_until_ns;
    orders_.emptying_until_ns = now + lease_ns;
    return write();
}

Result<void> EmptyingLease::hold() {
    const auto now = monotonic_ns();
    orders_.emptying_until_ns = now + lease_ns;
    orders_.held_until_ns = now + hold_ns;
    broken_ = false;
    return write();
}

Result<void> EmptyingLease::let_go() {
    orders_.held_until_ns = 0;
    return write();
}

bool EmptyingLease::unbroken() {
    broken_ |= monotonic_ns() >= orders_.emptying_until_ns;
    return !broken_;
}

Result<void> EmptyingLease::write() const {
    const std::uint32_t key = 0;
    if (bpf_map_update_elem(control_.get(), &key, &orders_, BPF_ANY) != 0)
        return fail("write", "olaf_control", errno);
    return {};
}

Result<void> empty_queue(const Attachment &attachment, EmptyingLease *lease, const Signals &stop,
                   bool verbose) {
    const auto map = open_map(attachment, "olaf_ring");
    const auto held_up = window_bound(attachment);
    if (!map || !held_up)
        return std::unexpected(map ? held_up.error() : map.error());
    Progress progress{.bound_ns = departure_bound(attachment.record.config) + *held_up};
    for (;;) {
        if (lease != nullptr)
            OLAF_TRY(lease->renew());
        const auto ring = OLAF_TRY(read_ring(map->get()));
        if (ring.head == ring.tail)
            return {};
        const auto now = monotonic_ns();
        if (progress.too_slow(attachment, ring, now))
            return stuck(attachment);
        if (verbose)
            progress.tell(attachment, ring, now);
        if (OLAF_TRY(stop.until(now + poll_ns)))
            return interrupted(attachment);
    }
}

Result<std::uint64_t> updates_waiting(const Attachment &attachment) {
    std::vector<Fd> open; // for as long as they are read
    const auto snapshot = OLAF_TRY(read_snapshot(attachment.record.config, [&](const char *name) {
        auto fd = open_map_to_read(attachment, name);
        return fd ? open.emplace_back(std::move(*fd)).get() : -1;
    }));
    return snapshot.levels.updates_waiting;
}

} // namespace olaf
