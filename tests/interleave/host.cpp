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

} // namespace

Host::Host(const olaf_config &config, const Programs &programs, const Programs &replacing)
    : contract_(config), programs_(programs), replacing_(replacing) {
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

void Host::arrive(unsigned update, std::uint32_t cluster) { arrive_at(programs_, update, cluster); }

void Host::arrive_at_new(unsigned update, std::uint32_t cluster) {
    arrive_at(replacing_, update, cluster);
}

void Host::arrive_at(const Programs &programs, unsigned update, std::uint32_t cluster) {
    Packet &packet = packets_[cpu()];
    packet.hold(update_frame(update, cluster));
    const int verdict = programs.ingress(packet.xdp());
    if (verdict != XDP_PASS)
        return;
    // Up the stack: TC ingress sees it first.
    if (programs.token_catch(packet.skb()) == TC_ACT_REDIRECT)
        send_token(packet);
    else
        leave(packet);
}

// ---- the lane --------------------------------------------------------------------------

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
    if (programs.lane_drain(packet.skb()) == TC_ACT_REDIRECT)
        send_token(packet);
}

void Host::lose_token() { grasp_cable()->tokens = 0; }

// ---- the way back ----------------------------------------------------------------------

void Host::acknowledge(unsigned update, std::uint32_t cluster) {
    Packet &packet = packets_[cpu()];
    packet.hold(ack_frame(update, cluster));
    now_.kicked[cpu()] = false;
    Machine::the().require(programs_.egress(packet.skb()) != TC_ACT_SHOT, "an ACK is dropped");
    if (now_.kicked[cpu()])
        programs_.lane_kick(kicks_[cpu()].skb());
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

void Host::clone(Packet &packet, std::uint32_t ifindex) {
    if (ifindex == lane_near)
        return send_token(packet);
    if (ifindex != lane_far)
        return leave(packet);
    kicks_[cpu()].hold(packet.frame());
    now_.kicked[cpu()] = true;
}

void Host::redirect(std::uint32_t ifindex) { now_.redirected[cpu()] = ifindex; }

void Host::rule(std::uint32_t cluster, std::uint32_t policy, std::uint32_t max_count) {
    contract_.set_rule(cluster, policy, max_count);
}

void Host::take_link(std::uint64_t ns) { contract_.take_link(now_ns() + ns); }

} // namespace olaf::interleave
