// SPDX-License-Identifier: BSD-2-Clause
// Members come and go: what a rank was answered is held against the sums that leave.
#include <arpa/inet.h>

#include "node.hpp"

namespace olaf::interleave {
namespace {

constexpr std::uint64_t only_stamp = 1; // of orders that don't look at it
constexpr std::uint8_t late_join = 200; // behind all of a scenario's

} // namespace

// ---- what a CPU does -------------------------------------------------------------------

void Node::join(std::uint32_t rank, std::uint64_t stamp) {
    Membership &member = now_.members.at(rank);
    now_.changes = true;
    // Who is a member and asks anew has lost what it contributed: nothing waits for that any more.
    now_.may_be_partial = now_.may_be_partial || member.is_certain;
    member.is_certain = false;
    member.asked = static_cast<std::uint8_t>(stamp);
    arrive(control_frame(OLAF_CONTROL_JOIN, rank, {0, 0, contract_.life()}, stamp));
}

void Node::leave_job(std::uint32_t rank, std::uint32_t round) {
    now_.changes = true;
    now_.members.at(rank).is_certain = false;
    now_.members.at(rank).has_left = true;
    arrive(control_frame(OLAF_CONTROL_LEAVE, rank, {round, 0, contract_.life()}, only_stamp));
}

void Node::set_threshold(std::uint32_t rank, std::uint32_t threshold) {
    now_.changes = now_.may_be_partial = true;
    arrive(control_frame(OLAF_CONTROL_SETH, rank, {0, 0, contract_.life()}, only_stamp, threshold));
}

void Node::order_by(std::uint32_t rank, olaf_control_action action) {
    now_.may_be_partial = now_.may_be_partial || action == OLAF_CONTROL_FBCAST;
    now_.changes = now_.changes || action == OLAF_CONTROL_FBCAST;
    arrive(control_frame(action, rank, {0, 0, contract_.life()}, only_stamp));
}

// ---- what leaves -----------------------------------------------------------------------

void Node::take_answer(const olaf_header &header) {
    now_.answers++;
    if (ntohl(header.action_be) == OLAF_CONTROL_LEAVE && ntohs(header.status_be) == OLAF_CONTROL_OLD)
        now_.members.at(ntohs(header.rank_be)).has_left = false; // it named the generation of before
    if (ntohl(header.action_be) != OLAF_CONTROL_JOIN ||
        ntohs(header.status_be) != OLAF_CONTROL_DONE)
        return;
    Machine &machine = Machine::the();
    const std::uint32_t rank = ntohs(header.rank_be);
    machine.require(rank < shape_.children, "an answer to a JOIN is nobody's");
    Membership &member = now_.members.at(rank);
    member.is_certain = true;
    member.asked = 0;
    member.since = ntohl(header.sequence_be) - first_round;
    for (std::uint32_t round = member.since; round < most_rounds; round++)
        machine.require(!(member.without >> round & 1),
                        "who joins is told of a round that was summed without it");
}

void Node::check_members(const Sum &sum, const Chunk &at) {
    Machine &machine = Machine::the();
    const bool partial = sum.flags & OLAF_FLAG_PARTIAL;
    machine.require(!partial || now_.may_be_partial || shape_.threshold != 0,
                    "a sum is PARTIAL and nobody could be missing");
    if (partial || (shape_.has_parent && sum.type == OLAF_RESULT))
        return;
    const auto bit = static_cast<std::uint8_t>(1u << at.round);
    for (std::uint32_t rank = 0; rank < shape_.children; rank++) {
        Membership &member = now_.members.at(rank);
        const bool in = sum.marks >> mark_of(rank, at) & 1;
        const bool has_joined = (shape_.absent >> rank & 1) && member.is_certain;
        machine.require(in || !member.is_certain || at.round < member.since,
                        "a sum lacks a member of its round, and isn't PARTIAL");
        machine.require(!in || !has_joined || at.round >= member.since,
                        "a sum has the part of who was no member in its round");
        (in ? member.with : member.without) |= bit;
        machine.require(!(member.with & member.without & bit),
                        "a round has a member in one chunk that it hasn't in another");
    }
}

bool Node::is_member(std::uint32_t rank) const {
    const Membership &member = now_.members.at(rank);
    return member.is_certain && member.since < most_rounds;
}

/// Whoever waits to join is a member in the end, and the change is over then.
void Node::settle_members() {
    if (!now_.changes)
        return;
    leave_two_to_open();
    for (std::uint32_t rank = 0; rank < shape_.children; rank++) {
        if (now_.members.at(rank).asked == 0)
            continue;
        finish({1, 1, contract_.life()}); // one more chunk, behind which a change is over
        join(rank, late_join);
        leave_two_to_open();
        Machine::the().require(now_.members.at(rank).asked == 0, "who joins waits for ever");
    }
}

} // namespace olaf::interleave
