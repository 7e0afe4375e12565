// SPDX-License-Identifier: BSD-2-Clause
#include "simulation.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "fleet/plan/random.hpp"

namespace olaf::fleet {

std::uint64_t Outcome::figure(const Setting &setting) const {
    switch (setting.objective.kind) {
    case Objective::Kind::peak:
        return *std::ranges::max_element(highest_ns);
    case Objective::Kind::fairness: {
        double least = 0, most = 0;
        bool any = false;
        for (std::size_t i = 0; i < mean_ns.size(); ++i)
            if (highest_ns[i] > 0) {
                least = any ? std::min(least, mean_ns[i]) : mean_ns[i];
                most = any ? std::max(most, mean_ns[i]) : mean_ns[i];
                any = true;
            }
        return static_cast<std::uint64_t>(std::floor(most - least));
    }
    case Objective::Kind::loss:
        break;
    }
    return lost;
}

bool Outcome::breaks(const Setting &setting) const {
    return figure(setting) > setting.objective.most_ns;
}

namespace {

using Clock = std::chrono::steady_clock;

struct Entry {
    std::size_t cluster, segment;
    std::uint64_t generated_ns;
};

class Simulation {
  public:
    explicit Simulation(const Setting &setting)
        : setting(setting), queues(setting.hops.size()), peaks(setting.clusters.size()) {
        for (const auto &cluster : setting.clusters)
            models.emplace_back(cluster.frames.size());
        outcome.highest_ns.resize(setting.clusters.size());
        outcome.mean_ns.resize(setting.clusters.size());
    }

    std::optional<Outcome> run(const std::vector<Arrival> &arrivals, Clock::time_point until) {
        constexpr std::size_t frames_between_looks = 1024; // at the clock
        std::size_t frames = 0;
        for (auto next = arrivals.begin(); next != arrivals.end() || !events.empty();) {
            if (frames >= frames_between_looks) {
                if (Clock::now() >= until)
                    return {};
                frames = 0;
            }
            if (next != arrivals.end() && (events.empty() || !comes_first(events.top(), *next))) {
                const auto segments = setting.clusters[next->cluster].frames.size();
                for (std::size_t i = 0; i < segments; ++i)
                    arrives({next->at_ns, false, 0, 0, {next->cluster, i, next->at_ns}});
                frames += segments;
                ++next;
                continue;
            }
            const auto event = events.top();
            events.pop();
            ++frames;
            if (event.is_sent)
                sent(event);
            else
                arrives(event);
        }
        for (std::size_t i = 0; i < peaks.size(); ++i)
            if (peaks[i] > 0)
                outcome.mean_ns[i] /= static_cast<double>(peaks[i]);
        return outcome;
    }

  private:
    struct Event {
        std::uint64_t at_ns;
        bool is_sent; ///< by its hop; else it arrives there, or at the server
        std::uint64_t number;
        std::size_t step; ///< of the cluster's hops
        Entry entry;
        [[nodiscard]] auto order() const { return std::tuple(at_ns, !is_sent, number); }
        bool operator>(const Event &other) const { return order() > other.order(); }
    };
    struct Queue {
        std::deque<Event> waiting;
        std::unordered_map<std::uint64_t, std::uint64_t> generated_ns; ///< of those, by key()
        bool busy = false;
    };
    /// A cluster's model at the server, as new as the oldest of its segments.
    struct Model {
        explicit Model(std::size_t segments) : segments_ns(segments), as_old(segments) {}
        std::vector<std::optional<std::uint64_t>> segments_ns; ///< when each was generated
        std::optional<std::uint64_t> oldest_ns;
        std::size_t as_old; ///< segments that are no newer than that
    };

