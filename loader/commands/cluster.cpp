// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/own_addresses.hpp"
#include "loader/datapath/config.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/datapath/members.hpp"
#include "loader/datapath/programs.hpp"
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

/// Policy fifo needs entries of its own, which a queue has only if it was attached for it.
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
    olaf_config config;
    Fd rules{}, members{}, rosters{}, enrol{};

    static Result<Clusters> open(const Attachment &attachment) {
        Clusters clusters{.config = attachment.record.config};
        for (const auto &[into, name] :
             {std::pair{&clusters.rules, "olaf_rules"},
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
            // A worker that was never heard from can be reached all the same, once its MAC address
            // is known.
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

/// The running queue that the options name, its clusters open.
struct Opened {
    Attachment attachment;
    Clusters clusters;
    Range range;
    olaf_rule usual;
};

Result<Opened> open(const ClusterOptions &options) {
    if (auto good = require_privileges("change the clusters of", options.device); !good)
        return std::unexpected(good.error());
    auto attachment = live_attachment(options.device);
    if (!attachment)
        return std::unexpected(attachment.error());
    auto clusters = Clusters::open(*attachment);
    if (!clusters)
        return std::unexpected(clusters.error());
    const auto &config = attachment->record.config;
    const Range range = options.clusters.value_or(Range{0, config.max_clusters - 1});
    if (range.last >= config.max_clusters)
        return fail("find cluster", std::to_string(range.last), 0,
                    fmt::format("attached with --max-clusters {}: ids are 0 ... {}",
                                config.max_clusters, config.max_clusters - 1),
                    "there is none of that id");
    if (auto good = check_policy(options, config); !good)
        return std::unexpected(good.error());
    const auto usual = default_rule(static_cast<olaf_policy>(config.default_policy));
    return Opened{std::move(*attachment), std::move(*clusters), range, usual};
}

} // namespace

Result<void> change_clusters(const ClusterOptions &options) {
    const auto opened = open(options);
    if (!opened)
        return std::unexpected(opened.error());
    const auto &[attachment, clusters, range, usual] = *opened;
    if (auto done = refresh_addresses(attachment); !done)
        return done;
    if (options.action == ClusterOptions::Action::remove)
        return remove(clusters, range, usual);
    if (auto done = register_workers(clusters, range, options.workers); !done)
        return done;
    return set_rules(clusters.rules.get(), range, options);
}

Result<ClusterListing> list_clusters(const ClusterOptions &options) {
    const auto opened = open(options);
    if (!opened)
        return std::unexpected(opened.error());
    const auto &[attachment, clusters, range, usual] = *opened;
    ClusterListing listing{.rows = {}, .usual = usual};
    for (auto id = range.first; id <= range.last; id++) {
        const auto rule = read_rule(clusters.rules.get(), id);
        if (!rule)
            return std::unexpected(rule.error());
        auto known =
            read_members(clusters.members.get(), clusters.rosters.get(), clusters.config, id);
        if (!known)
            return std::unexpected(known.error());
        if (!options.clusters && same(*rule, usual) && known->empty())
            listing.others++;
        else
            listing.rows.push_back({.cluster = id, .rule = *rule, .members = std::move(*known)});
    }
    return listing;
}

} // namespace olaf
