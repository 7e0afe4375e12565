// SPDX-License-Identifier: BSD-2-Clause
// A plain model of the queue that design.md describes: one thread, no maps, nothing fast. It is
// written from the specification, and tests compare the kernel programs with it step by step.
#pragma once

#include <deque>
#include <optional>

#include "pacer.hpp"
#include "policy.hpp"
#include "update.hpp"

namespace olaf::model {

struct Config {
    std::size_t queue_capacity = 8; ///< Qmax
    std::uint64_t ns_per_byte_q24 = 0;
    std::uint64_t drain_interval_ns = 100'000;
    std::uint64_t activity_window_ns = 1'000'000'000;
    std::uint64_t frame_overhead = 0;
};

/// cli.md, `olaf status`.
struct Counters {
    std::uint64_t received = 0, passed_through = 0;
    std::uint64_t appended = 0, aggregated = 0, replaced = 0;
    std::uint64_t departed_riding = 0, departed_drain = 0;
    std::uint64_t dropped_full = 0, dropped_reward = 0, dropped_sealed = 0;
    std::uint64_t dropped_misfit = 0, damaged = 0;
    std::uint64_t updates_in = 0, updates_out = 0, updates_superseded = 0, updates_dropped = 0;

    bool operator==(const Counters &) const = default;
};

enum class Action {
    passed_through,
    appended,
    aggregated,
    replaced,
    full,
    reward,
    sealed,
    misfit,
    refused,
    damaged ///< changes nothing, but its frame may carry a departure
};

const char *name(Action action);

/// One update in the ring.
struct Entry {
    Update update;
    bool buffered = true; ///< holds one of its slot's two buffers; not so under fifo
    bool open = true;     ///< may be merged into
};

struct Outcome {
    Action action;
    std::optional<Update> departure; ///< the head, leaving in the arriving frame
};

class Queue {
  public:
    explicit Queue(const Config &config);

    /// What the cluster's updates follow from now on.
    void set_rule(std::uint32_t cluster, const Rule &rule) { rules_[cluster] = rule; }

    /// A well-formed, allowed update arrives in a frame of `frame_bytes`, which could be grown to
    /// `room` bytes to carry a departure.
    Outcome arrive(std::uint64_t now, const Update &update, std::size_t frame_bytes,
                   std::size_t room = SIZE_MAX);

    /// The drain asks for what is due.
    std::optional<Update> drain(std::uint64_t now);

    /// The same for a drain that takes its time: what leaves holds its buffer until copied().
    std::optional<Update> begin_drain(std::uint64_t now);

    /// The oldest departure that began has been copied out.
    void copied() { copying_.pop_front(); }

    [[nodiscard]] const Counters &counters() const { return counters_; }
    [[nodiscard]] const std::deque<Entry> &ring() const { return ring_; }
    [[nodiscard]] std::uint64_t updates_waiting() const;
    [[nodiscard]] std::uint32_t active_clusters(std::uint64_t now) const;
    /// The identities at the end of cli.md.
    [[nodiscard]] bool conserves() const;

    Pacer pacer; ///< tests make the link busy or free through it

  private:
    Action accept(const Update &update, const std::optional<Entry> &leaving);
    Action append(const Update &update, Action if_no_room, bool buffered);
    [[nodiscard]] bool buffer_free(const Update &update, const std::optional<Entry> &leaving) const;
    Entry depart(std::uint64_t now);
    void count(Action action, const Update &update);

    Config config_;
    Counters counters_;
    Activity activity_;
    std::map<std::uint32_t, Rule> rules_;
    std::deque<Entry> ring_;
    std::deque<Entry> copying_; ///< left the ring, but still hold their buffers
};

/// May the two be merged? The same shape, and the same way out.
bool fits(const Update &waiting, const Update &arriving);

/// Adds an arrival to a waiting update that it fits.
void fold(Update &waiting, const Update &arriving);

/// An arrival takes the place of a waiting update.
void replace(Update &waiting, const Update &arriving);

} // namespace olaf::model
