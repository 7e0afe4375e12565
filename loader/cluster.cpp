// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "attachment.hpp"
#include "commands.hpp"
#include "datapath.hpp"
#include "host.hpp"

namespace olaf {
namespace {

Result<olaf_rule> read_rule(int fd, std::uint32_t id) {
    olaf_rule rule{};
    if (bpf_map_lookup_elem(fd, &id, &rule) != 0)
        return fail("read the rule of cluster", std::to_string(id), errno);
    return rule;
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

Result<void> list_rules(int fd, const Range &range, const olaf_rule &usual, bool all, bool json) {
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
        const auto rule = read_rule(fd, id);
        if (!rule)
            return std::unexpected(rule.error());
        if (!all && same(*rule, usual)) {
            others++;
            continue;
        }
        if (!json)
            row(std::to_string(id), *rule);
        nlohmann::ordered_json threshold = nullptr;
        if (rule->reward_threshold >= 0)
            threshold =
                static_cast<double>(rule->reward_threshold) / (1 << OLAF_REWARD_FRACTION_BITS);
        list.push_back({{"cluster", id},
                        {"policy", policy_name(rule->policy)},
                        {"max_count", rule->max_count},
                        {"reward_threshold", threshold}});
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
    const auto rules = open_map(*attachment, "olaf_rules");
    if (!rules)
        return std::unexpected(rules.error());
    const auto &config = attachment->record.config;
    const Range range = options.clusters.value_or(Range{0, config.max_clusters - 1});
    if (range.last >= config.max_clusters)
        return fail("find cluster", std::to_string(range.last), 0,
                    fmt::format("attached with --max-clusters {}: ids are 0 ... {}",
                                config.max_clusters, config.max_clusters - 1),
                    "there is none of that id");
    const auto usual = default_rule(static_cast<olaf_policy>(config.default_policy));
    switch (options.action) {
    case Action::set:
        return set_rules(rules->get(), range, options);
    case Action::remove:
        return write_rules(rules->get(), range.first, range.last, usual);
    case Action::list:
        break;
    }
    return list_rules(rules->get(), range, usual, options.clusters.has_value(), global.json);
}

} // namespace olaf
