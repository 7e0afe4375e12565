// SPDX-License-Identifier: BSD-2-Clause
// The queue's maps as the checker knows them: how large they are, who may write what under which
// lock, and what must hold of them whenever a lock is given back and when everything is at rest.
// The one file pair that knows fields of olaf/queue.h.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "machine.hpp"
#include "olaf/queue.h"

namespace olaf::interleave {

/// What every scenario starts from: a handful of clusters of one segment, up this host's own stack.
olaf_config usual_config();

/// The drain's cable, kept among the maps so that its order counts and a run can be taken back.
struct Cable {
    static constexpr std::uint32_t most = 4, token_bytes = 64;
    std::uint32_t tokens;
    std::uint32_t pad;
    std::uint8_t token[most][token_bytes];
};

/// Sums of an at-rest reading, by docs/cli.md.
struct Books {
    std::uint64_t updates_in = 0, updates_out = 0, updates_superseded = 0, updates_dropped = 0,
                  updates_waiting = 0;
    std::uint64_t outcome = 0; ///< a number for how it came out, of all that is counted
};

class Contract : public Observer {
  public:
    explicit Contract(const olaf_config &config);

    [[nodiscard]] std::vector<MapShape> maps() const;
    [[nodiscard]] std::vector<WordRule> rules() const;

    void begins() override;
    void writes(unsigned cpu, std::uint32_t word, Access access) override;
    void released(unsigned cpu, std::uint32_t lock) override;
    /// These bytes of an entry are being copied into a frame.
    void copying(unsigned cpu, const void *from);

    /// No program runs: nothing is held or half done, and the identities hold.
    Books at_rest() const;
    [[nodiscard]] std::uint64_t waiting() const;
    [[nodiscard]] std::uint32_t live_generation() const;

    // What user space does.
    void order_to_empty(std::uint64_t until_ns);
    void set_rule(std::uint32_t cluster, std::uint32_t policy, std::uint32_t max_count);
    /// The link is taken until then.
    void take_link(std::uint64_t until_ns);

  private:
    struct Turn {
        std::uint32_t slot = 0, entry = 0;
        std::uint32_t hop = 0; // one for each next hop, and one for those that need none
        std::uint64_t appended = 0;
    };
    [[nodiscard]] olaf_ring *ring() const { return Machine::the().memory.at<olaf_ring>("olaf_ring"); }
    [[nodiscard]] olaf_place *place(std::uint64_t position) const;
    [[nodiscard]] olaf_slot *slot(std::uint32_t index) const;
    [[nodiscard]] std::uint32_t slots() const { return config_.max_clusters * config_.max_segments; }
    [[nodiscard]] std::uint32_t entries() const { return 2 * slots() + config_.fifo_places; }
    void guard(std::vector<WordRule> &rules, const void *from, std::size_t bytes,
               const std::uint32_t *lock) const;
    void except_way_out(std::vector<WordRule> &rules, const olaf_entry *entry) const;
    void moved(unsigned cpu, std::uint64_t head, std::uint64_t tail);
    void check_states() const;
    void check_window() const;

    olaf_config config_;
    std::uint64_t head_ = 0, tail_ = 0;       // when the ring's lock was given back last
    std::vector<Turn> turns_;                 // by position
    std::uint64_t appended_ = 0;              // so many
    std::map<std::uint32_t, std::uint64_t> last_; // of each hop, the last that was popped
    std::array<std::int64_t, most_cpus> popped_{}; // position that this CPU carries away; -1: none
};

} // namespace olaf::interleave
