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
    /// In that run. Once a later one has asked, all members are of that.
    void sync(std::uint32_t rank, const Chunk &at, std::uint64_t stamp, std::uint64_t run = first_run);
    /// Asks to be a member.
    void join(std::uint32_t rank, std::uint64_t stamp);
    /// Contributes to nothing from this round on.
    void leave_job(std::uint32_t rank, std::uint32_t round);
    /// So many contributions complete a chunk.
    void set_threshold(std::uint32_t rank, std::uint32_t threshold);
    /// FBCAST, HALT, RESUME, RESET.
    void order_by(std::uint32_t rank, olaf_control_action action);
    /// The parent says where to begin, to whom asked it last.
    void hear_answer(const Chunk &at);
    /// `olaf job`: until it is done.
    void order(olaf_job_action action);
    void wait(std::uint64_t ns);

    /// Has the rank got the chunk's result? Who hasn't sends nothing more that uses its slot.
    [[nodiscard]] bool has(std::uint32_t rank, const Chunk &at) const {
        return now_.got.at(mark_of(rank, at)) != 0;
    }
    /// Chunks may be over here and their results gone.
    void expect_over() { now_.may_be_over = true; }
    /// Chunks may be completed without a member: it is silent, or a member orders it.
    void expect_partial() { now_.may_be_partial = true; }
    /// The rank may be none any more: it is silent.
    void expect_gone(std::uint32_t rank) {
        now_.changes = true;
        now_.members.at(rank).is_certain = false;
    }
    /// As if all chunks but two had been opened already that a change of members takes.
    void leave_two_to_open() { contract_.leave_two_to_open(); }
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
    /// Of a rank, by what it was answered and by the sums that left.
    struct Membership {
        bool is_certain = true; ///< since the round `since`, and hasn't asked for anything else
        bool has_left = false;
        std::uint32_t since = 0;
        std::uint8_t asked = 0;             ///< the stamp of a JOIN that wasn't done yet
        std::uint8_t with = 0, without = 0; ///< rounds that had whole sums, a bit each
    };
    /// What a run changes and the maps don't hold: of each child and chunk (mark_of()).
    struct Now {
        std::array<std::uint8_t, marks> asked{}, got{}, by{};
        std::array<std::uint8_t, most_rounds * most_chunks * most_lives> up{}, for_all{};
        std::uint64_t alone = 0; ///< results to one member each
        std::uint64_t stale = 0, answers = 0;
        std::uint64_t stamp = 0;  ///< of the newest question to the parent
        std::uint64_t run = first_run; ///< the newest that has asked
        std::uint64_t has_job = 0;     ///< the newest that an answer named
        bool may_be_over = false; ///< a chunk may be over here and its result gone
        bool removed = false;     ///< the job was: what it owed is forgotten
        bool may_be_partial = false;
        bool changes = false; ///< members come and go
        std::array<Membership, most_ranks> members{};
        /// By aggregates: which children contributed, a bit each. Index as `up`.
        std::array<std::uint64_t, most_rounds * most_chunks * most_lives> gathered{};
    };
    [[nodiscard]] unsigned cpu() const { return Machine::the().cpu(); }
    void arrive(std::span<const std::uint8_t> frame);
    /// From the parent, by the device that it is behind.
    void hear(std::span<const std::uint8_t> frame);
    void leave(Packet &packet);
    void take_result(const Sum &sum);
    void take_for_one(const Sum &sum, const Chunk &at);
    void take_for_all(const Sum &sum, const Chunk &at);
    /// A member gets a result.
    void get(std::uint32_t rank, const Chunk &at);
    void take_aggregate(const Sum &sum);
    void check_sum(const Sum &sum, const Chunk &at);
    void take_control(std::span<const std::uint8_t> frame);
    void take_answer(const olaf_header &header);
    /// A sum that isn't PARTIAL has all members of its round, and all of that round have the same ones.
    void check_members(const Sum &sum, const Chunk &at);
    void settle_members();
    [[nodiscard]] bool is_member(std::uint32_t rank) const;
    void check_stale(const olaf_header &header);
    void balance(const JobBooks &books) const;
    void agree(std::uint64_t stamp, const Chunk &first);
    void finish(const Chunk &at);

    JobShape shape_;
    RoundsContract contract_;
    const JobPrograms &programs_;
    std::array<Packet, most_cpus> packets_, orders_;
    Now now_, kept_;
};

} // namespace olaf::interleave
