// SPDX-License-Identifier: BSD-2-Clause
// Every program of Olaf, and where it stands. Attach, --replace, detach and doctor work through
// this table, and the build reads from it which bpf/OBJECT.bpf.c there are (cmake/programs.cmake).
// A new program is a line here and its .bpf.c file. A TC program must use one of the queue's maps:
// that is how its filter is recognised as the queue's (tests/unit/programs_test.cpp).
//
// The order is a frame's path backwards: a program is attached or replaced before the one that hands
// it frames.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "olaf/queue.h"

namespace olaf {

enum class Hook {
    xdp,
    tc_ingress,
    tc_egress,
    tracepoint, ///< optional: where the kernel refuses it, attach says so and goes on
    socket,     ///< of the measuring process
    command,    ///< none: a command runs it by a system call
    tail_call,  ///< none: another program calls it, through the map olaf_rooms
};

/// Which device has the hook.
enum class On {
    device,    ///< the queue's
    drain_near, ///< the end of the drain's veth pair that tokens are sent into
    drain_far,  ///< the end at which they arrive
    way_back,  ///< the device that ACKs from an upstream server come in by
    output,    ///< the device that departures leave by, other than the queue's
    parents,   ///< devices that jobs' parents are behind, other than the queue's
    host,      ///< no device's
};

enum class When {
    always,
    driver_silent, ///< the driver doesn't tell VLAN tags, or XDP is generic
    driver_tells,  ///< it does; used instead of the program of the same name
    upstream,      ///< updates go to an upstream server; loaded and pinned in any case
    generic,       ///< XDP is generic (--mode skb)
    measuring,     ///< no part of a queue: `olaf meter`, while it runs
    rounds,        ///< there are slots for the rounds of jobs (--round-slots)
    job_asks,      ///< the same; on its hook only once a job is set that needs it (hooks.hpp)
    output_asks,   ///< the output takes redirected frames only while it has a program (output.hpp)
};

/// A line of the table. Names of pins are those in the queue's directory, "" where there is none.
struct Program {
    std::string_view name;   ///< of the function; different from others in its first 15 characters
    std::string_view object; ///< bpf/OBJECT.bpf.c
    std::string_view section;
    Hook hook;
    On on;
    When when;
    std::string_view pin;  ///< of the program
    std::string_view link; ///< of the link that keeps it on its hook
};

// clang-format off
inline constexpr Program programs[] = {
    {"olaf_drain_tick", "drain", "tc", Hook::tc_ingress, On::drain_far, When::always, "olaf_drain_tick", ""},
    {"olaf_drain_kick", "drain", "tc", Hook::tc_ingress, On::drain_near, When::always, "olaf_drain_kick", ""},
    {"olaf_token_catch", "drain", "tc", Hook::tc_ingress, On::device, When::always, "olaf_token_catch", ""},
    {"olaf_drain_prove", "drain", "tc", Hook::command, On::host, When::always, "", ""},
    {"olaf_egress", "egress", "tc", Hook::tc_egress, On::device, When::always, "olaf_egress", ""},
    {"olaf_ack_return", "turnround", "tc", Hook::tc_ingress, On::way_back, When::upstream, "olaf_ack_return", ""},
    {"olaf_enrol", "enrol", "syscall", Hook::command, On::host, When::always, "olaf_enrol", ""},
    {"olaf_lost_redirect", "loss", "raw_tp/xdp_redirect_err", Hook::tracepoint, On::host, When::always, "", "olaf_lost_redirect"},
    {"olaf_lost_xmit", "loss", "raw_tp/xdp_devmap_xmit", Hook::tracepoint, On::host, When::always, "", "olaf_lost_xmit"},
    {"olaf_lost_tx", "loss", "raw_tp/xdp_exception", Hook::tracepoint, On::host, When::always, "", "olaf_lost_tx"},
    {"olaf_lost_skb", "loss", "raw_tp/kfree_skb", Hook::tracepoint, On::host, When::always, "", "olaf_lost_skb"},
    {"olaf_beside_note", "beside", "raw_tp/netif_receive_skb", Hook::tracepoint, On::host, When::generic, "", "olaf_beside_note"},
    {"olaf_output_pass", "output", "xdp.frags", Hook::xdp, On::output, When::output_asks, "", "olaf_output_link"},
    {"olaf_output_prove", "output", "xdp", Hook::command, On::host, When::always, "", ""},
    {"olaf_copies", "copies", "tc", Hook::tc_ingress, On::device, When::rounds, "olaf_copies", ""},
    {"olaf_parent_in", "parent", "tc", Hook::tc_ingress, On::parents, When::job_asks, "olaf_parent_in", ""},
    {"olaf_job_order", "jobs", "xdp", Hook::command, On::host, When::rounds, "olaf_job_order", ""},
    {"olaf_floats", "floats", "xdp.frags", Hook::tail_call, On::host, When::rounds, "olaf_floats", ""},
    {"olaf_rounds", "rounds", "xdp.frags", Hook::tail_call, On::host, When::rounds, "olaf_rounds", ""},
    {"olaf_ingress", "ingress", "xdp.frags", Hook::xdp, On::device, When::driver_silent, "olaf_ingress", "olaf_xdp_link"},
    {"olaf_ingress", "ingress_bound", "xdp.frags", Hook::xdp, On::device, When::driver_tells, "olaf_ingress", "olaf_xdp_link"},
    {"olaf_meter_frame", "meter", "socket", Hook::socket, On::host, When::measuring, "", ""},
};
// clang-format on

/// The first line of that name; one that isn't in the table doesn't compile.
consteval const Program &program_named(std::string_view name) {
    return *std::ranges::find(programs, name, &Program::name);
}

/// What sums floats, for jobs that want it.
inline constexpr const Program &float_adder = program_named("olaf_floats");

/// What an output gets whose driver takes redirected frames only while it has a program.
inline constexpr const Program &output_pass = program_named("olaf_output_pass");

/// What takes updates in: without it there is no queue.
inline constexpr const Program &entrance = program_named("olaf_ingress");

constexpr bool runs_by_tc(const Program &program) {
    return program.hook == Hook::tc_ingress || program.hook == Hook::tc_egress;
}

/// Whether the kernel itself runs it: nobody else calls it.
constexpr bool on_hook(const Program &program) {
    return program.hook != Hook::command && program.hook != Hook::tail_call;
}

/// Whether a queue of that configuration has anything to do for it.
constexpr bool is_of_use(const Program &program, const olaf_config &config) {
    const bool of_jobs = program.when == When::rounds || program.when == When::job_asks;
    return !of_jobs || config.round_slots != 0;
}

/// Whether a queue of that configuration has a program of that name on that hook.
constexpr bool stands(const Program &program, const olaf_config &config) {
    switch (program.when) {
    case When::upstream:
        return config.deliver == OLAF_DELIVER_UPSTREAM;
    case When::generic:
        return (config.flags & OLAF_CONFIG_SKB_MODE) != 0;
    case When::driver_tells: // the line of the other one speaks for both
    case When::measuring:
    case When::job_asks:
    case When::output_asks:
        return false;
    case When::rounds:
        return is_of_use(program, config) && on_hook(program);
    default:
        return on_hook(program);
    }
}

/// The objects of the lines that satisfy a condition, each once, in the order of the table.
template <class Satisfies> std::vector<std::string_view> objects_where(Satisfies satisfies) {
    std::vector<std::string_view> objects;
    for (const auto &program : programs)
        if (satisfies(program) && std::ranges::find(objects, program.object) == objects.end())
            objects.push_back(program.object);
    return objects;
}

} // namespace olaf
