// SPDX-License-Identifier: BSD-2-Clause
#include "host.hpp"

#include <linux/pkt_cls.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "frames.hpp"

namespace olaf::interleave {
namespace {

constexpr std::uint64_t first_ns = 1'000'000'000'000;
constexpr std::uint64_t lease_ns = 1'000'000'000;

} // namespace

Host::Host(const olaf_config &config, const Programs &programs, const Programs &replacing)
    : contract_(config), local_(config.deliver == OLAF_DELIVER_LOCAL), programs_(programs), replacing_(replacing) {
    programs_.configure(config);
    replacing_.configure(config);
}

void Host::power_on() {
    World::current = this;
    Machine &machine = Machine::the();
    machine.memory.lay_out(contract_.maps());
    machine.rule(contract_.rules(), &contract_);
    *machine.memory.at<std::uint64_t>("clock") = first_ns;
    now_ = {};
}

void Host::keep() {
    Machine::the().memory.keep();
    kept_ = now_;
}

Cable *Host::cable() const { return Machine::the().memory.at<Cable>("cable"); }

/// To change it, at once: one word stands for all of it.
Cable *Host::grasp_cable() {
    Machine::the().access(&cable()->tokens, sizeof(cable()->tokens), {true, true, false});
    Machine::the().memory.remember(cable(), sizeof(Cable));
    return cable();
}

// ---- arrivals --------------------------------------------------------------------------

void Host::arrive(unsigned update, std::uint32_t cluster) {
    arrive_at(programs_, update_frame(update, cluster));
}

void Host::arrive_damaged(unsigned update, std::uint32_t cluster) {
    arrive_at(programs_, damaged_frame(update, cluster));
}

void Host::arrive_at_new(unsigned update, std::uint32_t cluster) {
    arrive_at(replacing_, update_frame(update, cluster));
}

void Host::arrive_at(const Programs &programs, std::span<const std::uint8_t> frame) {
    Packet &packet = packets_[cpu()];
    packet.hold(frame);
    const int verdict = programs.ingress(packet.xdp());
    if (verdict == XDP_DROP)
        return;
    if (verdict != XDP_PASS)
        return leave(packet);
    // Up the stack: TC ingress sees it first.
    if (run(programs.token_catch, packet) == TC_ACT_REDIRECT) {
        send_token(packet);
    } else {
        Machine::the().require(local_, "an update goes by the queue");
        leave(packet);
        near_end(programs);
    }
}

/// A TC program. TC_ACT_REDIRECT: its frame goes into the drain.
int Host::run(int (*program)(__sk_buff *), Packet &packet) {
    now_.redirected[cpu()] = 0;
    const int action = program(packet.skb());
    return action == TC_ACT_REDIRECT && now_.redirected[cpu()] != drain_near ? TC_ACT_STOLEN : action;
}

/// What came in by the drain's near end: a kick, or the clone that becomes a token.
void Host::near_end(const Programs &programs) {
    for (std::size_t i = 0; i < now_.near_end[cpu()]; i++)
        if (run(programs.drain_kick, near_[cpu()].at(i)) == TC_ACT_REDIRECT)
            send_token(near_[cpu()].at(i));
    now_.near_end[cpu()] = 0;
}

// ---- the drain --------------------------------------------------------------------------

void Host::send_token(Packet &packet) {
    Cable *cable = grasp_cable();
    Machine::the().require(cable->tokens < Cable::most, "tokens multiply");
    std::memcpy(cable->token[cable->tokens++], packet.frame().data(), Cable::token_bytes);
    Machine::the().require(live_tokens() <= 1, "two tokens of the live generation");
}

void Host::ticks(unsigned most) { tick_as_they_come(programs_, most); }

void Host::ticks_of_new(unsigned most) { tick_as_they_come(replacing_, most); }

void Host::tick_as_they_come(const Programs &programs, unsigned most) {
    const auto comes = [&] {
        Machine::the().access(&cable()->tokens, 4, {true, false, false});
        return cable()->tokens != 0;
    };
    for (unsigned i = 0; i < most; i++) {
        Machine::the().await(comes, true);
        tick(programs);
    }
}

void Host::tick(const Programs &programs) {
    Packet &packet = packets_[cpu()];
    Cable *cable = grasp_cable();
    packet.hold({cable->token[0], Cable::token_bytes});
    std::memmove(cable->token[0], cable->token[1], Cable::token_bytes * (Cable::most - 1));
    cable->tokens--;
    if (run(programs.drain_tick, packet) == TC_ACT_REDIRECT)
        send_token(packet);
}

void Host::lose_token() { grasp_cable()->tokens = 0; }

// ---- the way back ----------------------------------------------------------------------

void Host::acknowledge(unsigned update, std::uint32_t cluster) {
    Packet &packet = packets_[cpu()];
    packet.hold(ack_frame(update, cluster));
    Machine::the().require(run(programs_.egress, packet) != TC_ACT_SHOT, "an ACK is dropped");
    near_end(programs_);
}

// ---- what programs ask of the world ------------------------------------------------------

std::uint64_t Host::now_ns() {
    auto *clock = Machine::the().memory.at<std::uint64_t>("clock");
    Machine::the().access(clock, sizeof(*clock), {true, false, false});
    return *clock;
}

void Host::wait(std::uint64_t ns) {
    auto *clock = Machine::the().memory.at<std::uint64_t>("clock");
    Machine::the().access(clock, sizeof(*clock), {true, true, false});
    *clock += ns;
}

void Host::copying(const void *from) { contract_.copying(cpu(), from); }

void Host::clone(Packet &packet, std::uint32_t ifindex, bool inwards) {
    if (ifindex == drain_near && !inwards)
        return send_token(packet);
    if (ifindex != drain_near && ifindex != drain_far)
        return leave(packet);
    near_[cpu()].at(now_.near_end[cpu()]++).hold(packet.frame());
}

void Host::redirect(std::uint32_t ifindex) { now_.redirected[cpu()] = ifindex; }

void Host::order_to_empty() { contract_.order_to_empty(now_ns() + lease_ns); }

// ---- next hops: a word each tells whether it is silent -------------------------------------

bool Host::answers(std::uint32_t daddr_be) {
    auto *silent = Machine::the().memory.at<std::uint32_t>("silent", daddr_be >> 24);
    Machine::the().access(silent, sizeof(*silent), {true, false, false});
    return *silent == 0;
}

void Host::answer(std::uint32_t cluster) {
    auto *silent = Machine::the().memory.at<std::uint32_t>("silent", server_of(cluster));
    Machine::the().access(silent, sizeof(*silent), {false, true, false});
    *silent = 0;
}

void Host::silence(std::uint32_t cluster) {
    *Machine::the().memory.at<std::uint32_t>("silent", server_of(cluster)) = 1;
}

void Host::rule(std::uint32_t cluster, std::uint32_t policy, std::uint32_t max_count) {
    contract_.set_rule(cluster, policy, max_count);
}

void Host::take_link(std::uint64_t ns) { contract_.take_link(now_ns() + ns); }

} // namespace olaf::interleave
