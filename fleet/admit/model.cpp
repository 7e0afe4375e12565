// SPDX-License-Identifier: BSD-2-Clause
#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "loader/text/units.hpp"
#include "olaf/protocol.h"
#include "olaf/queue.h"

namespace olaf::fleet {

std::uint64_t Setting::service_ns(std::size_t hop, std::uint64_t bytes) const {
    const auto rate = hops[hop].rate_bps;
    return (bytes * 8'000'000'000 + rate - 1) / rate;
}

std::uint64_t Setting::longest_service_ns(std::size_t hop) const {
    return service_ns(hop, hops[hop].largest);
}

bool Setting::never_full() const {
    return std::ranges::all_of(hops, [](const Hop &hop) { return hop.entries <= hop.places; });
}

namespace {

/// a + b, or the largest number there is.
std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

} // namespace

Result<Setting> setting_of(const AdmitOptions &options) {
    constexpr std::uint64_t ethernet = 14, ip = 20, udp = 8, most_segments = 1000;
    // A run adds up to a few hundred thousand intervals to this, and stays within 64 bits.
    constexpr std::uint64_t most_peak = 1ULL << 62;
    const auto refuse = [](std::string object, std::string reason, std::string hint) {
        return fail("admit", std::move(object), 0, std::move(hint), std::move(reason));
    };
    Setting setting;
    std::unordered_map<std::uint32_t, std::size_t> index; // of each cluster, by its id
    std::uint64_t all_segments = 0;
    // What a segment's UDP payload has room for, in lanes.
    const auto most_lanes = (options.mtu - ip - udp - sizeof(olaf_header)) / 8;
    for (const auto &given : options.clusters) {
        Cluster cluster{.id = given.id,
                        .interval_ns = given.interval_ns,
                        .jitter_ns = given.jitter_ns,
                        .frames = {},
                        .hops = {}};
        const auto name = fmt::format("cluster {}", given.id);
        if (!index.emplace(given.id, setting.clusters.size()).second)
            return refuse(name, "it is given twice", "give each cluster once");
        if (given.jitter_ns >= given.interval_ns)
            return refuse(name, "its jitter is no less than its interval", "give a smaller one");
        auto lanes = (given.bytes + 7) / 8;
        const auto segments = (lanes + most_lanes - 1) / most_lanes;
        if (segments > most_segments)
            return refuse(name, fmt::format("an update of it has {} segments", segments),
                          fmt::format("give at most {}, or a larger --mtu", most_segments));
        all_segments += segments;
        if (all_segments > OLAF_MAX_SLOTS)
            return refuse(name, "with it all updates have too many segments",
                          fmt::format("a queue has room for {}", OLAF_MAX_SLOTS));
        for (; lanes > 0; lanes -= std::min<std::uint64_t>(lanes, most_lanes))
            cluster.frames.push_back(8 * std::min<std::uint64_t>(lanes, most_lanes) +
                                     sizeof(olaf_header) + udp + ip + ethernet);
        setting.clusters.push_back(std::move(cluster));
    }
    for (std::size_t h = 0; h < options.hops.size(); ++h) {
        const auto &given = options.hops[h];
        Hop hop{.rate_bps = given.rate_bps, .places = given.places, .delay_ns = given.delay_ns};
        std::vector<std::size_t> passing;
        for (const auto id : given.ids) {
            const auto found = index.find(id);
            if (found == index.end())
                return refuse(fmt::format("hop {}", h + 1),
                              fmt::format("there is no cluster {}", id),
                              "name it with --cluster too");
            passing.push_back(found->second);
        }
        if (given.ids.empty())
            for (std::size_t c = 0; c < setting.clusters.size(); ++c)
                passing.push_back(c);
        for (const auto c : passing) {
            auto &cluster = setting.clusters[c];
            if (!cluster.hops.empty() && cluster.hops.back() == h)
                continue; // its id was given twice
            cluster.hops.push_back(h);
            hop.entries += cluster.frames.size();
            hop.largest = std::max(hop.largest, cluster.frames.front());
        }
        if (hop.places == 0)
            hop.places = hop.entries;
        setting.hops.push_back(hop);
    }
    for (std::size_t c = 0; c < setting.clusters.size(); ++c) {
        const auto name = fmt::format("cluster {}", setting.clusters[c].id);
        if (setting.clusters[c].hops.empty())
            return refuse(name, "it passes no hop",
                          "name it in one of --hop, or give one without IDS");
        if (most_peak_ns(setting, c) > most_peak)
            return refuse(name, "its peaks may last more than a century",
                          "give faster hops, or fewer clusters and segments");
    }
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
    for (const auto h : of.hops) {
        const auto &hop = setting.hops[h];
        const auto service = setting.longest_service_ns(h);
        terms.push_back({fmt::format("hop {}: {} frames of at most {} each", h + 1, hop.entries + 1,
                                     duration_text(service)),
                         (hop.entries + 1) * service});
        if (hop.delay_ns > 0)
            terms.push_back({fmt::format("hop {}: its drain", h + 1), hop.delay_ns});
    }
    return terms;
}

// Without the names: a search for what would be admitted asks for it many times.
std::uint64_t most_peak_ns(const Setting &setting, std::size_t cluster) {
    const auto &of = setting.clusters[cluster];
    auto sum = sum_of(of.interval_ns, of.jitter_ns);
    for (const auto h : of.hops)
        sum = sum_of(sum, sum_of((setting.hops[h].entries + 1) * setting.longest_service_ns(h),
                                 setting.hops[h].delay_ns));
    return sum;
}

std::uint64_t least_peak_ns(const Setting &setting, std::size_t cluster) {
    const auto &of = setting.clusters[cluster];
    auto sum = of.interval_ns - of.jitter_ns;
    for (const auto hop : of.hops)
        sum += setting.service_ns(hop, of.frames.front());
    return sum;
}

} // namespace olaf::fleet
