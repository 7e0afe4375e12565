// SPDX-License-Identifier: BSD-2-Clause
#include "admit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "loader/text/units.hpp"
#include "proof.hpp"

namespace olaf::fleet {
namespace {

using Kind = Objective::Kind;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

std::uint64_t less(std::uint64_t a, std::uint64_t b) {
    return a > b ? a - b : 0;
}

/// The place of the best value, and of the best one of the others; the same if there are none.
template <class Better>
std::pair<std::size_t, std::size_t> best_two(const std::vector<std::uint64_t> &values,
                                             const Better &better) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < values.size(); ++i)
        if (better(values[i], values[best]))
            best = i;
    auto next = best > 0 || values.size() == 1 ? std::size_t{0} : std::size_t{1};
    for (std::size_t i = 0; i < values.size(); ++i)
        if (i != best && better(values[i], values[next]))
            next = i;
    return {best, next};
}

/// Two clusters, and how far the peaks of one may be above those of the other.
struct Apart {
    std::size_t above = 0, below = 0;
    std::uint64_t most_ns = 0;
};

/// Between what each cluster's peaks lie, where no queue is ever full.
struct Spans {
    std::vector<std::uint64_t> least_ns, most_ns;
    std::pair<std::size_t, std::size_t> highest, lowest; ///< the first two of each

    explicit Spans(const Setting &setting) {
        for (std::size_t c = 0; c < setting.clusters.size(); ++c) {
            least_ns.push_back(least_peak_ns(setting, c));
            most_ns.push_back(most_peak_ns(setting, c));
        }
        highest = best_two(most_ns, std::greater<>());
        lowest = best_two(least_ns, std::less<>());
    }
    /// How far that cluster may be above another one; nothing above: it is the only one.
    [[nodiscard]] Apart from_above(std::size_t cluster) const {
        const auto below = cluster == lowest.first ? lowest.second : lowest.first;
        return {cluster, below, below == cluster ? 0 : less(most_ns[cluster], least_ns[below])};
    }
    /// How far another cluster may be above that one.
    [[nodiscard]] Apart from_below(std::size_t cluster) const {
        const auto above = cluster == highest.first ? highest.second : highest.first;
        return {above, cluster, above == cluster ? 0 : less(most_ns[above], least_ns[cluster])};
    }
    /// The two that may be the furthest apart.
    [[nodiscard]] Apart furthest() const {
        const auto one = from_above(highest.first), other = from_below(lowest.first);
        return one.most_ns >= other.most_ns ? one : other;
    }
};

/// What the closed bound is about: a peak, or how far apart two are.
std::uint64_t bound_of(const Setting &setting) {
    const Spans spans(setting);
    return setting.objective.kind == Kind::fairness ? spans.furthest().most_ns
                                                    : spans.most_ns[spans.highest.first];
}

bool admitted_by_bound(const Setting &setting) {
    if (!setting.never_full())
        return false;
    return setting.objective.kind == Kind::loss || bound_of(setting) <= setting.objective.most_ns;
}

/// Seeks one interval for all clusters whose span reaches too high; or, of fairness, a longer one
/// for all whose span reaches too low.
bool seek_interval(const Setting &setting, bool longer, Nearest &found) {
    constexpr std::uint64_t longest = 3'600'000'000'000; // that --cluster takes
    const Spans spans(setting);
    auto tried = setting;
    std::optional<std::uint64_t> interval;
    std::vector<std::size_t> clusters;
    for (std::size_t c = 0; c < setting.clusters.size(); ++c) {
        const auto reached = setting.objective.kind == Kind::peak
                                 ? (longer ? 0 : spans.most_ns[c])
                                 : (longer ? spans.from_below(c) : spans.from_above(c)).most_ns;
        const auto excess = less(reached, setting.objective.most_ns);
        if (excess == 0)
            continue;
        const auto own = setting.clusters[c].interval_ns;
        const auto wanted = longer ? own + excess : less(own, excess);
        interval = !interval ? wanted
                   : longer  ? std::max(*interval, wanted)
                             : std::min(*interval, wanted);
        clusters.push_back(c);
    }
    for (const auto c : clusters) {
        if (*interval <= tried.clusters[c].jitter_ns)
            return false;
        tried.clusters[c].interval_ns = *interval;
    }
    if (!interval || *interval > longest || !admitted_by_bound(tried))
        return false;
    found.interval_ns = interval;
    found.clusters = std::move(clusters);
    return true;
}

