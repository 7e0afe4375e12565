// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <arpa/inet.h>

#include "loader/datapath/config.hpp"
#include "loader/text/names.hpp"
#include "loader/text/units.hpp"
#include "print.hpp"

namespace olaf {
namespace {

nlohmann::ordered_json json_of(const Attached &attached) {
    const auto &record = attached.record;
    const auto &config = record.config;
    nlohmann::ordered_json object{{"device", attached.device},
                                  {"mode", mode_name(record)},
                                  {"deliver",
                                   {{"kind", deliver_names[config.deliver]},
                                    {"target", record.target},
                                    {"bridge", (config.flags & OLAF_CONFIG_BRIDGE) != 0}}},
                                  {"queue", config.queue_capacity},
                                  {"max_lanes", config.max_lanes}};
    object["rate_bps"] = nullptr;
    if (config.rate_bps != 0)
        object["rate_bps"] = config.rate_bps;
    object["memory_bytes"] = attached.memory_bytes;
    object["hw_reason"] = nullptr;
    if (record.hw_reason[0] != '\0')
        object["hw_reason"] = std::string(record.hw_reason);
    object["window"] = window_text(window_of(config));
    return object;
}

/// "in: queue of 2048 live, native mode, …".
std::string text_of(const Attached &attached, const char *state) {
    const auto &record = attached.record;
    const auto &config = record.config;
    return fmt::format("{}: queue of {} {}, {} mode, port {}, policy {}, rate {}{}, delivers {}{}, "
                       "maps take {}\n",
                       attached.device, config.queue_capacity, state,
                       mode_name(record), ntohs(config.port_be),
                       policy_name(config.default_policy), rate_text(config.rate_bps),
                       config.window != 0 ? ", window " + window_text(window_of(config)) : "",
                       deliver_names[config.deliver],
                       record.target[0] != '\0' ? fmt::format(" to {}", record.target) : "",
                       size_text(attached.memory_bytes));
}

nlohmann::ordered_json json_of(const AttachPlan &plan) {
    auto object = json_of(plan.would);
    auto programs = nlohmann::ordered_json::array();
    for (const auto &[program, hook, device] : plan.programs)
        programs.push_back({{"program", program}, {"hook", hook}, {"device", device}});
    auto devices = nlohmann::ordered_json::array(), shaped = nlohmann::ordered_json::array();
    if (plan.would.record.on_card == 0) {
        devices = {plan.drain_a, plan.drain_b};
        shaped = {plan.drain_a};
    }
    object["dry_run"] = {{"programs", std::move(programs)},
                         {"devices", devices},
                         {"qdiscs", {{"tbf", shaped}, {"clsact", plan.clsact}}}};
    return object;
}

} // namespace

void print(const Attached &attached, bool json) {
    fmt::print("{}", json ? json_of(attached).dump() + "\n" : text_of(attached, "live"));
}

void print(const AttachPlan &plan, bool json) {
    if (json) {
        fmt::print("{}\n", json_of(plan).dump());
        return;
    }
    fmt::print("{}", text_of(plan.would, "would be live"));
    for (const auto &[program, hook, device] : plan.programs)
        fmt::print("  {:<9} {} at {}{}\n", "program", program, hook,
                   device.empty() ? "" : " of " + device);
    if (plan.would.record.on_card != 0) {
        fmt::print("  nothing was changed (--dry-run)\n");
        return;
    }
    fmt::print("  {:<9} {} and {}, a veth pair: the drain\n", "devices", plan.drain_a,
               plan.drain_b);
    fmt::print("  {:<9} tbf on {}; clsact on {}{}\n", "qdiscs", plan.drain_a,
               fmt::join(plan.clsact, ", "),
               plan.existing_clsact.empty()
                   ? ""
                   : fmt::format("; {} has one already", fmt::join(plan.existing_clsact, ", ")));
    fmt::print("  nothing was changed (--dry-run)\n");
}

void print(const Detached &detached, bool json) {
    if (json)
        fmt::print("{}\n", nlohmann::ordered_json{{"device", detached.device},
                                                  {"detached", true},
                                                  {"updates_dropped", detached.updates_dropped},
                                                  {"results_dropped", detached.results_dropped},
                                                  {"chunks_dropped", detached.chunks_dropped}}
                               .dump());
    else
        fmt::print("{}: detached\n", detached.device);
}

void print(const Reset &reset, bool json) {
    if (json)
        fmt::print("{}\n", nlohmann::ordered_json{{"device", reset.device},
                                                  {"reset", true},
                                                  {"updates_waiting", reset.updates_waiting}}
                               .dump());
    else if (reset.updates_waiting == 0)
        fmt::print("{}: all figures start anew\n", reset.device);
    else
        fmt::print("{}: all figures start anew; what waits counts as just arrived: {} {}\n",
                   reset.device, reset.updates_waiting,
                   reset.updates_waiting == 1 ? "update" : "updates");
}

} // namespace olaf
