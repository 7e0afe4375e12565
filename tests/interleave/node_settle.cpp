// SPDX-License-Identifier: BSD-2-Clause
// What left a node is taken down, and when everything is at rest held against what came.
#include <arpa/inet.h>
#include <endian.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "node.hpp"

namespace olaf::interleave {
namespace {

constexpr std::size_t message_offset = 14 + 20 + 8;
constexpr std::uint64_t late_stamp = 1'000; ///< behind all of a scenario's
constexpr unsigned most_turns = 16;
/// Behind all of a scenario's chunks.
constexpr Chunk last_chunk{1, 8, 0}, beyond{1, 12, 0};

olaf_header header_of(std::span<const std::uint8_t> frame) {
    olaf_header header;
    std::memcpy(&header, frame.data() + message_offset, sizeof(header));
    return header;
}

/// Of what is counted for each chunk.
constexpr unsigned index_of(const Chunk &at) {
    return (at.life * most_rounds + at.round) * most_chunks + place_of(at);
}

} // namespace

void Node::leave(Packet &packet) {
    const auto sum = read_sum(packet.frame());
    if (!sum)
        return take_control(packet.frame());
    if (sum->type == OLAF_RESULT)
        take_result(*sum);
    else
        take_aggregate(*sum);
}

/// Header and lanes belong together, and to this chunk.
void Node::check_sum(const Sum &sum, const Chunk &at) {
    Machine &machine = Machine::the();
    machine.require(sum.exact, "lanes and exponent that leave aren't of one sum");
    machine.require(std::popcount(sum.marks) == static_cast<int>(sum.count),
                    "a count that leaves isn't that of the contributions in its lanes");
    machine.require(sum.generated_ns == newest_of(sum.marks), "what leaves is as new as something else");
    for (std::uint64_t left = sum.marks & ((1ull << marks) - 1); left != 0; left &= left - 1)
        machine.require(chunk_of(static_cast<unsigned>(std::countr_zero(left))) == at,
                        "what leaves holds a contribution to another chunk, or of another generation");
    std::uint32_t in = 0;
    for (std::uint32_t rank = 0; rank < shape_.children; rank++)
        in += sum.marks >> mark_of(rank, at) & 1;
    if (now_.changes)
        return check_members(sum, at);
    machine.require(shape_.has_parent || (shape_.flags & OLAF_JOB_ANY) ||
                        (in == shape_.children) == !(sum.flags & OLAF_FLAG_PARTIAL),
                    "PARTIAL is wrong");
}

void Node::take_result(const Sum &sum) {
    Machine &machine = Machine::the();
    Chunk at = sum.at;
    at.life = sum.generation - first_generation;
    const bool is_for_all = sum.rank == OLAF_EVERY_WORKER;
    machine.require(at.life < most_lives && (is_for_all || sum.rank < shape_.children),
                    "a result is nobody's");
    machine.require(sum.to_group == is_for_all, "a result goes elsewhere than it says");
    check_sum(sum, at);
    if (is_for_all)
        take_for_all(sum, at);
    else
        take_for_one(sum, at);
}

void Node::take_for_one(const Sum &sum, const Chunk &at) {
    Machine::the().require((sum.marks >> mark_of(sum.rank, at) & 1) == !(sum.flags & OLAF_FLAG_LATE),
                           "LATE is wrong");
    now_.alone++;
    get(sum.rank, at);
}

/// It says the same to all: everybody's part is in it, or nobody's.
void Node::take_for_all(const Sum &sum, const Chunk &at) {
    Machine &machine = Machine::the();
    const bool late = sum.flags & OLAF_FLAG_LATE;
    machine.require(shape_.to_group && now_.for_all.at(index_of(at))++ == 0,
                    "a chunk's result leaves for all twice");
    for (std::uint32_t rank = 0; rank < shape_.children; rank++) {
        const Membership &member = now_.members.at(rank);
        const bool in = sum.marks >> mark_of(rank, at) & 1;
        machine.require(!in || !late, "all are told that they are LATE, and one isn't");
        machine.require(in || late || !member.is_certain || at.round < member.since,
                        "a frame for all lacks a member of its round");
        if (in || late)
            get(rank, at);
    }
}

void Node::get(std::uint32_t rank, const Chunk &at) {
    const unsigned mark = mark_of(rank, at);
    now_.got.at(mark)++;
    now_.by.at(mark) = static_cast<std::uint8_t>(now_.by.at(mark) * most_cpus + cpu());
    // A member that isn't in it may ask by its contribution.
    const bool may_be_late = shape_.threshold != 0 || shape_.has_parent || now_.may_be_partial;
    const unsigned asked = now_.asked.at(mark) - (may_be_late || now_.asked.at(mark) == 0 ? 0u : 1u);
    Machine::the().require(now_.got.at(mark) <= 1 + asked,
                           "a member gets a result twice and asked once");
}

void Node::take_aggregate(const Sum &sum) {
    Chunk at = sum.at;
    at.life = sum.generation - parents_generation;
    Machine::the().require(shape_.has_parent && at.life < most_lives, "an aggregate is nobody's");
    check_sum(sum, at);
    const unsigned index = index_of(at);
    now_.up.at(index)++;
    now_.gathered.at(index) = sum.marks;
}

/// What has no lanes: STALE, and where to begin.
void Node::take_control(std::span<const std::uint8_t> frame) {
    const olaf_header header = header_of(frame);
    if (header.type == OLAF_RESULT)
        return check_stale(header);
    if (header.type != OLAF_CONTROL)
        return;
    if (ntohs(header.flags_be) & OLAF_FLAG_ANSWER) {
        std::array<std::uint64_t, OLAF_SYNC_LANES> lanes{};
        if (ntohs(header.lanes_be) == lanes.size())
            std::memcpy(lanes.data(), frame.data() + message_offset + sizeof(header), sizeof(lanes));
        Machine::the().require(ntohs(header.status_be) != OLAF_CONTROL_DONE || !is_of_two_runs(lanes[OLAF_SYNC_SESSION]),
                               "members of two runs have agreed with each other");
        now_.has_job = std::max(now_.has_job, lanes[OLAF_SYNC_RUN]);
        take_answer(header);
    } else {
        now_.stamp = be64toh(header.generated_ns_be);
    }
}

/// "It is over, and its result is gone" is believed.
void Node::check_stale(const olaf_header &header) {
    now_.stale++;
    Machine::the().require(now_.may_be_over || header.named_be != header.generation_be,
                           "a member is told that a chunk is over which isn't");
}

/// The members' books against the node's.
void Node::balance(const JobBooks &books) const {
    std::uint64_t for_all = 0;
    for (const auto times : now_.for_all)
        for_all += times;
    Machine::the().require(now_.alone == books.riding + books.copied + books.repeated &&
                               for_all == books.multicast,
                           "results that left are not those that members got");
}

/// Every child sends what it may have sent before, and the parent answers: the chunk is done.
void Node::finish(const Chunk &at) {
    // What waited for who has left alone is completed by a repetition.
    for (const bool again : {false, true})
        for (std::uint32_t rank = 0; rank < shape_.children; rank++)
            if (!now_.members.at(rank).has_left && (!again || now_.changes))
                contribute(rank, at, rank + 1 == shape_.children);
    if (!shape_.has_parent)
        return;
    hear(result_frame(now_.gathered.at(index_of(at)), at));
}

std::uint64_t Node::settle() {
    Machine &machine = Machine::the();
    const JobBooks books = contract_.at_rest(!now_.removed && !now_.changes);
    balance(books);
    std::uint64_t outcome = (books.outcome * 31 + now_.stale) * 31 + now_.answers;
    for (unsigned mark = 0; mark < marks; mark++)
        outcome = (outcome * 31 + now_.got.at(mark)) * 31 + now_.by.at(mark);
    for (const Membership &member : now_.members)
        outcome = (outcome * 31 + member.since) * 31 + member.asked;
    now_.may_be_over = true;
    machine.require(now_.removed || contract_.run() >= now_.has_job, "an earlier run has taken the job from a later one");
    machine.require(!now_.removed || contract_.state() == OLAF_JOB_NONE, "a job runs that was removed");
    if (now_.removed) {
        order(OLAF_JOB_SET);
        machine.require(contract_.life() == 1, "the job isn't the one that was set");
    }
    if (contract_.state() != OLAF_JOB_RUNNING)
        agree(late_stamp, {0, 0, contract_.life()});
    for (unsigned turn = 0; turn < most_turns; turn++) {
        const auto open = contract_.unfinished(OLAF_ROUND_OPEN), up = contract_.unfinished(OLAF_ROUND_UP);
        if (!open && !up)
            break;
        finish(open ? *open : *up);
    }
    machine.require(!contract_.unfinished(OLAF_ROUND_OPEN) && !contract_.unfinished(OLAF_ROUND_UP),
                    "a chunk is never completed");
    Chunk last = last_chunk;
    last.life = contract_.life();
    finish(last);
    Chunk further = beyond;
    further.life = last.life;
    for (std::uint32_t rank = 0; rank < shape_.children; rank++)
        probe(rank, further, true); // its frame lets the rest leave
    balance(contract_.at_rest(!now_.removed && !now_.changes));
    contract_.nothing_waits();
    for (std::uint32_t rank = 0; rank < shape_.children; rank++)
        machine.require(now_.got.at(mark_of(rank, last)) != 0 || !is_member(rank),
                        "one more chunk has no result");
    settle_members();
    return outcome;
}

} // namespace olaf::interleave
