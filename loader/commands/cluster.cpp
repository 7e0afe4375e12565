// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "commands.hpp"
#include "loader/attachment/addresses.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/card.hpp"
#include "loader/datapath/config.hpp"
#include "loader/datapath/datapath.hpp"
#include "loader/datapath/members.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/host.hpp"
#include "loader/host/route.hpp"
#include "olaf/try.hpp"

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

/// Changes what is given, keeps the rest.
void merge(olaf_rule &rule, const ClusterOptions &options) {
    if (options.policy)
        rule.policy = *options.policy;
    if (options.max_count)
        rule.max_count = *options.max_count;
    if (options.reward_threshold)
        rule.reward_threshold = *options.reward_threshold;
}

Result<void> set_rules(int fd, const Range &range, const ClusterOptions &options) {
    for (auto id = range.first; id <= range.last; id++) {
        auto rule = OLAF_TRY(read_rule(fd, id));
        merge(rule, options);
        OLAF_TRY(write_rules(fd, id, id, rule));
    }
    return {};
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
            *into = OLAF_TRY(open_map(attachment, name));
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
            OLAF_TRY(register_worker(clusters.enrol.get(), id, worker));
            // A worker that was never heard from can be reached all the same, once its MAC address
            // is known.
            if (worker.port != 0)
                wake_neighbour({.address = worker.address, .port = worker.port});
        }
    return {};
}

Result<void> remove(const Clusters &clusters, const Range &range, const olaf_rule &usual) {
    for (auto id = range.first; id <= range.last; id++)
        OLAF_TRY(forget_members(clusters.enrol.get(), id));
    return write_rules(clusters.rules.get(), range.first, range.last, usual);
}

/// The rules of the clusters that the options name, where the queue is in a card. It has no workers.
Result<void> change_in_card(Card &card, const Range &range, const ClusterOptions &options,
                            const olaf_rule &usual) {
    if (options.action == ClusterOptions::Action::remove)
        return card.set_rules(range.first, range.last, usual);
    if (!options.workers.empty())
        return fail("register workers on", options.device, 0,
                    fmt::format("olaf attach {} --replace --hw off moves the queue into the kernel",
                                options.device),
                    "the queue is in a card, which binds no workers to addresses");
    for (auto id = range.first; id <= range.last; id++) {
        auto rule = OLAF_TRY(card.rule(id));
        merge(rule, options);
        if (const auto obstacle = rule_obstacle(rule, card.capabilities()); !obstacle.empty())
            return fail("set the rule of cluster", std::to_string(id), 0,
                        "leave that out, or use the kernel's queue: --hw off", obstacle);
        OLAF_TRY(card.set_rules(id, id, rule));
    }
    return {};
}

/// The running queue that the options name, its clusters open.
struct Opened {
    Attachment attachment;
    Clusters clusters; ///< none open where they are in a card
    Range range;
    olaf_rule usual;
    std::optional<Card> card = {};
};

Result<Opened> open(const ClusterOptions &options) {
    OLAF_TRY(require_privileges("change the clusters of", options.device));
    auto attachment = OLAF_TRY(live_attachment(options.device));
    const bool on_card = attachment.on_card();
    auto clusters = on_card ? Clusters{.config = attachment.record.config}
                            : OLAF_TRY(Clusters::open(attachment));
    const auto &config = attachment.record.config;
    const Range range = options.clusters.value_or(Range{0, config.max_clusters - 1});
    if (range.last >= config.max_clusters)
        return fail("find cluster", std::to_string(range.last), 0,
                    fmt::format("attached with --max-clusters {}: ids are 0 ... {}",
                                config.max_clusters, config.max_clusters - 1),
                    "there is none of that id");
    const auto usual = default_rule(static_cast<olaf_policy>(config.default_policy));
    if (on_card) {
        auto card = OLAF_TRY(open_card(attachment));
        return Opened{std::move(attachment), std::move(clusters), range, usual, std::move(card)};
    }
    OLAF_TRY(check_policy(options, config));
    return Opened{std::move(attachment), std::move(clusters), range, usual};
}

} // namespace

Result<void> change_clusters(const ClusterOptions &options) {
    auto opened = OLAF_TRY(open(options));
    auto &[attachment, clusters, range, usual, card] = opened;
    if (card)
        return change_in_card(*card, range, options, usual);
    OLAF_TRY(refresh_running(attachment));
    if (options.action == ClusterOptions::Action::remove)
        return remove(clusters, range, usual);
    OLAF_TRY(register_workers(clusters, range, options.workers));
    return set_rules(clusters.rules.get(), range, options);
}

Result<ClusterListing> list_clusters(const ClusterOptions &options) {
    const auto opened = OLAF_TRY(open(options));
    const auto &[attachment, clusters, range, usual, card] = opened;
    ClusterListing listing{.rows = {}, .usual = usual};
    for (auto id = range.first; id <= range.last; id++) {
        const auto rule = OLAF_TRY(card ? card->rule(id) : read_rule(clusters.rules.get(), id));
        auto known = OLAF_TRY(card ? Result<std::vector<KnownMember>>(std::vector<KnownMember>{})
                                   : read_members(clusters.members.get(), clusters.rosters.get(),
                                                  clusters.config, id));
        if (!options.clusters && rule == usual && known.empty())
            listing.others++;
        else
            listing.rows.push_back({.cluster = id, .rule = rule, .members = std::move(known)});
    }
    return listing;
}

} // namespace olaf
