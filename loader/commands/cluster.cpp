// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/own_addresses.hpp"
#include "loader/datapath/config.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/datapath/members.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/host.hpp"
#include "loader/host/route.hpp"

namespace olaf {
namespace {

Result<olaf_rule> read_rule(int fd, std::uint32_t id) {
    olaf_rule rule{};
    if (bpf_map_lookup_elem(fd, &id, &rule) != 0)
        return fail("read the rule of cluster", std::to_string(id), errno);
    return rule;
}

/// Only fifo needs room of its own, and only a queue that was told so has it.
Result<void> check_policy(const ClusterOptions &options, const olaf_config &config) {
    if (options.policy != OLAF_POLICY_FIFO || config.fifo_places != 0)
        return {};
    return fail("set policy fifo on", options.device, 0,
                fmt::format("olaf detach {}, then attach it with --fifo", options.device),
                "it was attached without room for that policy");
}

Result<void> set_rules(int fd, const Range &range, const ClusterOptions &options) {
    for (auto id = range.first; id <= range.last; id++) {
        auto rule = read_rule(fd, id);
        if (!rule)
            return std::unexpected(rule.error());
        if (options.policy)
            rule->policy = *options.policy;
        if (options.max_count)
            rule->max_count = *options.max_count;
        if (options.reward_threshold)
            rule->reward_threshold = *options.reward_threshold;
        if (auto done = write_rules(fd, id, id, *rule); !done)
            return done;
    }
    return {};
}

bool same(const olaf_rule &a, const olaf_rule &b) {
    return a.policy == b.policy && a.max_count == b.max_count &&
           a.reward_threshold == b.reward_threshold;
}

/// The open maps and the program of a running queue.
struct Clusters {
    const olaf_config &config;
    Fd rules{}, members{}, rosters{}, enrol{};