    static bool comes_first(const Event &event, const Arrival &arrival) {
        return event.at_ns < arrival.at_ns || (event.at_ns == arrival.at_ns && event.is_sent);
    }
    static std::uint64_t key(const Entry &entry) {
        return std::uint64_t{entry.cluster} << 32 | entry.segment;
    }
    void push(Event event) {
        event.number = next_number++;
        events.push(event);
    }
    void arrives(const Event &event) {
        const auto &hops = setting.clusters[event.entry.cluster].hops;
        if (event.step == hops.size())
            return delivered(event);
        auto &queue = queues[hops[event.step]];
        if (!queue.busy)
            return send(event, event.at_ns);
        const auto generated_ns = event.entry.generated_ns;
        if (const auto same = queue.generated_ns.find(key(event.entry));
            same != queue.generated_ns.end())
            same->second = std::max(same->second, generated_ns);
        else if (queue.waiting.size() < setting.hops[hops[event.step]].places) {
            queue.generated_ns.emplace(key(event.entry), generated_ns);
            queue.waiting.push_back(event);
        } else
            ++outcome.lost;
    }
    void send(Event event, std::uint64_t now_ns) {
        const auto &cluster = setting.clusters[event.entry.cluster];
        const auto hop = cluster.hops[event.step];
        queues[hop].busy = true;
        event.is_sent = true;
        event.at_ns = now_ns + setting.service_ns(hop, cluster.frames[event.entry.segment]);
        push(event);
    }
    void sent(const Event &event) {
        const auto hop = setting.clusters[event.entry.cluster].hops[event.step];
        push({event.at_ns + setting.hops[hop].delay_ns, false, 0, event.step + 1, event.entry});
        auto &queue = queues[hop];
        queue.busy = false;
        if (!queue.waiting.empty()) {
            auto next = queue.waiting.front();
            queue.waiting.pop_front();
            const auto folded = queue.generated_ns.find(key(next.entry));
            next.entry.generated_ns = folded->second;
            queue.generated_ns.erase(folded);
            send(next, event.at_ns);
        }
    }
    void delivered(const Event &event) {
        const auto cluster = event.entry.cluster;
        auto &model = models[cluster];
        auto &segment_ns = model.segments_ns[event.entry.segment];
        if (segment_ns >= event.entry.generated_ns)
            return;
        const bool was_oldest = segment_ns == model.oldest_ns;
        segment_ns = event.entry.generated_ns;
        if (!was_oldest || --model.as_old > 0)
            return;
        const auto before = model.oldest_ns;
        model.oldest_ns = *std::ranges::min_element(model.segments_ns);
        model.as_old =
            static_cast<std::size_t>(std::ranges::count(model.segments_ns, model.oldest_ns));
        if (!before)
            return;
        const auto peak_ns = event.at_ns - *before;
        outcome.highest_ns[cluster] = std::max(outcome.highest_ns[cluster], peak_ns);
        outcome.mean_ns[cluster] += static_cast<double>(peak_ns);
        ++peaks[cluster];
    }

