// SPDX-License-Identifier: BSD-2-Clause
// The maps of jobs as the checker knows them: how large they are, who may write what under which
// lock, and what must hold of a slot whenever its lock is given back and when everything is at rest.
// The one file pair that knows fields of olaf/rounds.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine.hpp"
#include "olaf/queue.h"
#include "olaf/rounds.h"
#include "round_frames.hpp"

namespace olaf::interleave {

/// A job, of two children unless it says otherwise: what a scenario says of it beyond that.
struct JobShape {
    std::uint32_t children = 2;
    std::uint32_t threshold = 0; ///< 0: all of them
    std::uint32_t flags = 0;     ///< OLAF_JOB_*
    bool has_parent = false;
    bool two_armed = false;   ///< the parent is behind another device
    std::uint32_t pool = 2;   ///< p: it has 2^p slots
    std::uint32_t lines = 1;  ///< 2: each CPU has one of its own
    std::uint32_t absent = 0; ///< ranks that are no members at first, a bit each
    bool to_group = false;    ///< results leave by multicast
};
olaf_job_setup setup_of(const JobShape &shape);

/// Sums of an at-rest reading, by include/olaf/rounds.h.
struct JobBooks {
    std::uint64_t riding = 0, copied = 0, multicast = 0, repeated = 0, completed = 0;
    std::uint64_t outcome = 0; ///< a number for how it came out, of all that is counted
};

class RoundsContract : public Observer {
  public:
    RoundsContract(const olaf_config &config, const JobShape &shape);

    [[nodiscard]] std::vector<MapShape> maps() const;
    [[nodiscard]] std::vector<WordRule> rules() const;

    void begins() override {}
    void writes(unsigned cpu, std::uint32_t word, Access access) override;
    void released(unsigned cpu, std::uint32_t lock) override;
    /// These bytes are being copied into a frame.
    void copying(const void *from) const;

    /// No program runs: nothing is held or half done, and the identities hold. What is owed is known
    /// unless the job was removed or its members changed.
    JobBooks at_rest(bool owed_is_known) const;
    /// Nobody is owed anything: the line is empty as well.
    void nothing_waits() const;
    /// A chunk that still lacks something, of the job's generation.
    [[nodiscard]] std::optional<Chunk> unfinished(std::uint32_t state) const;
    [[nodiscard]] std::uint32_t state() const;
    /// Number of the run that has the job.
    [[nodiscard]] std::uint64_t run() const;
    /// 0: the first generation is the job's; 1: the next.
    [[nodiscard]] std::uint32_t life() const;
    /// As if all chunks but two had been opened already that a change of members takes.
    void leave_two_to_open() const;

    // What user space does.
    void write_order(const olaf_job_order &order) const;
    [[nodiscard]] int answer() const;

  private:
    enum Part : std::uint8_t { other, of_slot, of_tag, of_owed, of_job, tail, head };
    [[nodiscard]] olaf_job *job() const { return Machine::the().memory.at<olaf_job>("olaf_jobs"); }
    [[nodiscard]] olaf_round_slot *slot(std::uint32_t index) const;
    [[nodiscard]] const std::uint64_t *lanes(std::uint32_t slot, unsigned buffer) const;
    void label(const void *from, std::size_t bytes, Part part, const std::uint32_t *lock);
    void learn_parts();
    void check(const olaf_round_slot &slot, std::uint32_t index) const;
    void check_buffer(const olaf_round_buffer &buffer, const std::uint64_t *lanes) const;
    [[nodiscard]] std::uint64_t owed() const;
    [[nodiscard]] bool is_in_line(std::uint32_t buffer) const;

    olaf_config config_;
    JobShape shape_;
    std::vector<Part> parts_;          // of each word
    std::vector<std::uint32_t> locks_; // of each word that has a part: the lock for it
};

} // namespace olaf::interleave
