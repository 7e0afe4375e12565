// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "attachment.hpp"
#include "commands.hpp"
#include "host.hpp"
#include "memory.hpp"
#include "own_addresses.hpp"
#include "status_json.hpp"
#include "way_out.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

Result<Json> status_of(const Attachment &attachment, bool clusters) {
    const auto state = read_queue(attachment);
    if (!state)
        return std::unexpected(state.error());
    const auto own = own_difference(attachment);
    if (!own)
        return std::unexpected(own.error());
    auto json = status_json(attachment, *state, clusters);
    json["memory_bytes"] = map_memory(attachment.place);
    json["own_addresses"] = {{"unknown", own->unknown}, {"gone", own->gone}};
    return json;
}

/// "reason 3, reason 1", only those that happened.
std::string reasons(const Json &counts) {
    std::string text;
    for (const auto &[name, count] : counts.items())
        if (!count.is_null() && count.get<std::uint64_t>() != 0)
            text += fmt::format("{}{} {}", text.empty() ? " (" : ", ", name,
                                count.get<std::uint64_t>());
    return text.empty() ? text : text + ")";
}

/// "average 1.2ms, oldest 3ms, peak 4ms" of one clock.
std::string ages(const Json &clock) {
    const auto time = [&](const char *key) { return age_text(clock[key].get<std::uint64_t>()); };
    return fmt::format("average {}, oldest {}, highest peak {}", time("average_ns"),
                       time("oldest_ns"), time("peak_highest_ns"));
}

void print_age(const Json &aom) {
    if (aom.is_null() || aom["clusters"].get<std::uint64_t>() == 0)
        return;
    fmt::print("  age       {} since arrival, fairness {}\n", ages(aom["by_arrival"]),
               aom["by_arrival"]["fairness"].get<double>());
    fmt::print("            {} since generated\n", ages(aom["by_generated"]));
}

/// Only what is worth a line: updates lost, or nobody watching.
void print_lost(const Json &frames, const Json &updates) {
    if (frames["transmit"].is_null())
        fmt::print("  behind    losses aren't watched: olaf attach --replace tells why\n");
    if (!reasons(frames).empty())
        fmt::print("  behind    updates lost{}, in frames{}\n", reasons(updates), reasons(frames));
}

/// Only while something keeps updates back.
void print_gate(const Json &gate, const std::string &obstacle) {
    if (!obstacle.empty())
        fmt::print("  way out   {}\n", obstacle);
    if (!gate["open"].get<bool>())
        fmt::print("  way out   takes nothing since {}: updates wait\n",
                   duration_text(gate["blocked_ns"].get<std::uint64_t>()));
    if (const auto unready = gate["next_hops_unready"].get<std::uint64_t>(); unready != 0)
        fmt::print("  way out   {} next hops don't answer: their updates wait\n", unready);
}

/// Only where the programs were told something else than the host has.
void print_own(const Json &own, const std::string &device) {
    const OwnDifference difference{.unknown = own["unknown"].get<std::vector<std::string>>(),
                                   .gone = own["gone"].get<std::vector<std::string>>()};
    for (const auto &note : own_notes(difference, device))
        fmt::print("  addresses {}\n", note);
}

void print_clusters(const Json &clusters) {
    fmt::print("\n{:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "cluster", "passed",
               "appended", "folded", "replaced", "departed", "dropped");
    for (const auto &cluster : clusters) {
        const auto number = [&](const char *key) { return cluster[key].get<std::uint64_t>(); };
        fmt::print("{:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", number("cluster"),
                   number("passed_through"), number("appended"), number("aggregated"),
                   number("replaced"), number("departed"),
                   number("dropped_full") + number("dropped_reward") + number("dropped_sealed") +
                       number("dropped_misfit"));
    }
}

void print_acks(const Json &acks) {
    const auto ack = [&](const char *key) { return acks[key].get<std::uint64_t>(); };
    fmt::print("  acks      {}: {} stamped, {} for every worker copied {} times", ack("recognised"),
               ack("stamped"), ack("copied"), ack("copies"));
    if (const auto lost = ack("copies_refused") + ack("copies_unreachable") +
                          ack("copies_foreign") + ack("copies_shared") + ack("copies_unfit");
        lost != 0)
        fmt::print("; {} copies not ({} refused, {} unreachable, {} foreign, {} shared, {} unfit)",
                   lost, ack("copies_refused"), ack("copies_unreachable"), ack("copies_foreign"),
                   ack("copies_shared"), ack("copies_unfit"));
    fmt::print("; {} foreign left alone\n", ack("foreign"));
    if (const auto unlearnt = ack("workers_unplaced") + ack("workers_deferred") +
                              ack("sources_refused") + ack("takeovers_refused");
        unlearnt != 0)
        fmt::print("  unlearnt  {} updates: {} beyond --max-workers, {} too many new, "
                   "{} from a source refused, {} takeovers refused\n",
                   unlearnt, ack("workers_unplaced"), ack("workers_deferred"),
                   ack("sources_refused"), ack("takeovers_refused"));
}