    const Setting &setting;
    std::vector<Queue> queues;
    std::vector<Model> models;
    std::vector<std::uint64_t> peaks; ///< how many each cluster had
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::uint64_t next_number = 0;
    Outcome outcome;
};

/// Updates of a cluster in a run: so few that all have some hundred thousand frames.
std::size_t most_updates(const Setting &setting) {
    std::size_t segments = 0;
    for (const auto &cluster : setting.clusters)
        segments += cluster.frames.size();
    return std::clamp<std::size_t>(200'000 / segments, 8, 4000);
}

constexpr std::uint64_t intervals = 6; ///< of the slowest cluster, that a run lasts

/// A run as what can be varied: when each cluster begins, and its gaps.
struct Draft {
    std::vector<std::uint64_t> first_ns;
    std::vector<std::vector<std::uint64_t>> gaps_ns;

    [[nodiscard]] std::vector<Arrival> arrivals() const {
        std::vector<Arrival> found;
        for (std::size_t c = 0; c < first_ns.size(); ++c) {
            auto at = first_ns[c];
            found.push_back({c, at});
            for (const auto gap : gaps_ns[c])
                found.push_back({c, at += gap});
        }
        return found;
    }
};

class Search {
  public:
    Search(const Setting &setting, std::uint64_t seed) : setting(setting), random(seed) {
        for (const auto &cluster : setting.clusters)
            longest_ns = std::max(longest_ns, cluster.interval_ns + cluster.jitter_ns);
        for (std::size_t hop = 0; hop < setting.hops.size(); ++hop)
            busy_ns = std::min(longest_ns, busy_ns + (setting.hops[hop].entries + 1) *
                                                         setting.longest_service_ns(hop));
    }

    std::optional<Counterexample> run(Clock::time_point until) {
        do {
            auto draft = drawn();
            auto best = looked_at(draft, until);
            for (std::size_t without = 0; best && without < patience; ++without) {
                if (best->outcome.breaks(setting))
                    return best;
                if (Clock::now() >= until)
                    return {};
                auto other = draft;
                change(other);
                auto found = looked_at(other, until);
                if (!found)
                    return {};
                if (found->outcome.figure(setting) < best->outcome.figure(setting))
                    continue;
                if (found->outcome.figure(setting) > best->outcome.figure(setting))
                    without = 0;
                draft = std::move(other);
                best = std::move(found);
            }
            if (best && best->outcome.breaks(setting))
                return best;
        } while (Clock::now() < until);
        return {};
    }

  private:
    static constexpr std::size_t patience = 60; ///< changes in vain before another draft is drawn

    std::optional<Counterexample> looked_at(const Draft &draft, Clock::time_point until) {
        auto arrivals = draft.arrivals();
        std::ranges::stable_sort(arrivals, {}, &Arrival::at_ns);
        auto outcome = simulate(setting, arrivals, until);
        if (!outcome)
            return {};
        return Counterexample{std::move(arrivals), std::move(*outcome)};
    }
    std::uint64_t between(std::uint64_t least, std::uint64_t most) {
        return least + random.below(most - least + 1);
    }
    /// A gap: the shortest or the longest more often than not, since what is worst lies there.
    std::uint64_t gap(const Cluster &cluster) {
        const auto least = cluster.interval_ns - cluster.jitter_ns,
                   most = cluster.interval_ns + cluster.jitter_ns;
        switch (random.below(3)) {
        case 0:
            return least;
        case 1:
            return most;
        default:
            return between(least, most);
        }
    }
    Draft drawn() {
        Draft draft;
        // All begin at once, or nearly, or anyhow.
        const std::uint64_t spreads[] = {0, busy_ns, longest_ns};
        const auto spread = spreads[random.below(3)];
        const auto most = most_updates(setting);
        for (const auto &cluster : setting.clusters) {
            draft.first_ns.push_back(between(0, spread));
            auto &gaps = draft.gaps_ns.emplace_back();
            for (std::uint64_t at = 0; at < intervals * longest_ns && gaps.size() < most;
                 at += gaps.back())
                gaps.push_back(gap(cluster));
        }
        return draft;
    }
    void change(Draft &draft) {
        const auto c = random.below(draft.first_ns.size());
        if (random.below(2) == 0) {
            auto &first = draft.first_ns[c];
            switch (random.below(4)) {
            case 0:
                first = between(0, longest_ns);
                break;
            case 1:
                first = std::min(first + between(0, busy_ns), intervals * longest_ns);
                break;
            case 2:
                first -= std::min(first, between(0, busy_ns));
                break;
            default:
                first = draft.first_ns[random.below(draft.first_ns.size())];
                break;
            }
        } else if (auto &gaps = draft.gaps_ns[c]; !gaps.empty()) {
            gaps[random.below(gaps.size())] = gap(setting.clusters[c]);
        }
    }

    const Setting &setting;
    Random random;
    std::uint64_t longest_ns = 0, busy_ns = 0;
};

} // namespace

std::optional<Outcome> simulate(const Setting &setting, const std::vector<Arrival> &arrivals,
                                Clock::time_point until) {
    return Simulation(setting).run(arrivals, until);
}

std::optional<Counterexample> plain_run(const Setting &setting, std::size_t one, std::size_t other,
                                        Clock::time_point until) {
    const auto longest =
        std::max(setting.clusters[one].interval_ns, setting.clusters[other].interval_ns);
    Counterexample found;
    for (const auto c : {one, other}) {
        std::uint64_t at = c == one ? 0 : 1;
        for (auto left = most_updates(setting); at < intervals * longest && left > 0; --left) {
            found.arrivals.push_back({c, at});
            at += setting.clusters[c].interval_ns;
        }
    }
    std::ranges::stable_sort(found.arrivals, {}, &Arrival::at_ns);
    const auto outcome = simulate(setting, found.arrivals, until);
    if (!outcome || !outcome->breaks(setting))
        return {};
    found.outcome = *outcome;
    return found;
}

std::optional<Counterexample> search(const Setting &setting, std::uint64_t seed,
                                     Clock::time_point until) {
    return Search(setting, seed).run(until);
}

} // namespace olaf::fleet
