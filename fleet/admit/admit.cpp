// SPDX-License-Identifier: BSD-2-Clause
#include "admit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "loader/text/units.hpp"
#include "proof.hpp"

namespace olaf::fleet {
namespace {

using Kind = Objective::Kind;
using Clock = std::chrono::steady_clock;

/// Two clusters, of which the peaks of one may be above those of the other by so much.
struct Apart {
    std::size_t above = 0, below = 0;
    std::uint64_t most_ns = 0;
    bool always = false; ///< each run has them more than the objective apart
};

std::uint64_t less(std::uint64_t a, std::uint64_t b) {
    return a > b ? a - b : 0;
}

/// The pair whose mean peaks may be the furthest apart: each lies within its cluster's span.
Apart furthest(const Setting &setting) {
    Apart found;
    for (std::size_t a = 0; a < setting.clusters.size(); ++a)
        for (std::size_t b = 0; b < setting.clusters.size(); ++b) {
            if (a == b)
                continue;
            const auto apart = less(most_peak_ns(setting, a), least_peak_ns(setting, b));
            if (apart > found.most_ns)
                found = {.above = a,
                         .below = b,
                         .most_ns = apart,
                         .always = less(least_peak_ns(setting, a), most_peak_ns(setting, b)) >
                                   setting.objective.most_ns};
        }
    return found;
}

/// The cluster whose peaks may be the highest.
std::size_t oldest(const Setting &setting) {
    std::size_t found = 0;
    for (std::size_t c = 1; c < setting.clusters.size(); ++c)
        if (most_peak_ns(setting, c) > most_peak_ns(setting, found))
            found = c;
    return found;
}

/// What the closed bound is about: a peak, or how far apart two are.
std::uint64_t bound_of(const Setting &setting) {
    return setting.objective.kind == Kind::fairness ? furthest(setting).most_ns
                                                    : most_peak_ns(setting, oldest(setting));
}

bool admitted_by_bound(const Setting &setting) {
    if (!setting.never_full())
        return false;
    return setting.objective.kind == Kind::loss || bound_of(setting) <= setting.objective.most_ns;
}

Setting with_rates(Setting setting, double factor) {
    for (auto &hop : setting.hops)
        hop.rate_bps = static_cast<std::uint64_t>(static_cast<double>(hop.rate_bps) * factor);
    return setting;
}

Nearest nearest(const Setting &setting) {
    Nearest found;
    auto roomy = setting;
    for (std::size_t hop = 0; hop < setting.hops.size(); ++hop)
        roomy.hops[hop].places = std::max(setting.hops[hop].places, setting.entries(hop));
    if (!setting.never_full()) {
        if (admitted_by_bound(roomy)) {
            found.places = 0;
            for (const auto &hop : roomy.hops)
                found.places = std::max(*found.places, hop.places);
        }
        return found;
    }
    // The interval of the cluster whose peaks are too high: no longer than this.
    const auto slow =
        setting.objective.kind == Kind::fairness ? furthest(setting).above : oldest(setting);
    found.cluster = setting.clusters[slow].id;
    auto tried = setting;
    const auto fits = [&](std::uint64_t interval) {
        tried.clusters[slow].interval_ns = interval;
        return admitted_by_bound(tried);
    };
    auto low = setting.clusters[slow].jitter_ns + 1, high = setting.clusters[slow].interval_ns;
    // Of fairness too short an interval is as bad as too long a one: the longest that fits lies
    // where the sum of both spans is halved, if anywhere.
    const auto excess = less(bound_of(setting), setting.objective.most_ns);
    const auto wanted = less(setting.clusters[slow].interval_ns, excess);
    if (wanted >= low && wanted <= high && fits(wanted))
        found.interval_ns = wanted;
    // Rates: faster ones bring all spans down.
    constexpr double most_factor = 1e6;
    if (admitted_by_bound(with_rates(setting, most_factor))) {
        double slow_factor = 1, fast_factor = most_factor;
        while (fast_factor / slow_factor > 1.0001) {
            const double between = std::sqrt(slow_factor * fast_factor);
            (admitted_by_bound(with_rates(setting, between)) ? fast_factor : slow_factor) = between;
        }
        const auto slowest = std::ranges::min_element(setting.hops, {}, &Hop::rate_bps)->rate_bps;
        found.rate_bps = static_cast<std::uint64_t>(static_cast<double>(slowest) * fast_factor) + 1;
    }
    return found;
}

/// Every cluster at its own interval, long enough for means: a run of which a rejection is certain.
/// A cluster with much the shortest interval ends early: else its updates would have no end.
Counterexample plain_run(const Setting &setting) {
    constexpr std::size_t most_updates = 1000; // of a cluster
    Counterexample found;
    std::uint64_t longest = 0;
    for (const auto &cluster : setting.clusters)
        longest = std::max(longest, cluster.interval_ns);
    for (std::size_t c = 0; c < setting.clusters.size(); ++c)
        for (std::uint64_t at = c, count = 0; at < 6 * longest && count < most_updates; ++count) {
            found.arrivals.push_back({c, at});
            at += setting.clusters[c].interval_ns;
        }
    std::ranges::stable_sort(found.arrivals, {}, &Arrival::at_ns);
    found.outcome = simulate(setting, found.arrivals);
    return found;
}

std::string name(const Setting &setting, std::size_t cluster) {
    return fmt::format("cluster {}", setting.clusters[cluster].id);
}

std::string objective_text(const Objective &objective) {
    switch (objective.kind) {
    case Kind::peak:
        return "peak<=" + exact_duration_text(objective.most_ns);
    case Kind::fairness:
        return "fairness<=" + exact_duration_text(objective.most_ns);
    case Kind::loss:
        break;
    }
    return "loss=0";
}

void reject(const Setting &setting, Verdict &verdict, Counterexample against, std::string why) {
    verdict.kind = Verdict::Kind::rejected;
    verdict.why = std::move(why);
    verdict.against = std::move(against);
    verdict.nearest = nearest(setting);
}

void decide(const Setting &setting, std::uint64_t seed, Clock::time_point until, Verdict &verdict) {
    const auto &objective = setting.objective;
    if (setting.never_full() && objective.kind != Kind::loss) {
        verdict.bound_ns = bound_of(setting);
        if (objective.kind == Kind::peak)
            verdict.terms = most_terms(setting, oldest(setting));
        else if (setting.clusters.size() > 1) {
            const auto apart = furthest(setting);
            verdict.terms = {{fmt::format("{}: its peaks, at most", name(setting, apart.above)),
                              most_peak_ns(setting, apart.above)},
                             {fmt::format("{}: its peaks, at least", name(setting, apart.below)),
                              least_peak_ns(setting, apart.below)}};
        }
    }
    if (admitted_by_bound(setting)) {
        verdict.kind = Verdict::Kind::admitted;
        verdict.why = objective.kind == Kind::loss
                          ? "each queue has a place for every cluster and segment"
                          : "the closed bound is within the objective";
        return;
    }
    if (objective.kind == Kind::fairness && setting.never_full() && furthest(setting).always)
        return reject(setting, verdict, plain_run(setting),
                      "every run breaks it: the spans of their peaks are too far apart");
    // A third of the time for the search: what it can find it finds soon.
    const auto now = Clock::now();
    if (auto found = search(setting, seed, now + (until - now) / 3))
        return reject(setting, verdict, std::move(*found), "a run breaks it");
    switch (prove(setting, until)) {
    case Proof::holds:
        verdict.kind = Verdict::Kind::admitted;
        verdict.why =
            "the closed bound is above the objective, but Z3 proves that no run breaks it";
        return;
    case Proof::may_break:
        if (auto found = refute(setting, until))
            return reject(setting, verdict, std::move(*found), "a run breaks it, found by Z3");
        break;
    case Proof::out_of_reach:
        break;
    }
    verdict.why = "neither a proof nor a run that breaks it was found";
}

} // namespace

Verdict admit(const Setting &setting, std::uint64_t seed, std::uint64_t time_limit_ns) {
    const auto begun = Clock::now();
    Verdict verdict;
    decide(setting, seed, begun + std::chrono::nanoseconds(time_limit_ns), verdict);
    verdict.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    return verdict;
}

nlohmann::ordered_json verdict_json(const Setting &setting, const Verdict &verdict) {
    using Json = nlohmann::ordered_json;
    const auto or_null = [](const std::optional<std::uint64_t> &value) {
        return value ? Json(*value) : Json();
    };
    constexpr const char *words[] = {"admitted", "rejected", "unknown"};
    Json terms = Json::array(), arrivals = Json::array();
    for (const auto &term : verdict.terms)
        terms.push_back({{"name", term.name}, {"ns", term.ns}});
    Json peak, nearest;
    if (verdict.against) {
        for (const auto &arrival : verdict.against->arrivals)
            arrivals.push_back(
                {{"cluster", setting.clusters[arrival.cluster].id}, {"at_ns", arrival.at_ns}});
        peak = verdict.against->outcome.figure(setting);
        nearest = {{"interval_ns", or_null(verdict.nearest.interval_ns)},
                   {"rate_bps", or_null(verdict.nearest.rate_bps)},
                   {"places", or_null(verdict.nearest.places)}};
    }
    return {{"verdict", words[static_cast<std::size_t>(verdict.kind)]},
            {"objective", objective_text(setting.objective)},
            {"why", verdict.why},
            {"bound_ns", or_null(verdict.bound_ns)},
            {"terms", std::move(terms)},
            {"arrivals", std::move(arrivals)},
            {"peak_ns", std::move(peak)},
            {"nearest", std::move(nearest)},
            {"seconds", verdict.seconds}};
}

std::string verdict_text(const Setting &setting, const Verdict &verdict) {
    constexpr const char *words[] = {"admitted", "rejected", "unknown"};
    std::string text = fmt::format("{}: {}; {}\n", words[static_cast<std::size_t>(verdict.kind)],
                                   objective_text(setting.objective), verdict.why);
    if (verdict.bound_ns)
        text += fmt::format("\n  at most {}\n", duration_text(*verdict.bound_ns));
    for (const auto &term : verdict.terms)
        text += fmt::format("  {:>10}  {}\n", duration_text(term.ns), term.name);
    if (!verdict.against)
        return text;
    const auto figure = verdict.against->outcome.figure(setting);
    text += fmt::format("\nthe run reaches {}:\n", setting.objective.kind == Kind::loss
                                                       ? fmt::format("{} lost", figure)
                                                       : duration_text(figure));
    constexpr std::size_t most_shown = 30;
    const auto &arrivals = verdict.against->arrivals;
    for (std::size_t i = 0; i < arrivals.size() && i < most_shown; ++i)
        text += fmt::format("  {:>12}  cluster {}\n",
                            exact_duration_text(std::max<std::uint64_t>(arrivals[i].at_ns, 1)),
                            setting.clusters[arrivals[i].cluster].id);
    if (arrivals.size() > most_shown)
        text += fmt::format("  … {} more; --json has all\n", arrivals.size() - most_shown);
    text += "\n";
    const auto &nearest = verdict.nearest;
    if (nearest.interval_ns)
        text += fmt::format("would be admitted: cluster {} every {}\n", nearest.cluster,
                            duration_text(*nearest.interval_ns));
    if (nearest.rate_bps)
        text += fmt::format("would be admitted: the slowest hop at {}, others as much faster\n",
                            rate_text(*nearest.rate_bps));
    if (nearest.places)
        text += fmt::format("would be admitted: {} places\n", *nearest.places);
    if (!nearest.interval_ns && !nearest.rate_bps && !nearest.places)
        text += "no interval, rate or number of places alone would do\n";
    return text;
}

} // namespace olaf::fleet