void print_table(const Attachment &attachment, const Json &json) {
    const auto &config = attachment.record.config;
    const auto &all = json["counters"];
    const auto number = [&](const char *key) { return all[key].get<std::uint64_t>(); };
    const auto text = [](const Json &value) { return value.get<std::string>(); };
    const auto target = text(json["deliver"]["target"]);
    const bool bridge = json["deliver"]["bridge"].get<bool>();
    fmt::print("{}: {} mode, port {}, policy {}, rate {}, delivers {}{}\n", attachment.device,
               text(json["mode"]), json["port"].get<int>(), text(json["policy"]),
               rate_text(config.rate_bps), text(json["deliver"]["kind"]),
               target.empty() ? "" : " to " + target + (bridge ? ", bridging" : ""));
    fmt::print("  queue     {} of {} waiting, {} active clusters, maps take {}{}\n",
               json["queue"]["length"].get<std::uint64_t>(), config.queue_capacity,
               json["active_clusters"].get<std::uint64_t>(),
               size_text(json["memory_bytes"].get<std::uint64_t>()),
               json["draining"].get<bool>() ? ", a command is emptying it" : "");
    if (const auto &window = json["window"]; !window.is_null())
        fmt::print("  window    {} of {}{} in flight, round trip {}, {} forgiven{}\n",
                   window["in_flight"].get<std::uint64_t>(), window["size"].get<std::uint64_t>(),
                   window["auto"].get<bool>() ? " (auto)" : "",
                   duration_text(window["rtt_ns"].get<std::uint64_t>()),
                   window["forgiven"].get<std::uint64_t>(),
                   window["silent"].get<bool>() ? ", the server is silent" : "");
    fmt::print("  received  {}: {} passed through, {} appended, {} aggregated, {} replaced\n",
               number("received"), number("passed_through"), number("appended"),
               number("aggregated"), number("replaced"));
    fmt::print("  departed  {}: {} riding on arrivals, {} by the drain lane\n", number("departed"),
               number("departed_riding"), number("departed_drain"));
    const auto contended = json["counters"]["dropped_contended"].get<std::uint64_t>();
    fmt::print("  dropped   {} queue full{}, {} low reward, {} sealed, {} misfit\n",
               number("dropped_full"),
               contended == 0 ? "" : fmt::format(" ({} of them at a lock)", contended),
               number("dropped_reward"), number("dropped_sealed"), number("dropped_misfit"));
    fmt::print("  updates   {} in, {} out, {} superseded, {} dropped, {} waiting\n",
               number("updates_in"), number("updates_out"), number("updates_superseded"),
               number("updates_dropped"), number("updates_waiting"));
    fmt::print("  besides   {} malformed{}, {} not allowed{}, {} bypassed{}\n", number("malformed"),
               reasons(json["malformed_by_reason"]), number("not_allowed"),
               reasons(json["not_allowed_by_reason"]), number("bypassed"),
               reasons(json["bypassed_by_reason"]));
    print_acks(json["acks"]);
    print_age(json["aom"]);
    print_gate(json["gate"], output_obstacle(attachment));
    print_lost(json["lost_behind"], json["lost_behind_updates"]);
    if (attachment.alive)
        print_own(json["own_addresses"], attachment.device);
    if (json.contains("clusters"))
        print_clusters(json["clusters"]);
}

Result<void> print_one(const StatusOptions &options, bool as_json) {
    const auto attachment = find_attachment(options.device);
    if (!attachment)
        return std::unexpected(attachment.error());
    if (!attachment->record.complete)
        return std::unexpected(live_attachment(options.device).error());
    const auto json = status_of(*attachment, options.clusters);
    if (!json)
        return std::unexpected(json.error());
    if (as_json)
        fmt::print("{}\n", json->dump(2));
    else
        print_table(*attachment, *json);
    if (!attachment->alive) // the counters are right all the same
        return std::unexpected(live_attachment(options.device).error());
    return {};
}

Result<void> print_all(const StatusOptions &options, bool as_json) {
    const auto all = attachments();
    if (!all)
        return std::unexpected(all.error());
    Json list = Json::array();
    for (const auto &attachment : *all) {
        const auto json = attachment.alive ? status_of(attachment, options.clusters)
                                           : Result<Json>(Json{{"device", attachment.device}});
        if (!json)
            return std::unexpected(json.error());
        list.push_back(*json);
        if (!as_json && attachment.alive)
            print_table(attachment, *json);
        else if (!as_json)
            fmt::print("{}: a leftover; olaf detach {} removes it\n", attachment.device,
                       attachment.device);
    }
    if (as_json)
        fmt::print("{}\n", list.dump(2));
    else if (all->empty())
        fmt::print(stderr, "no queue is attached in this network namespace\n");
    return {};
}

} // namespace

Result<void> status(const StatusOptions &options, const GlobalOptions &global) {
    if (auto good = require_privileges("read the queue of", options.device); !good)
        return good;
    return options.device.empty() ? print_all(options, global.json)
                                  : print_one(options, global.json);
}

} // namespace olaf