    static Result<Clusters> open(const Attachment &attachment) {
        Clusters clusters{.config = attachment.record.config};
        for (const auto &[into, name] : {std::pair{&clusters.rules, "olaf_rules"},
                                         {&clusters.members, "olaf_members"},
                                         {&clusters.rosters, "olaf_rosters"},
                                         {&clusters.enrol, program_named("olaf_enrol").pin.data()}}) {
            auto fd = open_map(attachment, name);
            if (!fd)
                return std::unexpected(fd.error());
            *into = std::move(*fd);
        }
        return clusters;
    }
};

Result<void> register_workers(const Clusters &clusters, const Range &range,
                              const std::vector<WorkerAddress> &workers) {
    for (const auto &worker : workers)
        if (worker.worker >= clusters.config.max_workers)
            return fail("register worker", std::to_string(worker.worker), 0,
                        "attach with a larger --max-workers",
                        fmt::format("ids are 0 ... {}", clusters.config.max_workers - 1));
    for (auto id = range.first; id <= range.last; id++)
        for (const auto &worker : workers) {
            if (auto done = register_worker(clusters.enrol.get(), id, worker); !done)
                return done;
            // One that is never heard can be found all the same, once its MAC address is known.
            if (worker.port != 0)
                wake_neighbour({.address = worker.address, .port = worker.port});
        }
    return {};
}

Result<void> remove(const Clusters &clusters, const Range &range, const olaf_rule &usual) {
    for (auto id = range.first; id <= range.last; id++)
        if (auto done = forget_members(clusters.enrol.get(), id); !done)
            return done;
    return write_rules(clusters.rules.get(), range.first, range.last, usual);
}

nlohmann::ordered_json member_json(const KnownMember &known, std::uint64_t now) {
    const auto &member = known.member;
    nlohmann::ordered_json object{{"worker", known.worker},
                                  {"address", member_address_text(member)},
                                  {"registered", (member.flags & OLAF_MEMBER_REGISTERED) != 0},
                                  {"mac", nullptr},
                                  {"vlans", nlohmann::json::array()},
                                  {"silent_ns", nullptr}};
    if (member.last_seen_ns == 0)
        return object;
    const auto &m = member.mac;
    object["mac"] = fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", m[0], m[1], m[2], m[3],
                                m[4], m[5]);
    for (int i = 0; i < member.tags && i < 2; i++)
        object["vlans"].push_back(ntohs(member.tag[i].tci_be) & 0xfff);
    object["silent_ns"] = now > member.last_seen_ns ? now - member.last_seen_ns : 0;
    return object;
}

void print_member(const nlohmann::ordered_json &member) {
    const auto silent = member["silent_ns"];
    fmt::print("{:>9} worker {:<5} {:<28} {}{}\n", "", member["worker"].get<std::uint32_t>(),
               member["address"].get<std::string>(),
               silent.is_null() ? "never heard"
                                : fmt::format("heard {:.1f} s ago", silent.get<double>() / 1e9),
               member["registered"].get<bool>() ? ", registered" : "");
}

Result<void> list_clusters(const Clusters &clusters, const Range &range, const olaf_rule &usual,
                           bool all, bool json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    if (!json)
        fmt::print("{:>9} {:<10} {:>9} {:>16}\n", "cluster", "policy", "max-count",
                   "reward-threshold");
    const auto row = [](const std::string &who, const olaf_rule &rule) {
        fmt::print("{:>9} {:<10} {:>9} {:>16}\n", who, policy_name(rule.policy), rule.max_count,
                   reward_text(rule.reward_threshold));
    };
    std::uint32_t others = 0;
    for (auto id = range.first; id <= range.last; id++) {
        const auto rule = read_rule(clusters.rules.get(), id);
        if (!rule)
            return std::unexpected(rule.error());
        const auto known =
            read_members(clusters.members.get(), clusters.rosters.get(), clusters.config, id);
        if (!known)
            return std::unexpected(known.error());
        if (!all && same(*rule, usual) && known->empty()) {
            others++;
            continue;
        }
        auto members = nlohmann::ordered_json::array();
        for (const auto &member : *known)
            members.push_back(member_json(member, monotonic_ns()));
        if (!json) {
            row(std::to_string(id), *rule);
            for (const auto &member : members)
                print_member(member);
        }
        nlohmann::ordered_json threshold = nullptr;
        if (rule->reward_threshold >= 0)
            threshold =
                static_cast<double>(rule->reward_threshold) / (1 << OLAF_REWARD_FRACTION_BITS);
        list.push_back({{"cluster", id},
                        {"policy", policy_name(rule->policy)},
                        {"max_count", rule->max_count},
                        {"reward_threshold", threshold},
                        {"members", members}});
    }
    if (json)
        fmt::print("{}\n", list.dump(2));
    else if (others != 0)
        row(list.empty() ? "all" : "others", usual);
    return {};
}

} // namespace

Result<void> cluster(const ClusterOptions &options, const GlobalOptions &global) {
    using Action = ClusterOptions::Action;
    if (auto good = require_privileges("change the clusters of", options.device); !good)
        return good;
    const auto attachment = live_attachment(options.device);
    if (!attachment)
        return std::unexpected(attachment.error());
    const auto clusters = Clusters::open(*attachment);
    if (!clusters)
        return std::unexpected(clusters.error());
    const auto &config = attachment->record.config;
    const Range range = options.clusters.value_or(Range{0, config.max_clusters - 1});
    if (range.last >= config.max_clusters)
        return fail("find cluster", std::to_string(range.last), 0,
                    fmt::format("attached with --max-clusters {}: ids are 0 ... {}",
                                config.max_clusters, config.max_clusters - 1),
                    "there is none of that id");
    const auto usual = default_rule(static_cast<olaf_policy>(config.default_policy));
    if (auto good = check_policy(options, config); !good)
        return good;
    if (options.action != Action::list)
        if (auto done = refresh_addresses(*attachment); !done)
            return done;
    switch (options.action) {
    case Action::set:
        if (auto done = register_workers(*clusters, range, options.workers); !done)
            return done;
        return set_rules(clusters->rules.get(), range, options);
    case Action::remove:
        return remove(*clusters, range, usual);
    case Action::list:
        break;
    }
    return list_clusters(*clusters, range, usual, options.clusters.has_value(), global.json);
}

} // namespace olaf
