// SPDX-License-Identifier: BSD-2-Clause
// A loaded queue, attached to nothing, and a view of its maps. Everything is deterministic: time
// matters only through olaf_ring.next_departure_ns, which tests write.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lent.hpp"
#include "loader/host/clock.hpp"
#include "olaf/acks.h"
#include "olaf/aom.h"
#include "olaf/members.h"
#include "olaf/way.h"
#include "olaf/window.h"
#include "packet.hpp"
#include "test_run.hpp"

namespace olaf::test {

/// An update that waits, as the maps have it.
struct Waiting {
    olaf_place place;
    olaf_pending pending;
    Bytes headers;
    std::vector<std::uint64_t> lanes;
};

/// The counters of cli.md, summed over CPUs and slots.
struct Totals {
    std::uint64_t received = 0, passed_through = 0;
    std::uint64_t appended = 0, aggregated = 0, replaced = 0;
    std::uint64_t departed_riding = 0, departed_drain = 0;
    std::uint64_t dropped_full = 0, dropped_reward = 0, dropped_sealed = 0;
    std::uint64_t dropped_misfit = 0;
    std::uint64_t malformed = 0, not_allowed = 0, bypassed = 0;
    std::uint64_t updates_in = 0, updates_out = 0, updates_superseded = 0, updates_dropped = 0;

    bool operator==(const Totals &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Totals &totals);

class Harness {
  public:
    /// `floats`: its jobs may sum them. Throws std::runtime_error when the queue can't be loaded.
    explicit Harness(const DatapathConfig &config, bool floats = false);

    Ran offer(const Frame &frame, const How &how = {}) { return offer(frame.bytes, how); }
    Ran offer(const Bytes &frame, const How &how = {}) {
        return run_xdp(queue().program_fd("olaf_ingress"), frame, how);
    }

    /// What a map has there, and what it has from now on. Both throw std::system_error.
    template <class T> [[nodiscard]] T read(const char *map, std::uint32_t key = 0) const {
        T value{};
        copy_out(map, key, &value);
        return value;
    }
    template <class Key, class T> void write(const char *map, const Key &key, const T &value) const {
        copy_in(map, &key, &value);
    }

    /// The address that the frame goes to is this host's.
    void own(const Frame &frame);

    /// A frame on its way out of the queue's device.
    Ran leave(const Frame &frame) { return leave(frame.bytes); }
    Ran leave(const Bytes &frame) { return run_tc(queue().program_fd("olaf_egress"), frame); }

    /// Nobody, if the worker has no place.
    [[nodiscard]] olaf_member member(std::uint32_t cluster, std::uint32_t worker) const;
    void set_member(std::uint32_t cluster, std::uint32_t worker, const olaf_member &member);
    /// As if the worker had last been heard so long ago.
    void silence(std::uint32_t cluster, std::uint32_t worker, std::uint64_t ns);
    [[nodiscard]] olaf_roster roster(std::uint32_t cluster) const;
    void set_roster(std::uint32_t cluster, const olaf_roster &roster);
    /// A second begins, as far as new members are counted.
    void admit_more(std::uint32_t cluster);

    /// Nothing is due, however long the test takes; everything is due.
    void link_busy() { set_link(UINT64_MAX / 2, ring().drain_deadline_ns); }
    void link_free() { set_link(0, ring().drain_deadline_ns); }
    /// A token counts as under way until the deadline, so that no arrival launches one.
    void set_link(std::uint64_t next_departure_ns, std::uint64_t drain_deadline_ns);
    void set_drain_deadline(std::uint64_t ns) { set_link(ring().next_departure_ns, ns); }

    /// Empty, as just loaded, all counters zero; rules and the drain's deadline stay.
    void reset();

    /// What a command orders of the drain.
    void order(const olaf_control &control);
    void set_rule(std::uint32_t cluster, const olaf_rule &rule);
    void set_active(const olaf_active &active);

    void set_window(const olaf_window &window);
    /// As if everything in flight had departed so much earlier.
    void age_flights(std::uint64_t ns);

    [[nodiscard]] olaf_window window() const;
    [[nodiscard]] olaf_ring ring() const;
    [[nodiscard]] std::vector<Waiting> waiting() const;
    [[nodiscard]] std::uint64_t updates_waiting() const;
    [[nodiscard]] olaf_slot slot(std::uint32_t index) const;
    [[nodiscard]] std::vector<olaf_place> places() const;
    void set_places(const std::vector<olaf_place> &places);
    /// The update that an entry has.
    [[nodiscard]] olaf_pending pending(std::uint32_t entry) const;
    void set_pending(std::uint32_t entry, const olaf_pending &pending);
    /// Every hop's place whose `change` returns true is written back. Returns how many were.
    unsigned change_hops(const std::function<bool(olaf_hop &)> &change);
    [[nodiscard]] olaf_counters counters() const;         ///< summed over CPUs
    [[nodiscard]] olaf_ack_counters ack_counters() const; ///< summed over CPUs
    [[nodiscard]] olaf_aom aom(std::uint32_t index) const; ///< of a slot
    void set_aom(std::uint32_t index, const olaf_aom &aom);
    [[nodiscard]] Totals totals() const;
    [[nodiscard]] std::uint32_t active_clusters(std::uint64_t now_ns) const;

    /// What breaks the identities of cli.md, or an invariant of a queue at rest; empty if nothing.
    [[nodiscard]] std::string broken_identity() const;

    [[nodiscard]] const Datapath &queue() const { return loan_->queue; }
    [[nodiscard]] const olaf_config &config() const { return queue().config(); }

  private:
    /// A per-CPU value of 64-bit counts, summed.
    template <class T> T sum_of_cpus(const char *map) const;
    /// An entry's bytes.
    [[nodiscard]] std::vector<std::uint64_t> entry_of(std::uint32_t index) const;
    void copy_out(const char *map, std::uint32_t key, void *value) const;
    void copy_in(const char *map, const void *key, const void *value) const;

    Loan loan_;
};

/// How far the clock of BPF programs (bpf_ktime_get_ns) may be behind CLOCK_MONOTONIC. It can stand still from
/// one tick to the next: up to 12 ms were measured in an emulated kernel whose clock source is HPET.
inline constexpr std::uint64_t clock_slack_ns = 100'000'000;

/// Waits until the machine has been up for longer than that. Both clocks start at 0 with the machine, so a time that
/// a test moves so far back would else be below 0: call it before such a time is noted. Only a guest that has just
/// booted waits.
void be_up_for(std::uint64_t ns);

/// A time that is at least so long ago by both clocks.
std::uint64_t time_before_ns(std::uint64_t ns);

} // namespace olaf::test
