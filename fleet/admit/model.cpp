// SPDX-License-Identifier: BSD-2-Clause
#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loader/text/units.hpp"
#include "olaf/protocol.h"

namespace olaf::fleet {

std::uint64_t Setting::service_ns(std::size_t hop, std::uint64_t bytes) const {
    const auto rate = hops[hop].rate_bps;
    return (bytes * 8'000'000'000 + rate - 1) / rate;
}

std::uint64_t Setting::longest_service_ns(std::size_t hop) const {
    std::uint64_t longest = 0;
    for (const auto cluster : hops[hop].clusters)
        for (const auto bytes : clusters[cluster].frames)
            longest = std::max(longest, service_ns(hop, bytes));
    return longest;
}

std::uint64_t Setting::entries(std::size_t hop) const {
    std::uint64_t sum = 0;
    for (const auto cluster : hops[hop].clusters)
        sum += clusters[cluster].frames.size();
    return sum;
}

bool Setting::never_full() const {
    for (std::size_t hop = 0; hop < hops.size(); ++hop)
        if (entries(hop) > hops[hop].places)
            return false;
    return true;
}

Result<Setting> setting_of(const AdmitOptions &options) {
    constexpr std::uint64_t ethernet = 14, ip = 20, udp = 8;
    const auto refuse = [](std::string object, std::string reason, std::string hint) {
        return fail("admit", std::move(object), 0, std::move(hint), std::move(reason));
    };
    Setting setting;
    // What a segment's UDP payload has room for, in lanes.
    const auto most_lanes = (options.mtu - ip - udp - sizeof(olaf_header)) / 8;
    for (const auto &given : options.clusters) {
        Cluster cluster{.id = given.id,
                        .interval_ns = given.interval_ns,
                        .jitter_ns = given.jitter_ns,
                        .frames = {},
                        .hops = {}};
        const auto name = fmt::format("cluster {}", given.id);
        if (std::ranges::find(setting.clusters, given.id, &Cluster::id) != setting.clusters.end())
            return refuse(name, "it is given twice", "give each cluster once");
        if (given.jitter_ns >= given.interval_ns)
            return refuse(name, "its jitter is no less than its interval", "give a smaller one");
        for (auto lanes = (given.bytes + 7) / 8; lanes > 0;) {
            const auto taken = std::min<std::uint64_t>(lanes, most_lanes);
            cluster.frames.push_back(8 * taken + sizeof(olaf_header) + udp + ip + ethernet);
            lanes -= taken;
        }
        if (cluster.frames.size() > 1000)
            return refuse(name,
                          fmt::format("an update of it has {} segments", cluster.frames.size()),
                          "give at most 1000, or a larger --mtu");
        setting.clusters.push_back(std::move(cluster));
    }
    for (std::size_t h = 0; h < options.hops.size(); ++h) {
        const auto &given = options.hops[h];
        Hop hop{.clusters = {},
                .rate_bps = given.rate_bps,
                .places = given.places,
                .delay_ns = given.delay_ns};
        for (const auto id : given.ids)
            if (std::ranges::find(setting.clusters, id, &Cluster::id) == setting.clusters.end())
                return refuse(fmt::format("hop {}", h + 1),
                              fmt::format("there is no cluster {}", id),
                              "name it with --cluster too");
        for (std::size_t c = 0; c < setting.clusters.size(); ++c)
            if (given.ids.empty() ||
                std::ranges::find(given.ids, setting.clusters[c].id) != given.ids.end()) {
                hop.clusters.push_back(c);
                setting.clusters[c].hops.push_back(h);
            }
        setting.hops.push_back(std::move(hop));
        if (setting.hops[h].places == 0)
            setting.hops[h].places = setting.entries(h);
    }
    for (const auto &cluster : setting.clusters)
        if (cluster.hops.empty())
            return refuse(fmt::format("cluster {}", cluster.id), "it passes no hop",
                          "name it in one of --hop, or give one without IDS");
    setting.objective.most_ns = options.objective.most_ns;
    setting.objective.kind = options.objective.kind == "peak"       ? Objective::Kind::peak
                             : options.objective.kind == "fairness" ? Objective::Kind::fairness
                                                                    : Objective::Kind::loss;
    return setting;
}

std::vector<Term> most_terms(const Setting &setting, std::size_t cluster) {
    const auto &of = setting.clusters[cluster];
    std::vector<Term> terms{{"interval", of.interval_ns}};
    if (of.jitter_ns > 0)
        terms.push_back({"jitter", of.jitter_ns});
    for (const auto hop : of.hops) {
        const auto entries = setting.entries(hop);
        terms.push_back({fmt::format("hop {}: {} of at most {} each", hop + 1, entries + 1,
                                     duration_text(setting.longest_service_ns(hop))),
                         (entries + 1) * setting.longest_service_ns(hop)});
        if (setting.hops[hop].delay_ns > 0)
            terms.push_back(
                {fmt::format("hop {}: its drain", hop + 1), setting.hops[hop].delay_ns});
    }
    return terms;
}

std::uint64_t most_peak_ns(const Setting &setting, std::size_t cluster) {
    std::uint64_t sum = 0;
    for (const auto &term : most_terms(setting, cluster))
        sum += term.ns;
    return sum;
}

std::uint64_t least_peak_ns(const Setting &setting, std::size_t cluster) {
    const auto &of = setting.clusters[cluster];
    std::uint64_t sum = of.interval_ns - of.jitter_ns;
    for (const auto hop : of.hops)
        sum += setting.service_ns(hop, *std::ranges::max_element(of.frames));
    return sum;
}

} // namespace olaf::fleet
