// SPDX-License-Identifier: BSD-2-Clause
// The node of a job: contributions arrive, results leave. What leaves is taken down, and in the end
// held against what came.
#pragma once

#include <array>
#include <cstdint>

#include "packet.hpp"
#include "programs.hpp"
#include "rounds_contract.hpp"

namespace olaf::interleave {

/// A queue that has jobs as well.
olaf_config config_of(const JobShape &shape);

class Node : public World {
  public:
    Node(const JobShape &shape, const JobPrograms &programs);

    /// Makes this the node that programs run on, with empty maps, its job set and agreed on.
    void power_on();
    /// What has happened until now is where each run begins.
    void keep();
    void begin_again() { now_ = kept_; }

    // ---- what a CPU does ----
    void contribute(std::uint32_t rank, const Chunk &at, bool flush = false);
    void probe(std::uint32_t rank, const Chunk &at, bool flush = false);
    /// The parent's result of what these children contributed to (a bit a rank), and others.
    void hear_result(const Chunk &at, std::uint32_t ranks = 3);
    /// The parent says that the chunk is over.
    void hear_over(const Chunk &at);
    /// A child asks where to begin. Scenarios' stamps are 2 ... 999.
    void sync(std::uint32_t rank, const Chunk &at, std::uint64_t stamp);
    /// The parent says where to begin, to whom asked it last.
    void hear_answer(const Chunk &at);
    /// `olaf job`: until it is done.
    void order(olaf_job_action action);
    void wait(std::uint64_t ns);

    /// Chunks may be over here and their results gone.
    void expect_over() { now_.may_be_over = true; }
    RoundsContract &contract() { return contract_; }
    /// All CPUs have come to rest: checks, lets every member have all that it is owed, begins and ends one
    /// more chunk, and checks again. Returns how it came out before that: a number.
    std::uint64_t settle();

    std::uint64_t now_ns() override;
    void copying(const void *from) override { contract_.copying(from); }
    void clone(Packet &packet, std::uint32_t ifindex, bool inwards) override;
    void redirect(std::uint32_t ifindex) override;
    [[nodiscard]] bool answers(std::uint32_t) override { return true; }
    int enter(xdp_md *xdp, std::uint32_t room) override;

  private:
    /// What a run changes and the maps don't hold: of each child and chunk (mark_of()).
    struct Now {
        std::array<std::uint8_t, marks> asked{}, got{}, by{};
        std::array<std::uint8_t, most_rounds * most_chunks * most_lives> up{};
        std::uint64_t stale = 0, answers = 0;
        std::uint64_t stamp = 0;  ///< of the newest question to the parent
        bool may_be_over = false; ///< a chunk may be over here and its result gone
        bool removed = false;     ///< the job was: what it owed is forgotten
    };
    [[nodiscard]] unsigned cpu() const { return Machine::the().cpu(); }
    void arrive(std::span<const std::uint8_t> frame);
    void leave(Packet &packet);
    void take_result(const Sum &sum);
    void take_aggregate(const Sum &sum);
    void check_sum(const Sum &sum, const Chunk &at) const;
    void take_control(std::span<const std::uint8_t> frame);
    void check_stale(const olaf_header &header);
    void balance(const JobBooks &books) const;
    void agree(std::uint64_t stamp);
    void finish(const Chunk &at);

    JobShape shape_;
    RoundsContract contract_;
    const JobPrograms &programs_;
    std::array<Packet, most_cpus> packets_, orders_;
    Now now_, kept_;
};

} // namespace olaf::interleave