/// Seeks the lowest rates that do: those of the setting, all faster by one factor.
void seek_rates(const Setting &setting, Nearest &found) {
    constexpr std::uint64_t fastest = 1'000'000'000'000; // that --hop takes
    const auto [slow, fast] = std::ranges::minmax(setting.hops, {}, &Hop::rate_bps);
    const auto slowest = static_cast<double>(slow.rate_bps);
    auto tried = setting;
    const auto admitted_at = [&](std::uint64_t bps) { // the slowest hop
        for (std::size_t h = 0; h < tried.hops.size(); ++h)
            tried.hops[h].rate_bps = static_cast<std::uint64_t>(
                static_cast<double>(setting.hops[h].rate_bps) / slowest * static_cast<double>(bps));
        return admitted_by_bound(tried);
    };
    auto low = slow.rate_bps,
         high = static_cast<std::uint64_t>(slowest / static_cast<double>(fast.rate_bps) * fastest);
    if (high <= low || !admitted_at(high))
        return;
    while (high - low > 1) {
        const auto between = low + (high - low) / 2;
        (admitted_at(between) ? high : low) = between;
    }
    admitted_at(high);
    for (const auto &hop : tried.hops)
        found.rates_bps.push_back(hop.rate_bps);
}

Nearest nearest(const Setting &setting) {
    Nearest found;
    if (setting.never_full()) {
        if (!seek_interval(setting, false, found))
            seek_interval(setting, true, found);
        seek_rates(setting, found);
        return found;
    }
    auto roomy = setting;
    const auto places = std::ranges::max(setting.hops, {}, &Hop::entries).entries;
    for (auto &hop : roomy.hops)
        hop.places = places;
    if (admitted_by_bound(roomy))
        found.places = places;
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
    const bool closed = setting.never_full() && objective.kind != Kind::loss;
    if (closed) {
        const Spans spans(setting);
        verdict.bound_ns = bound_of(setting);
        if (objective.kind == Kind::peak)
            verdict.terms = most_terms(setting, spans.highest.first);
        else if (setting.clusters.size() > 1) {
            const auto apart = spans.furthest();
            verdict.terms = {{fmt::format("{}: its peaks, at most", name(setting, apart.above)),
                              spans.most_ns[apart.above]},
                             {fmt::format("{}: its peaks, at least", name(setting, apart.below)),
                              spans.least_ns[apart.below]}};
        }
    }
    if (admitted_by_bound(setting)) {
        verdict.kind = Verdict::Kind::admitted;
        verdict.why = objective.kind == Kind::loss
                          ? "each queue has a place for every cluster and segment"
                          : "the closed bound is within the objective";
        return;
    }
    if (closed && objective.kind == Kind::fairness) {
        // The cluster that is never younger than so much, and the one that is never older.
        const Spans spans(setting);
        const auto above = best_two(spans.least_ns, std::greater<>()).first,
                   below = best_two(spans.most_ns, std::less<>()).first;
        if (less(spans.least_ns[above], spans.most_ns[below]) > objective.most_ns)
            if (auto found = plain_run(setting, below, above, until))
                return reject(setting, verdict, std::move(*found),
                              "every run breaks it: the spans of their peaks are too far apart");
    }
    // A search finds at once most of what it finds; only Z3 can admit, and mostly does so at once.
    const auto begun = Clock::now();
    const auto share = std::min<Clock::duration>((until - begun) / 20, 200ms);
    if (auto found = search(setting, seed, begun + share))
        return reject(setting, verdict, std::move(*found), "a run breaks it");
    const auto until_z3 = begun + (until - begun) / 3 * 2;
    switch (prove(setting, until_z3)) {
    case Proof::holds:
        verdict.kind = Verdict::Kind::admitted;
        verdict.why =
            "the closed bound is above the objective, but Z3 proves that no run breaks it";
        return;
    case Proof::may_break:
        if (auto found = refute(setting, until_z3))
            return reject(setting, verdict, std::move(*found), "a run breaks it, found by Z3");
        break;
    case Proof::out_of_reach:
        break;
    }
    // With other draws than before.
    if (auto found = search(setting, seed + 1, until))
        return reject(setting, verdict, std::move(*found), "a run breaks it");
    verdict.why = "neither a proof nor a run that breaks it was found";
}

