// SPDX-License-Identifier: BSD-2-Clause
#include "node.hpp"

#include <linux/pkt_cls.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace olaf::interleave {
namespace {

constexpr std::uint64_t first_ns = 1'000'000'000'000;
constexpr std::uint64_t first_stamp = 1;
constexpr unsigned most_orders = 8;

} // namespace

olaf_config config_of(const JobShape &shape) {
    olaf_config config{};
    config.layout = OLAF_LAYOUT;
    config.deliver = OLAF_DELIVER_LOCAL;
    config.ifindex = workers;
    config.egress_ifindex = servers;
    config.port_be = htons(OLAF_DEFAULT_PORT);
    config.max_clusters = 1;
    config.max_segments = 1;
    config.max_lanes = 16;
    config.queue_capacity = 1;
    config.ring_places = 2;
    config.member_timeout_ns = 1'000'000'000'000;
    config.token_secret = 0x5ec4e7;
    config.round_slots = 1u << shape.pool;
    config.round_lines = shape.lines;
    return config;
}

Node::Node(const JobShape &shape, const JobPrograms &programs)
    : shape_(shape), contract_(config_of(shape), shape), programs_(programs) {
    programs_.configure(config_of(shape));
}

void Node::power_on() {
    World::current = this;
    Machine &machine = Machine::the();
    machine.memory.lay_out(contract_.maps());
    machine.rule(contract_.rules(), &contract_);
    *machine.memory.at<std::uint64_t>("clock") = first_ns;
    now_ = {};
    now_.changes = shape_.absent != 0;
    for (std::uint32_t rank = 0; rank < most_ranks; rank++)
        now_.members.at(rank).is_certain = (shape_.absent >> rank & 1) == 0;
    order(OLAF_JOB_SET);
    agree(first_stamp, {0 - first_round, 0, 0}); // 0 on the wire: nobody has contributed yet
}

void Node::keep() {
    Machine::the().memory.keep();
    kept_ = now_;
}

// ---- arrivals --------------------------------------------------------------------------

void Node::arrive(std::span<const std::uint8_t> frame) {
    Packet &packet = packets_[cpu()];
    packet.hold(frame);
    const int verdict = programs_.ingress(packet.xdp());
    if (verdict == XDP_TX)
        return leave(packet);
    if (verdict != XDP_PASS)
        return;
    const int by_tc = programs_.copies(packet.skb());
    if (by_tc == TC_ACT_REDIRECT)
        return leave(packet);
    Machine::the().require(by_tc == TC_ACT_SHOT || now_.removed, "a job's message goes up the stack");
}

void Node::hear(std::span<const std::uint8_t> frame) {
    if (!shape_.two_armed)
        return arrive(frame);
    Packet &packet = packets_[cpu()];
    packet.hold(frame);
    packet.skb()->ifindex = servers;
    const int verdict = programs_.parent_in(packet.skb());
    if (verdict == TC_ACT_REDIRECT)
        return leave(packet);
    Machine::the().require(verdict == TC_ACT_SHOT || now_.removed, "the parent's message goes up the stack");
}

int Node::enter(xdp_md *xdp, std::uint32_t) { return programs_.rounds(xdp); }

void Node::contribute(std::uint32_t rank, const Chunk &at, bool flush) {
    now_.asked.at(mark_of(rank, at))++;
    arrive(contribution_frame(rank, at, flush));
}

void Node::probe(std::uint32_t rank, const Chunk &at, bool flush) {
    now_.asked.at(mark_of(rank, at))++;
    arrive(probe_frame(rank, at, flush));
}

void Node::hear_result(const Chunk &at, std::uint32_t ranks) {
    std::uint64_t children = 0;
    for (std::uint32_t rank = 0; rank < shape_.children; rank++)
        children |= ranks >> rank & 1 ? 1ull << mark_of(rank, at) : 0;
    hear(result_frame(children, at));
}

void Node::hear_over(const Chunk &at) { hear(over_frame(at)); }

void Node::sync(std::uint32_t rank, const Chunk &at, std::uint64_t stamp, std::uint64_t run) {
    now_.run = std::max(now_.run, run);
    arrive(control_frame(OLAF_CONTROL_SYNC, rank, at, stamp, 0, run));
}

void Node::hear_answer(const Chunk &at) { hear(answer_frame(at, now_.stamp)); }

// ---- commands --------------------------------------------------------------------------

void Node::order(olaf_job_action action) {
    olaf_job_order order{};
    order.action = action;
    if (action == OLAF_JOB_SET) {
        order.setup = setup_of(shape_);
        order.generation = first_generation + (now_.removed ? 1 : 0);
        order.absent.word[0] = shape_.absent;
    }
    now_.removed = now_.removed || action == OLAF_JOB_REMOVE;
    for (unsigned turn = 0; turn < most_orders; turn++) {
        contract_.write_order(order);
        programs_.order(orders_[cpu()].xdp());
        if (contract_.answer() != -EAGAIN)
            break;
    }
    Machine::the().require(contract_.answer() == 0, "an order about the job is refused");
}

void Node::agree(std::uint64_t stamp, const Chunk &first) {
    // Once it runs, who asked before needn't ask anew: that would stop it.
    for (std::uint32_t rank = 0; rank < shape_.children; rank++)
        if (contract_.state() != OLAF_JOB_RUNNING)
            sync(rank, first, stamp, now_.run);
    if (shape_.has_parent)
        hear_answer(first);
    Machine::the().require(contract_.state() == OLAF_JOB_RUNNING, "all members have asked in vain");
}

// ---- what programs ask of the world ------------------------------------------------------

std::uint64_t Node::now_ns() {
    auto *clock = Machine::the().memory.at<std::uint64_t>("clock");
    Machine::the().access(clock, sizeof(*clock), {true, false, false});
    return *clock;
}

void Node::wait(std::uint64_t ns) {
    auto *clock = Machine::the().memory.at<std::uint64_t>("clock");
    Machine::the().access(clock, sizeof(*clock), {true, true, false});
    *clock += ns;
}

void Node::clone(Packet &packet, std::uint32_t, bool) { leave(packet); }

void Node::redirect(std::uint32_t) {
    if (!shape_.two_armed)
        throw std::logic_error("a job's frames are redirected to a parent behind another device only");
}

} // namespace olaf::interleave