const char *word(Verdict::Kind kind) {
    constexpr const char *words[] = {"admitted", "rejected", "unknown"};
    return words[static_cast<std::size_t>(kind)];
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
    Json terms = Json::array(), arrivals = Json::array();
    for (const auto &term : verdict.terms)
        terms.push_back({{"name", term.name}, {"ns", term.ns}});
    Json peak, nearest;
    if (verdict.against) {
        for (const auto &arrival : verdict.against->arrivals)
            arrivals.push_back(
                {{"cluster", setting.clusters[arrival.cluster].id}, {"at_ns", arrival.at_ns}});
        peak = verdict.against->outcome.figure(setting);
        Json clusters = Json::array();
        for (const auto c : verdict.nearest.clusters)
            clusters.push_back(setting.clusters[c].id);
        const auto &rates = verdict.nearest.rates_bps;
        nearest = {{"interval_ns", or_null(verdict.nearest.interval_ns)},
                   {"clusters", std::move(clusters)},
                   {"rate_bps", rates.empty() ? Json() : Json(std::ranges::min(rates))},
                   {"places", or_null(verdict.nearest.places)}};
    }
    return {{"verdict", word(verdict.kind)},
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
    std::string text = fmt::format("{}: {}; {}\n", word(verdict.kind),
                                   objective_text(setting.objective), verdict.why);
    if (verdict.bound_ns)
        text += fmt::format("\n  at most {}\n", exact_duration_text(*verdict.bound_ns));
    for (const auto &term : verdict.terms)
        text += fmt::format("  {:>10}  {}\n", duration_text(term.ns), term.name);
    if (!verdict.against)
        return text;
    const auto figure = verdict.against->outcome.figure(setting);
    text += fmt::format("\nthe run reaches {}:\n", setting.objective.kind == Kind::loss
                                                       ? fmt::format("{} lost", figure)
                                                       : exact_duration_text(figure));
    constexpr std::size_t most_shown = 30;
    const auto &arrivals = verdict.against->arrivals;
    for (std::size_t i = 0; i < arrivals.size() && i < most_shown; ++i)
        text += fmt::format("  {:>12}  {}\n", exact_duration_text(arrivals[i].at_ns),
                            name(setting, arrivals[i].cluster));
    if (arrivals.size() > most_shown)
        text += fmt::format("  … {} more; --json has all\n", arrivals.size() - most_shown);
    text += "\n";
    const auto &nearest = verdict.nearest;
    // Exact: rounded values needn't be admitted.
    std::vector<std::string> parts;
    for (const auto c : nearest.clusters)
        parts.push_back(name(setting, c));
    if (nearest.interval_ns)
        text += fmt::format("would be admitted: {} every {}\n", fmt::join(parts, ", "),
                            exact_duration_text(*nearest.interval_ns));
    parts.clear();
    for (std::size_t h = 0; h < nearest.rates_bps.size(); ++h)
        parts.push_back(fmt::format("hop {} at {}", h + 1, exact_rate_text(nearest.rates_bps[h])));
    if (!parts.empty())
        text += fmt::format("would be admitted: {}\n", fmt::join(parts, ", "));
    if (nearest.places)
        text += fmt::format("would be admitted: {} places at each hop\n", *nearest.places);
    if (!nearest.interval_ns && parts.empty() && !nearest.places)
        text += "no interval, rate or number of places was found that alone would do\n";
    return text;
}

} // namespace olaf::fleet
